"""Whether a kernel with assumed arguments fits the device."""

from __future__ import annotations

from typing import Any, Mapping, Tuple

from ..facts import Span
from ..program import fake_gpu
from . import assumed_values
from .plausible_work import work_time_s

#: Of the device's memory. Tests and benchmarks of libraries allocate several arrays beside these.
USUAL_SHARE = 1 / 8
# Of the work alone: the launch of a kernel takes longer than the least.
_SHORTEST_S, LONGEST_S = 2e-8, 0.05


def is_launchable(function: Any) -> bool:
    """Whether the device can launch `function`; true if its IR is not understood."""
    from ..frameworks.passes import launch_check

    try:
        return launch_check.is_launchable(function, fake_gpu.current().shared_per_block_bytes)
    except Exception:
        return True


def has_blocks(function: Any) -> bool:
    """Whether the grid of `function` is not empty; true if its IR is not understood."""
    from ..frameworks.passes import launch_check

    try:
        return launch_check.has_blocks(function)
    except Exception:
        return True


def has_large_arrays(function: Any) -> bool:
    """Whether the arrays of `function` take an unusual share of the device's memory."""
    from ..frameworks.passes import launch_check

    try:
        arrays_bytes = launch_check.array_bytes(function)
        return arrays_bytes > fake_gpu.current().memory_bytes * USUAL_SHARE
    except Exception:
        return False


def has_usual_work(function: Any, hints: Mapping[str, Tuple[str, ...]]) -> Tuple[bool, bool]:
    """Whether `function` does as little, and as much, as kernels of programs do.

    Dynamic dimensions have the sizes that `hints` or their names imply.
    """
    from ..frameworks.extract import extract

    try:
        facts = extract(
            function, definition="", span=Span(1, 0, 1, 0), call="", call_source="assumed"
        )
        found = {item.name: assumed_values.size(item.name, hints) for item in facts.variables}
        sizes = {name: size for name, size in found.items() if size is not None}
        time_s = work_time_s(facts, sizes)
    except Exception:
        return True, True
    return time_s <= LONGEST_S, time_s >= _SHORTEST_S
