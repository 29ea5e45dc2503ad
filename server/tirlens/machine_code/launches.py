"""The launches of the kernels of generated CUDA source: grid, block and the words of parameters."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tirlens_counting import evaluate
from tirlens_counting.expressions.evaluation import UnknownValueError
from tirlens_sass.execution import Launch
from tirlens_worker.facts import Branch, Expr, KernelFacts, Loop, Node, While

_SIGNATURE = re.compile(
    r"__global__\s+void\s+((?:__launch_bounds__\([^)]*\)\s*)?)(\w+)\s*\(([^;{]*)\)\s*\{"
)
_BOUNDS = re.compile(r"__launch_bounds__\(\s*(\d+)")
_NOISE = re.compile(r"\b(const|__restrict__|__grid_constant__|volatile)\b")
# The bytes of a parameter, which is also its alignment.
_BYTES = {
    **dict.fromkeys(("char", "uchar", "signed char", "int8_t", "uint8_t", "bool"), 1),
    **dict.fromkeys(("half", "half_t", "bfloat16_t", "nv_bfloat16", "__nv_bfloat16"), 2),
    **dict.fromkeys(("short", "ushort", "int16_t", "uint16_t"), 2),
    **dict.fromkeys(("int", "uint", "unsigned", "int32_t", "uint32_t", "float"), 4),
    **dict.fromkeys(("int64_t", "uint64_t", "long", "long long", "size_t", "double"), 8),
}
_INTEGERS = re.compile(r"u?int\d*(_t)?$|unsigned$|u?(short|char)$|long( long)?$|size_t$|bool$")
_TENSOR_MAP, _TENSOR_MAP_BYTES, _TENSOR_MAP_ALIGNMENT = "CUtensorMap", 128, 64
_POINTER_BYTES = 8
# The distance of the addresses that arrays are assumed to have; no control flow depends on them.
_ARRAY_DISTANCE = 1 << 36
_AXES = ("x", "y", "z")


class LaunchError(Exception):
    """The launch of a kernel is not known; the message is the reason."""


@dataclass(frozen=True)
class _Signature:
    """A kernel's definition: the greatest threads of a block, None without; its parameters."""

    threads: int | None
    parameters: str


def find_launch(
    facts: KernelFacts, source: str, kernel: str, bindings: Mapping[str, int]
) -> Launch:
    """The launch of one of the kernels of `source`, the CUDA source of `facts`.

    `bindings` are the sizes of its shape variables.

    Raises
    ------
    LaunchError
        The source does not have the kernel, or a size is not known.
    """
    found = dict(_signatures(source))
    if kernel not in found:
        raise LaunchError(f"the source has no kernel {kernel}")
    grid, threads = _extents(facts, list(found).index(kernel), len(found))
    block = _sizes(threads, bindings)
    bound = found[kernel].threads
    if bound is not None and bound != block[0] * block[1] * block[2]:
        # Lowering has added warps.
        block = (bound, 1, 1)
    words = parameter_words(found[kernel].parameters, bindings)
    return Launch(_sizes(grid, bindings), block, words)


def _signatures(source: str) -> Iterator[tuple[str, _Signature]]:
    for attributes, name, parameters in _SIGNATURE.findall(source):
        bound = _BOUNDS.search(attributes)
        yield name, _Signature(int(bound[1]) if bound else None, parameters)


def _extents(
    facts: KernelFacts, place: int, kernels: int
) -> tuple[tuple[Expr, ...], tuple[Expr, ...]]:
    """The grid and the threads of the kernel at `place` among those of the source."""
    if kernels == 1:
        return facts.launch.grid, facts.launch.threads
    nests = list(_launch_nests(facts.body))
    if len(nests) != kernels:
        raise LaunchError(f"the source has {kernels} kernels, and the facts {len(nests)} launches")
    return tuple(
        tuple(nests[place].get(f"{name}.{axis}", 1) for axis in _AXES)
        for name in ("blockIdx", "threadIdx")
    )  # pyright: ignore[reportReturnType]


def _launch_nests(nodes: tuple[Node, ...]) -> Iterator[dict[str, Expr]]:
    """The extents of the thread bindings of each launch, by tag."""
    for node in nodes:
        if isinstance(node, Loop) and node.tag is not None:
            yield dict(_bindings_in(node))
        elif isinstance(node, (Loop, While)):
            yield from _launch_nests(node.body)
        elif isinstance(node, Branch):
            yield from _launch_nests((*node.then, *node.orelse))


def _bindings_in(node: Loop) -> Iterator[tuple[str, Expr]]:
    if node.tag is not None:
        yield node.tag, node.extent
    for inner in node.body:
        if isinstance(inner, Loop):
            yield from _bindings_in(inner)


def _sizes(extents: tuple[Expr, ...], bindings: Mapping[str, int]) -> tuple[int, int, int]:
    sizes: list[int] = []
    for extent in (*extents, 1, 1, 1)[:3]:
        try:
            size = evaluate(extent, bindings)
        except UnknownValueError as error:
            raise LaunchError(f"a size of the launch is {error}") from error
        if not isinstance(size, int):
            raise LaunchError("the size of the launch depends on data")
        sizes.append(size)
    return sizes[0], sizes[1], sizes[2]


def parameter_words(parameters: str, bindings: Mapping[str, int]) -> dict[int, int]:
    """The words of the parameters that are known, by offset in bytes.

    Arrays have distinct addresses. Parameters after one of a type that is not known are left out.
    """
    words: dict[int, int] = {}
    offset = 0
    for number, text in enumerate(part for part in parameters.split(",") if part.strip()):
        plain = " ".join(_NOISE.sub(" ", text).split())
        type_, _, name = plain.replace("*", "* ").rpartition(" ")
        type_ = type_.strip()
        if type_.endswith("*"):
            offset = _align(offset, _POINTER_BYTES)
            _put(words, offset, (number + 1) * _ARRAY_DISTANCE, _POINTER_BYTES)
            offset += _POINTER_BYTES
        elif type_ == _TENSOR_MAP:
            offset = _align(offset, _TENSOR_MAP_ALIGNMENT) + _TENSOR_MAP_BYTES
        elif type_ in _BYTES:
            size = _BYTES[type_]
            offset = _align(offset, size)
            if size >= 4 and name in bindings and _INTEGERS.match(type_):
                _put(words, offset, bindings[name], size)
            offset += size
        else:
            break
    return words


def _put(words: dict[int, int], offset: int, value: int, size: int) -> None:
    for part in range(size // 4):
        words[offset + 4 * part] = value >> 32 * part & 0xFFFFFFFF


def _align(offset: int, alignment: int) -> int:
    return -(-offset // alignment) * alignment
