"""What the parts of a report of measured operations are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from tirlens.measured.performance.rates import Performance
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import Signpost

Line: TypeAlias = Performance | Signpost


@dataclass(frozen=True)
class MeasuredReport:
    """Measured operations, as they are selected.

    Attributes
    ----------
    traces
        The files, with all that they have.
    lines
        The selected operations, and where they are asked for the signposts between them.
    unmerged_rows
        The operations of each device, where `lines` has one for several; else those of `lines`.
    muted_share
        Operations with a smaller part of the time are printed in grey.
    has_devices_apart
        The operations are of several devices and are not merged.
    sources
        Files of kernels that were named beside the traces.
    notes
        What was chosen where the user did not ask for it.
    """

    traces: tuple[Trace, ...]
    lines: tuple[Line, ...]
    unmerged_rows: tuple[Performance, ...]
    muted_share: float = 0.0
    has_devices_apart: bool = False
    sources: tuple[Path, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def rows(self) -> tuple[Performance, ...]:
        """The performance of the selected operations."""
        return tuple(line for line in self.lines if isinstance(line, Performance))
