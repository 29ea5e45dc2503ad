"""The request of a measurement, and its answers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Mapping, Optional, Tuple

from ..facts import KernelFacts, no_entries

#: Runs of a kernel for a profiler: the first loads the code, the last is evaluated.
RUNS_FOR_COUNTERS = 3


@dataclass(frozen=True)
class Measure:
    """A request to compile and time kernels of a text on the device of this machine.

    `sizes` are those of the dynamic dimensions.  With `for_counters` each kernel is run
    `RUNS_FOR_COUNTERS` times under a profiler and not timed.  A `KernelRequest` follows for each
    kernel.  The answers are a `Measured` for each function that it yields, `Problem` and
    `NeedsArguments` where it could not be traced, and `Answered` at the end.
    """

    path: str
    text: str
    sys_path: Tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=no_entries)
    for_counters: bool = False


@dataclass(frozen=True)
class Answered:
    """The end of the answers about a kernel; the next request may follow.

    With `is_last` the process ends, because the kernel left the device unusable.
    """

    is_last: bool = False


@dataclass(frozen=True)
class Timing:
    """The time of one call in seconds: the median of `samples`, the 10th and 90th percentile.

    `method` is the profiler and the state of the caches.  `device` is the name of the device and
    `target` the target of the framework (``{"kind": "cuda", "arch": "sm_90"}``).
    """

    median_s: float
    low_s: float
    high_s: float
    samples: int
    method: str
    device: str
    target: Mapping[str, Any] = field(default_factory=no_entries)


@dataclass(frozen=True)
class Measured:
    """A kernel with its time, or with the `error` that prevented the measurement."""

    facts: KernelFacts
    timing: Optional[Timing] = None
    error: str = ""
