"""What the names of CUDA's kernels and boards say."""

from __future__ import annotations

import re

from tirlens.measured.records import MeasuredDevice, OperationKind

# NCCL's device functions: ncclKernel_ to version 2.18, ncclDevKernel_ since, ncclSymDevKernel_ on
# symmetric memory since 2.27 (src/device/generate.py).
_COLLECTIVE = re.compile(r"(?:void )?nccl(?:Sym)?(?:Dev)?(?:Sym)?[kK]ernel_?")
_NUMBERED = re.compile(r"(.+) \((\d+)\)$")


def kind_of_kernel(name: str) -> OperationKind:
    """Whether a kernel is one of NCCL's collectives."""
    return "collective" if _COLLECTIVE.match(name) else "kernel"


def device_of(name: str) -> MeasuredDevice:
    """The device that Nsight Systems names with its number, ``NVIDIA H100 PCIe (0)``, or by it."""
    numbered = _NUMBERED.match(name)
    if numbered:
        return MeasuredDevice(name, numbered[1])
    return MeasuredDevice(name, None if name.isdecimal() else name)
