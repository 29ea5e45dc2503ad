"""The estimates of calls from what a worker found for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from tirlens.hardware import Device
from tirlens.model import analyze, workload_of
from tirlens.model.report import KernelReport
from tirlens.tuning.ranking import Estimate
from tirlens.tuning.stages import Group, with_stages
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

#: The estimates of calls on each device, by call.
Estimates: TypeAlias = dict[str, tuple[Estimate, ...]]


def estimates_of(
    groups: Sequence[Group], result: Result, devices: Sequence[Device], bindings: Mapping[str, int]
) -> Estimates:
    """The estimates of the calls of `groups` on each of `devices`.

    `result` is of the first call of each group.  Those that it does not reach are left out, and
    others of its group whose facts do not follow from it.
    """
    firsts = [group[0].call for group in groups]
    found: dict[str, list[KernelFacts]] = {}
    for facts in result.kernels:
        found.setdefault(_call_of(facts, firsts), []).append(facts)
    failed = {one.call: one.message for one in result.problems if one.call is not None}
    out: Estimates = {}
    for group in groups:
        call = group[0].call
        if call in found:
            out.update(_estimates(group, found[call], devices, bindings))
        elif call in failed:
            reason = failed[call].removeprefix(f"{call}: ")
            out[call] = (Estimate(is_refused=True, reason=reason),) * len(devices)
    return out


def _call_of(facts: KernelFacts, calls: Sequence[str]) -> str:
    """The requested call of `facts`; what it returned may have been called again."""
    if facts.call in calls:
        return facts.call
    return next((call for call in calls if facts.call.startswith(call)), facts.call)


def _estimates(
    group: Group,
    functions: Sequence[KernelFacts],
    devices: Sequence[Device],
    bindings: Mapping[str, int],
) -> Estimates:
    """The estimates of a group, the first call of which gives `functions`."""
    is_shared = len(group) * len(devices) > 1
    workloads = [workload_of(one, bindings) if is_shared else None for one in functions]
    out: Estimates = {}
    for variant in group:
        changed = [with_stages(one, group[0], variant) for one in functions]
        facts = [one for one in changed if one is not None]
        if len(facts) < len(functions):
            continue
        out[variant.call] = tuple(
            estimate_of(
                [
                    analyze(one, device, bindings, known, by_line=False)
                    for one, known in zip(facts, workloads, strict=True)
                ]
            )
            for device in devices
        )
    return out


def estimate_of(reports: Sequence[KernelReport]) -> Estimate:
    """The estimate of all functions of one call, which run one after another."""
    without = next((one for one in reports if one.time_s is None), None)
    if without is not None:
        return Estimate(
            is_refused=without.is_refused,
            reason=without.message or without.status,
            shared_bytes_per_block=without.shared_bytes_per_block,
            launch_facts=without.launch_facts,
        )
    longest = max(reports, key=lambda one: one.time_s or 0.0)
    return Estimate(
        time_s=sum(one.time_s or 0.0 for one in reports),
        time_band_s=_sum_of_bands(reports),
        confidence=longest.confidence,
        roofline_time_s=sum(one.roofline_time_s or 0.0 for one in reports),
        bound=longest.bound,
        occupancy=longest.occupancy,
        shared_bytes_per_block=longest.shared_bytes_per_block,
        registers_per_thread=longest.registers_per_thread,
        spill_bytes=longest.spill_bytes,
        launch_facts=longest.launch_facts,
    )


def _sum_of_bands(reports: Sequence[KernelReport]) -> tuple[float, float] | None:
    bands = [one.time_band_s for one in reports]
    known = [band for band in bands if band is not None]
    if len(known) < len(bands):
        return None
    return sum(low for low, _ in known), sum(high for _, high in known)
