"""Where in its source, or its machine code, a kernel spends its time by Nsight's source counters.

Source: NVIDIA, "Nsight Compute", section "Source Page": a sample of a warp is counted at the
instruction that it executes next, with the reason why it does not issue.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tirlens.measured.records import SourceLine

# The samples of all warp states, as versions call them.
_SAMPLES = (
    "Warp Stall Sampling (All Samples)",
    "Warp Stall Sampling (All Cycles)",
    "Sampling Data (All)",
    "# Samples",
)
_NOT_ISSUED = "(Not Issued)"
_STALL = "stall_"
# Warps that issue, or could, are not stalled.
_ISSUING = {"stall_selected", "stall_not_selected"}


@dataclass(frozen=True)
class LineSamples:
    """One line with its samples: a part of those of its kernel."""

    line: SourceLine
    samples: float
    share: float
    stall: str | None


@dataclass(frozen=True)
class KernelSamples:
    """The lines of one execution of a kernel that were sampled, the most samples first."""

    kernel: str
    execution: int | None
    samples: float
    lines: tuple[LineSamples, ...]


def samples_by_line(lines: Iterable[SourceLine]) -> tuple[KernelSamples, ...]:
    """The samples of each execution, at lines of source if there are any, else at instructions.

    A line of source already has the samples of its instructions.
    """
    executions: dict[tuple[str, int | None], list[SourceLine]] = {}
    for line in lines:
        executions.setdefault((line.kernel, line.execution), []).append(line)
    found: list[KernelSamples] = []
    for (kernel, execution), own in executions.items():
        of_source = [line for line in own if line.address is None]
        sampled = [(samples, line) for line in of_source or own if (samples := _samples(line))]
        total = sum(samples for samples, _ in sampled)
        if total > 0:
            sampled.sort(key=lambda pair: -pair[0])
            parts = tuple(
                LineSamples(line, samples, samples / total, _stall(line))
                for samples, line in sampled
            )
            found.append(KernelSamples(kernel, execution, total, parts))
    return tuple(found)


def _samples(line: SourceLine) -> float | None:
    return next((line.counters[name] for name in _SAMPLES if name in line.counters), None)


def stalls_of(line: SourceLine) -> dict[str, float]:
    """The stalled samples by their reasons, without those that issue and reasons without any."""
    return {
        name.removeprefix(_STALL): value
        for name, value in line.counters.items()
        if name.startswith(_STALL)
        and not name.endswith(_NOT_ISSUED)
        and name not in _ISSUING
        and value > 0
    }


def _stall(line: SourceLine) -> str | None:
    """The reason of most stalled samples."""
    stalls = stalls_of(line)
    return max(stalls, key=lambda name: stalls[name], default=None)
