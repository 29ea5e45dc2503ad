"""What lines of a document became in machine code, once it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tirlens.ide.machine_operations import LineCode
    from tirlens.session.analysis import Analysis, Reading
    from tirlens.session.document import Document
    from tirlens_worker.protocol import GeneratedCode


@dataclass(frozen=True)
class MachineCode:
    """The machine code of the lines of an analysed text, for the devices of its analysis.

    `by_line` has the architecture and what the line became.
    """

    reading: Reading
    devices: tuple[str, ...]
    by_line: Mapping[int, tuple[str, LineCode]]


def keep(document: Document, analysis: Analysis, codes: Iterable[GeneratedCode]) -> None:
    """Have the hovers of `document` say what its lines became, as long as `analysis` holds."""
    from tirlens.pipeline.machine_code import MachineText

    found: dict[int, tuple[str, LineCode]] = {}
    for code in codes:
        for text in code.texts:
            for lines in text.by_line.values() if isinstance(text, MachineText) else ():
                for line, one in lines.items():
                    found.setdefault(line, (code.arch, one))
    if not found:
        return
    before = document.machine_code
    if before is not None and _is_of(before, analysis):
        found = {**before.by_line, **found}
    document.machine_code = MachineCode(analysis.reading, _devices(analysis), found)


def machine_code_at(document: Document, line: int) -> tuple[str, LineCode] | None:
    """The architecture, and what a line of the analysed text became; None if it is not known."""
    code, analysis = document.machine_code, document.analysis
    if code is None or analysis is None or not _is_of(code, analysis):
        return None
    return code.by_line.get(line)


def _is_of(code: MachineCode, analysis: Analysis) -> bool:
    return code.reading is analysis.reading and code.devices == _devices(analysis)


def _devices(analysis: Analysis) -> tuple[str, ...]:
    return tuple(device.id for device in analysis.report.devices)
