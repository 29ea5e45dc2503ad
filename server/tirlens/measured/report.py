"""What the parts of a report of measured operations are made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tirlens.measured.performance import Performance
from tirlens.measured.trace import Trace


@dataclass(frozen=True)
class MeasuredReport:
    """Measured operations, as they are selected.

    Attributes
    ----------
    traces
        The files, with all that they have.
    rows
        The performance of the selected operations.
    sources
        Files of kernels that were named beside the traces.
    """

    traces: tuple[Trace, ...]
    rows: tuple[Performance, ...]
    sources: tuple[Path, ...] = ()
