"""Details of one kernel, for a report that shows how its time comes about.

They are computed on request and not with each analysis: the ceilings of the roofline, the timeline
of a block, and the banks that accesses to shared arrays touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts

from ..analyze import workload_of
from ..gpu.block import BlockRecord
from ..gpu.kernel import model_gpu_kernel
from ..tree.node import leaves_of
from ..workload import Workload
from .ceilings import Bandwidth, Ceilings, ComputePeak, ceilings
from .shared_layouts import BankPattern, SharedAccess, SharedLayout, shared_layouts
from .timeline import BlockTimeline, Gap, Lane, Segment, block_timeline

__all__ = [
    "Bandwidth",
    "BankPattern",
    "BlockTimeline",
    "Ceilings",
    "ComputePeak",
    "Gap",
    "KernelDetails",
    "Lane",
    "Segment",
    "SharedAccess",
    "SharedLayout",
    "ceilings",
    "kernel_details",
]


@dataclass(frozen=True)
class KernelDetails:
    """Details of a kernel on a device; `timeline` is None where no block has a known time."""

    timeline: BlockTimeline | None = None
    shared_layouts: tuple[SharedLayout, ...] = ()


def kernel_details(
    facts: KernelFacts, device: Device, bindings: Mapping[str, int] | None = None
) -> KernelDetails:
    """The details of a kernel.

    Parameters are those of `model.analyze`.  A kernel that is not modelled as GPU code, or that the
    model cannot handle, has none.  Takes milliseconds and never raises.
    """
    try:
        workload = workload_of(facts, bindings)
        if workload is None or workload.needs or device.kind != "gpu" or not workload.is_scheduled:
            return KernelDetails()
        return _details(workload, device)
    except Exception:  # the report of the kernel says what is wrong
        return KernelDetails()


def _details(workload: Workload, device: Device) -> KernelDetails:
    leaves = leaves_of(workload.tree)
    framework = workload.facts.framework
    layouts = shared_layouts(leaves, workload.instructions, workload.shapes, framework)
    record = BlockRecord()
    kernel = model_gpu_kernel(workload, device, record)
    if not kernel.launch.block.occupancy:
        return KernelDetails(None, layouts)
    return KernelDetails(block_timeline(kernel.node_times, kernel.context, record), layouts)
