"""Values to try for the parameters of a kernel that has no configurations of its own.

What a parameter is for, the text of the kernel says: a size of a tile, the threads of a block or
the stages of a loop.  What does not fit on a device is refused later.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tirlens.source import KernelSource
from tirlens.source.parse import parse
from tirlens.syntax_trees import FunctionNode
from tirlens.tuning.configurations import Axis
from tirlens.tuning.defaults import defaults_of
from tirlens.tuning.stages import called_function

_TILES = frozenset({"alloc_shared", "alloc_fragment"})
_TILE_FACTORS = (0.25, 0.5, 1, 2, 4)
_THREAD_FACTORS = (0.5, 1, 2, 4)
# The most threads of a block on all GPUs (CUDA C++ Programming Guide, technical specifications per
# compute capability; HIP: maxThreadsPerBlock), and the fewest that fill a warp.
_MOST_THREADS, _WARP = 1024, 32
_MOST_STAGES = 4


def propose(text: str, kernel: KernelSource, call: str) -> tuple[Axis, ...]:
    """Values around those that `call` of `kernel` gives to its tiles, threads and stages.

    A parameter on which the shapes of the arrays depend is the problem's and keeps its value.
    """
    function = called_function(parse(text), kernel)
    if function is None:
        return ()
    values = _values(function, kernel, call)
    axes: dict[str, Axis] = {}
    for name, use in _uses(function):
        value = values.get(name, 0)
        if value > 0 and name not in kernel.sizes and name not in axes:
            axes[name] = Axis(name, tuple(map(str, _around(use, value))))
    return tuple(axis for axis in axes.values() if len(axis.values) > 1)


def _uses(function: FunctionNode) -> Iterator[tuple[str, str]]:
    """Names with what they are for: ``tile``, ``threads`` or ``stages``."""
    for node in ast.walk(function):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        called = node.func.attr
        if called in _TILES and node.args and isinstance(node.args[0], (ast.Tuple, ast.List)):
            for size in node.args[0].elts:
                if isinstance(size, ast.Name):
                    yield size.id, "tile"
        for keyword in node.keywords:
            use = {("Kernel", "threads"): "threads", ("Pipelined", "num_stages"): "stages"}.get(
                (called, keyword.arg or "")
            )
            if use and isinstance(keyword.value, ast.Name):
                yield keyword.value.id, use


def _around(use: str, value: int) -> Sequence[int]:
    if use == "stages":
        return range(1, max(_MOST_STAGES, value) + 1)
    factors = _THREAD_FACTORS if use == "threads" else _TILE_FACTORS
    found = [int(value * factor) for factor in factors if value * factor == int(value * factor)]
    if use == "tile":
        return found
    return [n for n in found if n == value or (n <= _MOST_THREADS and n % _WARP == 0)]


def _values(function: FunctionNode, kernel: KernelSource, call: str) -> dict[str, int]:
    """The whole numbers that parameters have in `call`."""
    given: dict[str, ast.expr] = dict(defaults_of(function))
    tree = ast.parse(call.strip(), mode="eval").body
    if isinstance(tree, ast.Call):
        given |= zip(kernel.parameters, tree.args, strict=False)
        given |= {one.arg: one.value for one in tree.keywords if one.arg is not None}
    return {
        name: node.value
        for name, node in given.items()
        if isinstance(node, ast.Constant) and type(node.value) is int
    }
