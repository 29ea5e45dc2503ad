"""Whether the times of a kernel are repeatable."""

from __future__ import annotations

from collections.abc import Mapping

# Ratio of the two least times of a kernel up to which they agree.
MAX_REPEAT_RATIO = 1.05


def unrepeated_kernels(runs: Mapping[str, tuple[float, float]]) -> list[str]:
    """The kernels whose two least times do not agree."""
    return [name for name, (least, second) in runs.items() if second > least * MAX_REPEAT_RATIO]
