"""Code lenses: one line above each kernel, in parts that can be clicked."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from tirlens.ide import call_text, labels, measured_times, sizes, verdicts
from tirlens.ide.history import NO_HISTORY, History
from tirlens.settings import DEFAULT_LENS_CHARACTERS, DEFAULT_LENS_PARTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from tirlens.model.operations import Operations
    from tirlens.model.report import KernelReport
    from tirlens.model.totals import ModuleTotal

Action = Literal["report", "call", "device", "trust", "analyze", "tune", "none"]


_LEAST_VERDICT = 12
_REPORT_CHARACTERS = 140
# The share of the roofline from which the operations of one class set it.
_ALMOST = 0.95
_SEPARATOR = " | "
ANALYSING = "analysing..."
UNTRUSTED = "untrusted: analysis needs to run this file"
CANCELLED = "cancelled: click to analyse"
AWAITS_SAVE = "not analysed yet: save, or click to analyse"
STALE = "stale: save to refresh"
TUNE = "rank configurations"
BROKEN = "as before the syntax error"


@dataclass(frozen=True)
class Part:
    """A piece of a lens: its title and what a click on it does."""

    title: str
    action: Action


def parts(
    report: KernelReport,
    history: History = NO_HISTORY,
    names: Sequence[str] = DEFAULT_LENS_PARTS,
    limit: int = DEFAULT_LENS_CHARACTERS,
) -> list[Part]:
    """The lens of one analysed kernel.

    Parameters
    ----------
    report
        The report.
    history
        What its time is compared with.
    names
        The parts in the order of the lens; the device always follows. The size is among them where
        a part of it is assumed.
    limit
        The most characters of the lens.
    """
    device = Part(report.device_id, "device")
    if report.status == "needs-bindings":
        return [*needs(report.needs), device]
    if not report.has_counts:
        return [Part(failure(report.message or report.status), "report")]
    changes = history.changes_of(report)
    found = _Titles(
        time=time(report, changes),
        brief=time(report, changes, is_brief=True),
        measured=measured_times.lens_forms(report),
        is_assumed=bool(report.assumed),
        verdict=verdicts.verdict(report),
        peak=peak(report),
        work=work(report.operations, report.dram_bytes.total),
        size=sizes.size(report),
        call=labels.ascii_(_call(report)),
    )
    if report.assumed and "size" not in names:
        names = (*names, "size")
    displayed = _shorten(found, names, limit - len(report.device_id))
    return [*(Part(title, _CLICKS[name]) for name, title in displayed), device]


def several(
    reports: Sequence[tuple[KernelReport, History]], limit: int = DEFAULT_LENS_CHARACTERS
) -> list[Part]:
    """The lens of a kernel with several calls: time and size of each, then their device."""
    device = Part(", ".join(dict.fromkeys(report.device_id for report, _ in reports)), "device")
    found: list[Part] = []
    room = limit - len(device.title)
    for index, (report, history) in enumerate(reports):
        title = parts(report)[0].title
        if report.has_counts:
            brief = time(report, history.changes_of(report), is_brief=True)
            measured = measured_times.lens_forms(report)[-1:]
            title = ", ".join(filter(None, (brief, *measured, sizes.size(report))))
        rest = len(reports) - index
        after = "" if rest == 1 else _SEPARATOR + _more(rest - 1)
        if found and len(title) + len(_SEPARATOR) + len(after) > room:
            return [*found, Part(_more(rest), "report"), device]
        room -= len(title) + len(_SEPARATOR)
        found.append(Part(title, "report"))
    return [*found, device]


def _more(count: int) -> str:
    return f"{count} more"


def lens(report: KernelReport, names: Sequence[str] = DEFAULT_LENS_PARTS) -> str:
    """The lens as one line of a report."""
    return _SEPARATOR.join(
        part.title for part in parts(report, NO_HISTORY, names, _REPORT_CHARACTERS)
    )


def time(report: KernelReport, changes: str = "", is_brief: bool = False) -> str:
    """``about 15 us (9 to 24, -28%)``, ``87 us lower bound, unscheduled``, ``no time: <reason>``.

    It is without its band where it `is_brief`.
    """
    if report.time_s is None:
        return f"no time: {labels.shorten(labels.ascii_(report.message), 80)}"
    before = previous(report)
    if report.schedule == "unscheduled":
        return f"{before}{labels.seconds(report.time_s)} lower bound, unscheduled"
    estimate = labels.brief_estimate if is_brief else labels.estimate
    return f"{before}{estimate(report.time_s, report.time_band_s, changes)}"


def previous(report: KernelReport) -> str:
    """``1.9 ms -> `` for a version of a schedule that took 1.9 ms before a step changed it."""
    if report.previous_s is None or report.time_s is None:
        return ""
    before, now = (
        labels.seconds(time_s, labels.ESTIMATE_DIGITS)
        for time_s in (report.previous_s, report.time_s)
    )
    return f"{before} -> " if before != now else ""


def totals(sums: Sequence[ModuleTotal], limit: int = DEFAULT_LENS_CHARACTERS) -> list[Part]:
    """The lens of a statement that builds several kernels, or a graph: the sum of each graph."""
    ids = dict.fromkeys(kernel.device_id for item in sums for kernel in item.kernels)
    device = Part(", ".join(ids), "device")
    titles = [_total(item) for item in sums]
    if len(sums) == 1:
        work_done = work(sums[0].operations, sums[0].dram_bytes)
        found = [Part(titles[0], "report"), Part(work_done, "report")]
        if sums[0].assumed:
            text = ", ".join(f"{name}={value}" for name, value in sums[0].assumed.items())
            found.append(Part(f"assumed: {labels.shorten(text, 40)}", "call"))
        return [*found, device]
    room = limit - len(device.title)
    for count in range(len(titles), 0, -1):
        rest = [_more(len(titles) - count)] if count < len(titles) else []
        displayed = [*titles[:count], *rest]
        if len(_SEPARATOR.join(displayed)) <= room:
            return [*(Part(title, "report") for title in displayed), device]
    return [Part(titles[0], "report"), Part(_more(len(titles) - 1), "report"), device]


def _total(sums: ModuleTotal) -> str:
    """``main: 5 kernels in 7 calls: 1.2 ms``."""
    entry = f"{sums.entry}: " if sums.entry else ""
    calls = f" in {sums.calls} calls" if sums.calls != len(sums.kernels) else ""
    kernels = f"{len(sums.kernels)} kernels" if len(sums.kernels) > 1 else sums.first.name
    kind = " lower bound, unscheduled" if sums.is_bound else ""
    digits = 3 if sums.is_bound else labels.ESTIMATE_DIGITS
    time_s = "no time" if sums.time_s is None else f"{labels.seconds(sums.time_s, digits)}{kind}"
    return f"{entry}{kernels}{calls}: {time_s}"


def peak(report: KernelReport) -> str:
    """``45% of peak`` or ``45% of DRAM peak``; empty if the verdict has it.

    The peak is that of the operations where these set the roofline, else that of DRAM.
    """
    compute, memory = report.peak_fraction, report.dram_fraction
    if report.bound in ("tensor", "dram") or report.schedule == "unscheduled":
        return ""
    if compute is not None and report.time_s and report.roofline_time_s is not None:
        roofline = report.roofline_time_s / report.time_s
        if compute >= _ALMOST * roofline:
            return f"{labels.percent(compute)} of peak"
    return f"{labels.percent(memory)} of DRAM peak" if memory is not None else ""


def work(operations: Operations, dram_bytes: float | None) -> str:
    """``137 GFLOP, 1.2 GB``: operations, and bytes from and to DRAM.

    ``34.4 GIOP`` where most operations are on integers.
    """
    moved = labels.quantity(dram_bytes, "B", labels.ESTIMATE_DIGITS)
    return f"{labels.work(operations)}, {moved}"


def needs(names: Sequence[str]) -> list[Part]:
    """The lens of a kernel whose arguments nothing in the file gives."""
    return [Part(f"needs {', '.join(names)}: click to set", "call")]


SEARCHING = Part("looking for a call in other files...", "call")
"""In place of what a kernel needs, as long as other files may give it."""


def missing_call(call: str) -> Part:
    """The lens of a kernel that the evaluated call does not yield."""
    by = f" by {labels.shorten(call, 60)}" if call else ""
    return Part(f"not called{by}: click to choose a call", "call")


def failure(reason: str) -> str:
    """``not analysed: <reason>``, short enough for a lens."""
    return f"not analysed: {labels.shorten(labels.ascii_(reason), 80)}"


@dataclass(frozen=True)
class _Titles:
    """The titles of the parts of a lens by their names; the verdict still in its pieces.

    `brief` is the time without its band, `is_assumed` whether the size says what is assumed.
    `measured` has the forms of what stands behind the time, the present one first.
    """

    time: str
    brief: str
    measured: tuple[str, ...]
    is_assumed: bool
    verdict: verdicts.Verdict
    peak: str
    work: str
    size: str
    call: str

    def select(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """The parts `names` that are not empty, with their titles."""
        time = ", ".join((self.time, *self.measured[:1]))
        titles = {**self.__dict__, "time": time, "verdict": self.verdict.text}
        return [(name, titles[name]) for name in names if titles[name]]


_CLICKS: Mapping[str, Action] = {
    "time": "report",
    "verdict": "report",
    "peak": "report",
    "work": "report",
    "size": "call",
    "call": "call",
}
# What is given up where a lens is too long, in this order.
_STEPS: tuple[Callable[[_Titles], _Titles], ...] = (
    lambda titles: _with_briefer_measured(titles),
    lambda titles: replace(titles, peak=""),
    lambda titles: replace(titles, call=labels.shorten(titles.call)),
    lambda titles: _with_verdict(titles, detail=""),
    lambda titles: replace(titles, time=titles.brief),
    lambda titles: replace(titles, call=""),
    lambda titles: titles if titles.is_assumed else replace(titles, size=""),
    lambda titles: _with_verdict(titles, action=titles.verdict.saving),
    # How old a measured time is matters more than the counts, which the hover has, too.
    lambda titles: replace(titles, work="") if titles.measured else titles,
    lambda titles: _with_briefer_measured(titles),
    lambda titles: _with_verdict(titles, action=""),
    lambda titles: replace(titles, work=""),
    lambda titles: _with_verdict(titles, arrays=""),
)


def _with_briefer_measured(titles: _Titles) -> _Titles:
    return replace(titles, measured=titles.measured[1:] or titles.measured)


def _with_verdict(titles: _Titles, **pieces: str) -> _Titles:
    return replace(titles, verdict=replace(titles.verdict, **pieces))


def _shorten(titles: _Titles, names: Sequence[str], room: int) -> list[tuple[str, str]]:
    """The parts `names` of a lens that have at most `room` characters before the device.

    The time is left whole, and a size that says what is assumed.
    """
    whole = titles
    displayed = titles.select(names)
    for step in _STEPS:
        if _length(displayed) <= room:
            return _with_longest_time(titles, whole, names, room)
        titles = step(titles)
        displayed = titles.select(names)
    excess = _length(displayed) - room
    if excess <= 0:
        return displayed
    kept = len(titles.verdict.limit) - excess
    limit = labels.cut(titles.verdict.limit, kept) if kept >= _LEAST_VERDICT else ""
    return _with_verdict(titles, limit=limit).select(names)


def _with_longest_time(
    titles: _Titles, whole: _Titles, names: Sequence[str], room: int
) -> list[tuple[str, str]]:
    """The parts with the band and the age of `whole` where later steps have made room for them."""
    found = titles.select(names)
    for change in (
        {"time": whole.time},
        *({"measured": whole.measured[at:]} for at in reversed(range(len(whole.measured)))),
    ):
        longer = replace(titles, **change).select(names)
        if _length(longer) <= room:
            titles, found = replace(titles, **change), longer
    return found


def _length(displayed: Sequence[tuple[str, str]]) -> int:
    """The characters of the parts with the separator behind each."""
    return sum(len(title) + len(_SEPARATOR) for _, title in displayed)


def _call(report: KernelReport) -> str:
    """The call that the figures are for, if it has arguments."""
    has_arguments = report.call not in ("", report.name, report.definition) and "(" in report.call
    bindings = [f"{name}={value}" for name, value in report.bindings.items()]
    return ", ".join([call_text.readable(report.call)] * has_arguments + bindings)
