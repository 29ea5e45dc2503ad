"""A step of a model as measured: what ran when on each device, and what the gaps cost.

Operations of several streams, and those of programmatic dependent launch, run at the same time.
The time of a device is therefore the union of its operations, and each instant of it belongs in
equal parts to the operations that run then: the parts of all kernels and the idle time are the
device's wall time.

Files have clocks of their own: a device is one of a file, and each file begins at 0.
"""

from tirlens.measured.timeline.collector import step_of
from tirlens.measured.timeline.step import (
    CategoryTime,
    Clock,
    DeviceTime,
    Gap,
    KernelTime,
    Lane,
    Step,
)

__all__ = [
    "CategoryTime",
    "Clock",
    "DeviceTime",
    "Gap",
    "KernelTime",
    "Lane",
    "Step",
    "step_of",
]
