"""Machine code for display: an instruction a line, with its scheduling and its source line.

Above the instructions of a function stands what each line of the document became.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tirlens.ide.machine_operations import LineCode, code_by_line
from tirlens.machine_code import generated_line
from tirlens_sass import Control, Function, Instruction, Listing, ListingError, read
from tirlens_worker.protocol import (
    CUDA,
    NO_LINE,
    SASS,
    CompiledKernel,
    GeneratedCode,
    GeneratedText,
)


@dataclass(frozen=True)
class MachineText(GeneratedText):
    """SASS for display.

    Parameters
    ----------
    cuda_lines
        The line of the CUDA source of each line; 0 for none.
    by_line
        What lines of the document became, by function.
    """

    cuda_lines: tuple[int, ...] = ()
    by_line: Mapping[str, Mapping[int, LineCode]] = field(
        default_factory=dict[str, Mapping[int, LineCode]]
    )


@dataclass(frozen=True)
class _Row:
    """A line of the text with its lines in the document and in the CUDA source; 0 for none."""

    text: str
    line: int = NO_LINE
    cuda_line: int = NO_LINE


def with_readable_listing(code: GeneratedCode) -> GeneratedCode:
    """`code` with its listing as one instruction a line, linked to the lines of the document.

    The links go through the CUDA source in `code`, whose lines are linked. A listing that is not
    understood is replaced by the reason.
    """
    lines = next((text.lines for text in code.texts if text.language == CUDA), ())
    try:
        texts = tuple(
            _readable(read(text.text), code.compiled, lines) if text.language == SASS else text
            for text in code.texts
        )
    except ListingError as error:
        kept = tuple(text for text in code.texts if text.language != SASS)
        return replace(code, texts=kept, resources_error=f"nvdisasm: {error}")
    return replace(code, texts=texts)


def _readable(
    listing: Listing, compiled: Sequence[CompiledKernel], lines: Sequence[int]
) -> MachineText:
    resources = {kernel.name: kernel for kernel in compiled}
    rows: list[_Row] = []
    by_line: dict[str, Mapping[int, LineCode]] = {}
    for function in listing.functions:
        kernel = resources.get(function.name)
        about = f": {resource_text(kernel)}" if kernel is not None else ""
        rows.append(_Row(f"// {function.name}, {listing.architecture}{about}"))
        instructions = function.instructions[: _length(function)]
        places = [cuda_line(one, len(lines)) for one in instructions]
        found = [lines[place - 1] if place else NO_LINE for place in places]
        has_spills = any(_spills(kernel)) if kernel is not None else None
        by_line[function.name] = code = code_by_line(function, found, has_spills)
        rows += _summary(code)
        rows += _rows(function, found, places)
    unknown = listing.unknown_opcodes
    if unknown:
        rows.append(_Row(f"// opcodes that are not known: {', '.join(sorted(unknown))}"))
    return MachineText(
        SASS,
        "".join(f"{row.text}\n" for row in rows),
        tuple(row.line for row in rows),
        tuple(row.cuda_line for row in rows),
        by_line,
    )


def _summary(code: Mapping[int, LineCode]) -> Iterator[_Row]:
    """A table of what each line of the document became."""
    if not code:
        return
    yield _Row("// line  instr.  reg.  machine code")
    for line, one in code.items():
        registers = "?" if one.registers is None else one.registers
        yield _Row(f"// {line:>4}  {one.instructions:>6}  {registers:>4}  {one.text}", line)


def _rows(function: Function, lines: Sequence[int], places: Sequence[int]) -> Iterator[_Row]:
    """A row for each instruction, and for each label of a branch."""
    labels = _labels(function)
    for index, (line, place) in enumerate(zip(lines, places, strict=True)):
        instruction = function.instructions[index]
        yield from (_Row(f"{label}:") for label in labels.get(index, ()))
        loop = function.loop_of(index)
        indentation = "  " * (loop.depth if loop is not None else 0)
        text = f"{_control(instruction.control)} {instruction.address:04x}  {indentation}"
        yield _Row(text + instruction.text, line, place)


def resource_text(kernel: CompiledKernel) -> str:
    """The resources of a kernel as ptxas reports them; what it does not report is left out."""
    parts = [f"{kernel.registers_per_thread} registers a thread"]
    if kernel.stack_bytes is not None:
        parts.append(f"stack frame {kernel.stack_bytes} bytes")
    if kernel.spill_store_bytes is not None and kernel.spill_load_bytes is not None:
        spills = f"{kernel.spill_store_bytes} stored, {kernel.spill_load_bytes} loaded"
        parts.append(f"spills {spills} bytes" if any(_spills(kernel)) else "no spills")
    parts.append(f"static shared memory {kernel.static_shared_bytes} bytes")
    return ", ".join(parts)


def _spills(kernel: CompiledKernel) -> tuple[int | None, int | None]:
    return kernel.spill_store_bytes, kernel.spill_load_bytes


def _length(function: Function) -> int:
    """The instructions of a function without the padding after its end."""
    length = len(function.instructions)
    while length and function.instructions[length - 1].name == "NOP":
        length -= 1
    return length


def _labels(function: Function) -> dict[int, list[str]]:
    """The labels of branches by the index of the instruction after them."""
    wanted = {target for one in function.instructions for target in one.targets}
    found: dict[int, list[str]] = {}
    for label, index in function.labels.items():
        if label in wanted:
            found.setdefault(index, []).append(label)
    return found


def _control(control: Control | None) -> str:
    """The scheduling as CuAssembler writes it: wait mask, read and write barrier, yield, stall."""
    if control is None:
        return ""
    waits = "".join(str(n) if n in control.waits else "-" for n in range(6))
    read_, write = (
        "-" if barrier is None else str(barrier)
        for barrier in (control.read_barrier, control.write_barrier)
    )
    yields = "Y" if control.yields else "-"
    return f"[B{waits}:R{read_}:W{write}:{yields}:S{control.stall_cycles:02}]"


def cuda_line(instruction: Instruction, count: int) -> int:
    """The innermost line of the generated source, which has `count` lines; 0 for none."""
    line = generated_line(instruction)
    return line if line <= count else NO_LINE
