"""Whether a kernel with assumed arguments fits the device."""

from __future__ import annotations

from typing import Any

from ..program import fake_gpu

#: Of the device's memory. Tests and benchmarks of libraries allocate several arrays beside these.
USUAL_SHARE = 1 / 8


def is_launchable(function: Any) -> bool:
    """Whether the device can launch `function`; true if its IR is not understood."""
    from ..frameworks.passes import launch_check

    try:
        return launch_check.is_launchable(function, fake_gpu.current().shared_per_block_bytes)
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
