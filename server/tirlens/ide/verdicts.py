"""What limits a kernel or a line, and what to do about it, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.launch import blocks_per_sm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
# The steps that access arrays in global memory.
_OF_ARRAYS = frozenset(("load", "store", "atomic"))
# So many arrays are named of those that are waited for.
_MOST_ARRAYS = 3
# One kind of step that takes this share of the waits is named alone.
_DOMINANT = 0.6
# The share of the time that the roofline takes from which a kernel is at it.
_AT_ROOFLINE = 0.8


@dataclass(frozen=True)
class Verdict:
    """What limits a kernel (`limit`, `detail`), and what to do about it (`action`).

    `bound` is the contract's word for the limit, `arrays` those that it waits for, `saving` what
    the action saves, for where there is no room for the action.  The texts may be empty.
    """

    bound: str = ""
    limit: str = ""
    arrays: str = ""
    detail: str = ""
    action: str = ""
    saving: str = ""

    @property
    def cause(self) -> str:
        """``waits for loads of A, B``, ``too few blocks``."""
        return f"{self.limit} of {self.arrays}" if self.arrays else self.limit

    @property
    def text(self) -> str:
        """``too few blocks: 32 of 132 SMs; smaller tiles save 0.5 ms``."""
        after = "; ".join(filter(None, (self.detail, self.action)))
        return f"{self.cause}: {after}" if after else self.cause


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
    if report.bound == "latency" and report.schedule != "cpu":
        limit, arrays = _waits([entry for _, entry in report.walk()])
        # What to do says more than why the waits are not overlapped.
        detail = "" if action else _single_block(report)
        return Verdict(report.bound, limit, arrays, detail, action, saving)
    limit, detail = _limit(report, report.bound)
    return Verdict(report.bound, limit, "", detail, action, saving)


def line_limit(entry: BreakdownEntry) -> str:
    """What limits a line, and at which rate: ``waits for loads of A``, ``DRAM, 2.9 TB/s``.

    The rate is that of the unit while the line runs, the overlapped time included; of waits that
    of the level of memory which the line moves bytes of.
    """
    rate = _rate(entry)
    if entry.bound != "latency":
        return ", ".join(filter(None, (unit(entry), rate)))
    limit, arrays = _waits([inner for _, inner in entry.walk()])
    cause = Verdict("latency", limit, arrays).cause
    return ", ".join(filter(None, (cause, rate)))


def _rate(entry: BreakdownEntry) -> str:
    """``2.9 TB/s``, ``520 TFLOP/s``; empty where the unit of the bound counts neither."""
    busy_s = _running_s(entry)
    if not busy_s:
        return ""
    moved = {"dram": entry.dram_bytes, "l2": entry.l2_bytes, "shared": entry.shared_bytes}
    level = entry.bound or ""
    if level == "latency":
        level = next((name for name in ("dram", "l2", "shared") if moved[name]), "")
        value = moved.get(level)
        source = {"dram": "DRAM", "l2": "L2", "shared": "shared memory"}.get(level, "")
        return f"{_per_second(value, busy_s, 'B')} of {source}" if value else ""
    if level in ("tensor", "fp32", "fp64"):
        return _per_second(entry.flop, busy_s, "FLOP") if entry.flop else ""
    value = moved.get(level)
    return _per_second(value, busy_s, "B") if value else ""


def _running_s(entry: BreakdownEntry) -> float | None:
    """The time of a line with what overlaps other work; None where that is not known."""
    if entry.children:
        inner = [_running_s(child) for child in entry.children]
        return None if None in inner else sum(time_s or 0.0 for time_s in inner)
    if entry.time_s is None or entry.overlapped_s is None:
        return None
    return entry.time_s + entry.overlapped_s


def _per_second(value: float, time_s: float, unit_name: str) -> str:
    return labels.quantity(value / time_s, f"{unit_name}/s", labels.ESTIMATE_DIGITS)


def _limit(report: KernelReport, bound: str) -> tuple[str, str]:
    """What limits the kernel, and by how much."""
    if bound == "parallelism":
        return "too few blocks", _busy_sms(report)
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


def _waits(entries: Sequence[BreakdownEntry]) -> tuple[str, str]:
    """The steps that are waited for longest, and their arrays: ``waits for loads``, ``A, B``."""
    steps = [entry for entry in entries if entry.step and entry.time_s]
    waiting = [entry for entry in steps if not _keeps_a_unit_busy(entry)]
    times_s: dict[str, float] = {}
    for entry in waiting or steps:
        times_s[entry.step] = times_s.get(entry.step, 0.0) + (entry.time_s or 0.0)
    ranked = sorted(times_s, key=lambda step: -times_s[step])
    if not ranked:
        return "waits for its own steps", ""
    alone = times_s[ranked[0]] >= _DOMINANT * sum(times_s.values())
    # The steps whose arrays follow come last.
    named = sorted(ranked[: 1 if alone else 2], key=lambda step: step in _OF_ARRAYS)
    longest = sorted(waiting or steps, key=lambda entry: -(entry.time_s or 0.0))
    arrays = [name for entry in longest if entry.step in named for name in entry.step_arrays]
    return f"waits for {' and '.join(_STEPS[step] for step in named)}", _list_names(arrays)


def _list_names(names: Sequence[str]) -> str:
    """``A, B``; ``A, B, C and 2 more``."""
    found = [labels.ascii_(name) for name in dict.fromkeys(names)]
    rest = len(found) - _MOST_ARRAYS
    return ", ".join(found[:_MOST_ARRAYS]) + (f" and {rest} more" if rest > 0 else "")


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
            saving = labels.saving(advice.saving_s, report.time_s)
            return f"{labels.ascii_(advice.action)} save {saving}", f"advice saves {saving}"
    return "", ""


def _is_of_note(advice: Advice, report: KernelReport) -> bool:
    if advice.saving_s is None or report.time_s is None:
        return False
    return advice.saving_s >= LEAST_SAVING * report.time_s
