"""The report of a kernel: its parts, the breakdown by line, and the table of their figures."""

from .breakdown import BreakdownEntry, LineRuns, LineTime, LineWork
from .figure import Figure, figures, merged_figures
from .kernel_figures import Launch, MemoryTraffic, Rates, Timing, Work
from .kernel_report import Identity, KernelReport
from .values import (
    Advice,
    ArrayShape,
    CaveatNote,
    MeasuredTime,
    Occupancy,
    ReadWrite,
    SequenceLaunch,
    Waves,
)

__all__ = [
    "Advice",
    "ArrayShape",
    "BreakdownEntry",
    "CaveatNote",
    "Figure",
    "Identity",
    "KernelReport",
    "Launch",
    "LineRuns",
    "LineTime",
    "LineWork",
    "MeasuredTime",
    "MemoryTraffic",
    "Occupancy",
    "Rates",
    "ReadWrite",
    "SequenceLaunch",
    "Timing",
    "Waves",
    "Work",
    "figures",
    "merged_figures",
]
