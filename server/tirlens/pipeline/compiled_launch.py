"""What the model uses of machine code: registers, accesses of local memory, executions by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tirlens.machine_code import document_line
from tirlens.machine_code.line_clocks import line_clocks
from tirlens_sass import Function, Instruction, Listing, MemoryAccess, read
from tirlens_worker.facts import (
    AccessMode,
    CompiledLaunch,
    ExecutedInstructions,
    KernelFacts,
    LineClocks,
    LocalAccess,
    Pipe,
    Span,
)
from tirlens_worker.protocol import CUDA, NO_LINE, SASS, GeneratedCode, GeneratedText

if TYPE_CHECKING:
    from tirlens.machine_code.executions import KernelCode

# Of the units of `tirlens_sass` that are not here the pipe is ``other``.
_PIPES: dict[str, Pipe] = {
    "fma": "fma", "fp16": "fma", "fp64": "fp64", "alu": "integer", "xu": "special",
    "lsu": "memory", "tex": "memory", "tma": "memory",
}  # fmt: skip
_INTEGER_PRODUCTS = ("IMAD", "IMUL", "IDP")
_PRODUCT_WAIT = "WARPGROUP.DEPBAR"
# The register with the address of a thread's stack frame.
_STACK_POINTER = ("R", 1)


def compiled_launch(code: GeneratedCode, facts: KernelFacts | None) -> CompiledLaunch | None:
    """What the compiler made of the CUDA source in `code`; None if it was not compiled.

    The lines of the CUDA source are linked to those of the document.  `facts` give the launch, for
    which the executions of instructions are counted.

    Raises
    ------
    ListingError
        The listing is not understood.
    """
    if not code.compiled:
        return None
    texts = {text.language: text for text in code.texts}
    stores = _most(kernel.spill_store_bytes for kernel in code.compiled)
    loads = _most(kernel.spill_load_bytes for kernel in code.compiled)
    listing, source = read(texts[SASS].text), texts[CUDA]
    sizes = {} if facts is None else {**facts.assumed, **facts.sizes}
    kernels = _count_kernels(listing, facts, source, sizes)
    executions = {
        part.function.name: [one.warps if one.is_known else None for one in part.executions]
        for kernel in kernels
        for part in kernel.functions
    }
    return CompiledLaunch(
        arch=code.arch,
        registers_per_thread=max(kernel.registers_per_thread for kernel in code.compiled),
        stack_bytes=_most(kernel.stack_bytes for kernel in code.compiled),
        spill_bytes=None if stores is None or loads is None else stores + loads,
        static_shared_bytes=max(kernel.static_shared_bytes for kernel in code.compiled),
        local_accesses=tuple(_local_accesses(listing, source.lines, stores, loads, executions)),
        executed=tuple(_count_by_line(listing, source.lines, executions)),
        line_clocks=tuple(_line_clocks(kernels, source.lines, listing.architecture)),
        sizes=sizes,
    )


def _count_kernels(
    listing: Listing,
    facts: KernelFacts | None,
    source: GeneratedText,
    sizes: Mapping[str, int],
) -> tuple[KernelCode, ...]:
    """The kernels with the executions of their instructions.

    None without facts, and without numpy, which the server of an editor may not have.
    """
    if facts is None:
        return ()
    try:
        from tirlens.machine_code.executions import count_kernels
    except ImportError:
        return ()
    return count_kernels(listing, facts, source.text, source.lines, sizes)


def _line_clocks(
    kernels: Sequence[KernelCode], lines: Sequence[int], architecture: str
) -> Iterator[LineClocks]:
    """The clocks by line of a function of one kernel."""
    if len(kernels) == 1:
        yield from line_clocks(kernels[0], lines, architecture)


def _count_by_line(
    listing: Listing, lines: Sequence[int], executions: Mapping[str, Sequence[float | None]]
) -> Iterator[ExecutedInstructions]:
    """The executions of the instructions of each line by pipe, of a function of one kernel."""
    if len(listing.kernels) != 1:
        return
    sums: defaultdict[tuple[int, Pipe], float] = defaultdict(float)
    unknown: set[int] = set()
    for function in listing.functions:
        counted = zip(function.instructions, executions.get(function.name, ()), strict=False)
        for instruction, times in counted:
            line = document_line(instruction, lines)
            if times is None:
                unknown.add(line)
            if instruction.name != "NOP":
                sums[line, _pipe(instruction)] += times or 0.0
    for (line, pipe), times in sums.items():
        if line != NO_LINE:
            known = None if line in unknown else times
            yield ExecutedInstructions(Span(line, 0, line, 0), pipe, known)


def _pipe(instruction: Instruction) -> Pipe:
    if instruction.full_name.startswith(_PRODUCT_WAIT):
        return "product_wait"
    if instruction.name.startswith(_INTEGER_PRODUCTS):
        return "multiply"
    opcode = instruction.opcode
    unit = None if opcode is None else opcode.unit
    return _PIPES.get(unit or "", "other")


def _most(values: Iterable[int | None]) -> int | None:
    found = list(values)
    return max((value for value in found if value is not None), default=None)


class _Access(NamedTuple):
    """An access of local memory in the code; `has_fixed_address`: at a constant in the frame."""

    line: int
    mode: AccessMode
    loops: int
    bytes: int
    has_fixed_address: bool
    executions: float | None


class _Group(NamedTuple):
    line: int
    mode: AccessMode
    loops: int
    is_spill: bool
    executions: float | None


def _local_accesses(
    listing: Listing,
    lines: Sequence[int],
    stores: int | None,
    loads: int | None,
    executions: Mapping[str, Sequence[float | None]],
) -> Iterator[LocalAccess]:
    """The accesses of local memory, those of one line, loop depth and frequency together.

    An element at an address that varies belongs to an array. One at a fixed address may be a
    spilled register: where ptxas reports most of these bytes as spills, all of them are.
    """
    found = [
        one
        for kernel in listing.kernels
        for one in _accesses(kernel, lines, executions.get(kernel.name, ()))
    ]
    fixed = Counter[str]()
    for one in found:
        fixed[one.mode] += one.bytes * one.has_fixed_address
    spilled = {"write": stores or 0, "read": loads or 0}
    instructions, bytes_ = Counter[_Group](), Counter[_Group]()
    for one in found:
        # Where both are at fixed addresses the code does not distinguish them.
        is_spill = one.has_fixed_address and 2 * spilled[one.mode] > fixed[one.mode]
        group = _Group(one.line, one.mode, one.loops, is_spill, one.executions)
        instructions[group] += 1
        bytes_[group] += one.bytes
    for group, number in instructions.items():
        line, mode, loops, is_spill, times = group
        span = None if line == NO_LINE else Span(line, 0, line, 0)
        yield LocalAccess(span, mode, number, bytes_[group], loops, is_spill, times)


def _accesses(
    kernel: Function, lines: Sequence[int], executions: Sequence[float | None]
) -> Iterator[_Access]:
    line = NO_LINE
    for index, instruction in enumerate(kernel.instructions):
        # What has no line of its own, as spills, is near what it is for.
        line = document_line(instruction, lines) or line
        for access in instruction.memory:
            if access.space == "local":
                loop = kernel.loop_of(index)
                yield _Access(
                    line,
                    "read" if access.direction == "load" else "write",
                    loop.depth if loop is not None else 0,
                    _width(access),
                    _has_fixed_address(instruction),
                    executions[index] if executions else None,
                )


def _width(access: MemoryAccess) -> int:
    assert access.bytes_per_lane is not None
    return access.bytes_per_lane


def _has_fixed_address(instruction: Instruction) -> bool:
    """Whether the address is that of the stack frame and a constant."""
    address = instruction.operands[1 if instruction.name == "LDL" else 0]
    return all((one.file, one.number) == _STACK_POINTER for one in address.registers)
