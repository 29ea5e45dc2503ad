"""What limits a kernel or a line, and what to do about it, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.launch import blocks_per_sm

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tirlens.model.report import Advice, BreakdownEntry, KernelReport

#: A saving below this share of the time is not in the verdict; the hover has it.
LEAST_SAVING = 0.05

#: The units of `BreakdownEntry.bound` and `KernelReport.bound`.
UNITS: Mapping[str, str] = {
    "tensor": "tensor cores",
    "fp32": "FP32 units",
    "fp64": "FP64 units",
    "int": "integer units",
    "sfu": "special functions",
    "issue": "instruction issue",
    "shared": "shared memory",
    "l1": "L1",
    "l2": "L2",
    "l3": "L3",
    "dram": "DRAM",
    "tlb": "page walks",
    "atomics": "atomics",
    "latency": "waits",
    "parallelism": "too few blocks",
    "tail": "last wave",
    "launch": "launch",
}
_STEPS: Mapping[str, str] = {
    "load": "loads",
    "store": "stores",
    "atomic": "atomics",
    "product": "products",
    "barrier": "barriers",
    "arithmetic": "arithmetic",
}
# One kind of step that takes this share of the waits is named alone.
_DOMINANT = 0.6
# The share of the time that the roofline takes from which a kernel is at it.
_AT_ROOFLINE = 0.8


@dataclass(frozen=True)
class Verdict:
    """What limits a kernel (`limit`, `detail`), and what to do about it (`action`).

    `bound` is the contract's word for the limit, `saving` what the action saves, for where there
    is no room for the action.  The texts may be empty.
    """

    bound: str = ""
    limit: str = ""
    detail: str = ""
    action: str = ""
    saving: str = ""

    @property
    def text(self) -> str:
        """``too few blocks: 32 of 132 SMs; smaller tiles save 566 us``."""
        after = "; ".join(filter(None, (self.detail, self.action)))
        return f"{self.limit}: {after}" if after else self.limit


def unit(found: BreakdownEntry | KernelReport) -> str:
    """The unit or the wait that bounds a line or a kernel, in words; empty if it is not known.

    L1 and shared memory are one unit. It has the name of what is accessed.
    """
    if found.bound == "shared" and found.shared_bytes == 0:
        return UNITS["l1"]
    return UNITS.get(found.bound or "", found.bound or "")


def verdict(report: KernelReport) -> Verdict:
    """The verdict on a kernel with counts; empty without a time."""
    if report.bound is None:
        return Verdict()
    if report.schedule == "unscheduled":
        return Verdict(report.bound, f"at best limited by {unit(report)}")
    action, saving = _action(report)
    limit, detail = _limit(report, report.bound)
    if action and report.bound == "latency":
        # What to do says more than why the waits are not overlapped.
        detail = ""
    return Verdict(report.bound, limit, detail, action, saving)


def _limit(report: KernelReport, bound: str) -> tuple[str, str]:
    """What limits the kernel, and by how much."""
    if bound == "parallelism":
        return "too few blocks", _busy_sms(report)
    if bound == "latency" and report.schedule != "cpu":
        return f"waits on {_waits(report)}", _single_block(report)
    if bound == "latency":
        return f"dependency chains {labels.percent(report.utilisation.get(bound))}", ""
    if bound == "tail" and report.waves is not None:
        return f"last wave leaves SMs idle {labels.percent(report.waves.tail_fraction)}", ""
    if bound == "launch":
        return f"launch takes {labels.percent(_launch_share(report))}", ""
    if bound == "tensor" and report.peak_fraction is not None:
        return _of_peak(report, report.peak_fraction)
    if bound == "dram" and report.dram_fraction is not None:
        return _of_peak(report, report.dram_fraction)
    busy = report.utilisation.get(bound)
    return unit(
        report
    ) if busy is None else f"{unit(report)} {labels.percent(min(busy, 1))} busy", ""


def _of_peak(report: KernelReport, fraction: float) -> tuple[str, str]:
    at_roofline = (
        report.time_s is not None
        and report.roofline_time_s is not None
        and report.roofline_time_s >= _AT_ROOFLINE * report.time_s
    )
    limit = f"{unit(report)} {labels.percent(fraction)} of peak"
    return limit, "at the roofline" if at_roofline else ""


def _busy_sms(report: KernelReport) -> str:
    blocks = math.prod(report.grid)
    if report.sm_count is None:
        return labels.count(blocks, "block")
    return f"{min(blocks, report.sm_count)} of {report.sm_count} SMs"


def _single_block(report: KernelReport) -> str:
    """``1 block per SM (registers)``, which leaves nothing to overlap the waits of a block."""
    found = report.occupancy
    if found is None or found.blocks_per_sm != 1:
        return ""
    return f"{blocks_per_sm(found)} ({found.limiter})"


def _waits(report: KernelReport) -> str:
    """The steps that are waited for longest: ``loads``, ``products and arithmetic``."""
    steps = [entry for _, entry in report.walk() if entry.step and entry.time_s]
    waiting = [entry for entry in steps if not _keeps_a_unit_busy(entry)]
    times_s: dict[str, float] = {}
    for entry in waiting or steps:
        times_s[entry.step] = times_s.get(entry.step, 0.0) + (entry.time_s or 0.0)
    ranked = sorted(times_s, key=lambda step: -times_s[step])
    if not ranked:
        return "its own steps"
    alone = times_s[ranked[0]] >= _DOMINANT * sum(times_s.values())
    return " and ".join(_STEPS[step] for step in ranked[: 1 if alone else 2])


def _keeps_a_unit_busy(entry: BreakdownEntry) -> bool:
    """Whether a statement computes all the time that it takes.  Memory is waited for, if it is."""
    return entry.step in ("product", "arithmetic") and entry.bound != "latency"


def _launch_share(report: KernelReport) -> float | None:
    return next((entry.share for entry in report.loops if entry.kind == "launch"), None)


def _action(report: KernelReport) -> tuple[str, str]:
    """``3 stages save 700 us``, ``advice saves 700 us``: the first advice, if it is an error or
    saves enough."""
    for advice in report.advice:
        if advice.severity == "error":
            return f"does not fit, try {labels.ascii_(advice.action)}", "does not fit"
        if _is_of_note(advice, report):
            saving = labels.seconds(advice.saving_s)
            return f"{labels.ascii_(advice.action)} save {saving}", f"advice saves {saving}"
    return "", ""


def _is_of_note(advice: Advice, report: KernelReport) -> bool:
    if advice.saving_s is None or report.time_s is None:
        return False
    return advice.saving_s >= LEAST_SAVING * report.time_s
