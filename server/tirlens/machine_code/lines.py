"""From an instruction to the line of the document."""

from __future__ import annotations

from collections.abc import Sequence

from tirlens_sass import Instruction
from tirlens_worker.protocol import COMPILED_FILE, NO_LINE


def generated_line(instruction: Instruction) -> int:
    """The line of the generated source from which an instruction was compiled, or `NO_LINE`.

    Of an instruction from a library's header it is the line that the header was inlined at.
    """
    if instruction.source is not None:
        for place in (instruction.source, *instruction.callers):
            if place.file.replace("\\", "/").rpartition("/")[2] == COMPILED_FILE:
                return place.line
    return NO_LINE


def document_line(instruction: Instruction, lines: Sequence[int]) -> int:
    """The line of the document; `lines` has one for each line of the generated source."""
    line = generated_line(instruction)
    return lines[line - 1] if 0 < line <= len(lines) else NO_LINE
