"""What a report says of a kernel on a CPU."""

from __future__ import annotations

from tirlens.hardware.spec import Device

from .. import cpu
from ..report import CaveatNote, Launch, MemoryTraffic, Work
from ..roofline import roofline_seconds
from ..workload import Workload
from .bound import find_cpu_bound
from .modelled import Judgement, Modelled, TimeShares
from .traffic import sum_traffic


def report_cpu(workload: Workload, work: Work, device: Device) -> Modelled:
    """The time of a kernel with `work` operations, and its roofline."""
    kernel = cpu.model_cpu_kernel(
        workload.facts, workload.tree, workload.buffers, workload.shapes, device
    )
    traffic = sum_traffic(kernel, workload.counted.footprint, work, device)
    refusal = None
    if workload.is_scheduled:
        refusal = f"it launches blocks of threads, and {device.name} is a CPU: choose a GPU"

    def judge(shares: TimeShares) -> Judgement:
        bound = find_cpu_bound(device, shares.utilisation, kernel.busy_cores, shares.launch)
        # The rates of a calibrated CPU are measurements, which others may pass.
        factor = 1 + device.band
        return Judgement(bound, {}, (shares.time_s / factor, shares.time_s * factor))

    return Modelled(
        kernel,
        traffic,
        _cached_roofline_s(traffic, work, device),
        launch=Launch(schedule="cpu"),
        judge=judge,
        refusal=refusal,
        notes=_notes(workload, kernel, device),
        math_fidelity=None,
    )


def _notes(workload: Workload, kernel: cpu.CpuKernel, device: Device) -> tuple[CaveatNote, ...]:
    facts, core = workload.facts, device.cpu
    assert core is not None
    if kernel.is_executed or facts.assembly_for(core.processor) is None:
        return ()
    text = "its assembly does not tell how often each instruction executes: times are estimates"
    return (CaveatNote(text, facts.span),)


def _cached_roofline_s(traffic: MemoryTraffic, work: Work, device: Device) -> float | None:
    """The roofline of a kernel whose arrays may be cached from its previous run.

    The DRAM rate of a CPU is that of reads, which overlap with write-backs.
    """
    read, compulsory = traffic.dram_bytes.read, traffic.compulsory_bytes
    least = read if compulsory is None or read is None else min(read, compulsory)
    return roofline_seconds(device, work.flop_by_class, least) or None
