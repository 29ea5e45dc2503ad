"""Where the kernels of measured operations are in the text, for a gate on the kernels of files."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tirlens.cli.measured.selection import select
from tirlens.cli.measured.workspace_matches import match_workspace
from tirlens.ide import labels
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import Position
from tirlens_worker.facts import Span


@dataclass(frozen=True)
class KernelPlace:
    """A kernel of the files."""

    path: str
    span: Span
    title: str


@dataclass(frozen=True)
class KernelPlaces:
    """The kernels of files by the operations that are executions of them.

    Attributes
    ----------
    by_position
        The kernel of each matched operation, by the position of the first one in its trace.
    ambiguous
        The first operations that several kernels of the files fit.
    notes
        Kernels that no operation measures, and what was chosen.
    """

    by_position: Mapping[Position, KernelPlace]
    ambiguous: frozenset[Position]
    notes: tuple[str, ...]

    def has(self, position: Position) -> bool:
        """Whether the operation is, or may be, one of the files' kernels."""
        return position in self.by_position or position in self.ambiguous


def find_places(traces: Sequence[Trace], arguments: argparse.Namespace) -> KernelPlaces:
    """Match the operations of all traces with the kernels of the files of a command.

    Raises
    ------
    UsageError
        Nothing is to be analysed.
    """
    whole = argparse.Namespace(**{**vars(arguments), "min_percentage": None, "id_range": None})
    report = select(traces, tuple(map(Path, arguments.files)), whole)
    matches = match_workspace(report, whole)
    by_position: dict[Position, KernelPlace] = {}
    found: set[tuple[str, str]] = set()
    for residual in matches.matched:
        candidate = residual.match.candidate
        kernel = candidate.report
        place = KernelPlace(candidate.path, kernel.span, labels.title(kernel))
        by_position[residual.match.group.first.position] = place
        found.add((candidate.path, kernel.definition))
    ambiguous = {one.group.first.position for one in matches.ambiguous}
    absent = [
        f"{file.path}: {kernel.name} is not in the runs"
        for file in matches.traced
        for kernel in file.source.kernels
        if (file.path, kernel.name) not in found and not kernel.off
    ]
    return KernelPlaces(by_position, frozenset(ambiguous), (*matches.notes, *absent))
