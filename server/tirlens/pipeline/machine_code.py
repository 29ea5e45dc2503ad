"""Machine code for display: an instruction a line, with its scheduling and its source line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePath

from tirlens_sass import Control, Function, Instruction, Listing, ListingError, read
from tirlens_worker.protocol import NO_LINE, CompiledKernel, GeneratedCode, GeneratedText

SASS = "sass"
# The name of the file that the worker compiles.
_COMPILED = "kernel.cu"


def with_readable_listing(code: GeneratedCode) -> GeneratedCode:
    """`code` with its listing as one instruction a line, linked to the lines of the document.

    The links go through the CUDA source in `code`, whose lines are linked. A listing that is not
    understood is replaced by the reason.
    """
    lines = next((text.lines for text in code.texts if text.language == "cuda"), ())
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
) -> GeneratedText:
    resources = {kernel.name: kernel for kernel in compiled}
    rows = list(_rows(listing, resources, lines))
    text = "".join(f"{row}\n" for row, _ in rows)
    return GeneratedText(SASS, text, tuple(line for _, line in rows))


def _rows(
    listing: Listing, resources: Mapping[str, CompiledKernel], lines: Sequence[int]
) -> Iterator[tuple[str, int]]:
    """Each line of the text with its line in the document."""
    for function in listing.functions:
        head = f"// {function.name}, {listing.architecture}"
        if function.name in resources:
            head += f": {resource_text(resources[function.name])}"
        yield head, NO_LINE
        labels = _labels(function)
        for index, instruction in enumerate(function.instructions[: _length(function)]):
            yield from ((f"{label}:", NO_LINE) for label in labels.get(index, ()))
            loop = function.loop_of(index)
            indentation = "  " * (loop.depth if loop is not None else 0)
            row = f"{_control(instruction.control)} {instruction.address:04x}  {indentation}"
            yield row + instruction.text, _document_line(instruction, lines)
    unknown = listing.unknown_opcodes
    if unknown:
        yield f"// opcodes that are not known: {', '.join(sorted(unknown))}", NO_LINE


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


def _document_line(instruction: Instruction, lines: Sequence[int]) -> int:
    """The line of the document: that of the innermost line of the generated source."""
    if instruction.source is None:
        return NO_LINE
    for place in (instruction.source, *instruction.callers):
        if PurePath(place.file).name == _COMPILED and 0 < place.line <= len(lines):
            return lines[place.line - 1]
    return NO_LINE
