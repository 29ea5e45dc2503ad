"""The changes of kernels between two versions of a file, with a verdict for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from tirlens.gate.changed_lines import ChangedLine, Lines, changed_line
from tirlens.gate.differences import Difference
from tirlens.gate.growth_limits import Limits, growth, noise_s
from tirlens.gate.pairing import counterparts, identity, is_same_problem, pairs, work_key
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span

Verdict = Literal[
    "slower", "more-dram", "lost", "over-budget", "new", "removed", "unknown", "failed",
    "other-work", "unsure", "faster", "changed", "same",
]  # fmt: skip

REFUSED: frozenset[Verdict] = frozenset({"slower", "more-dram", "lost", "over-budget"})
"""The verdicts that a gate refuses."""

UNCOMPARED: frozenset[Verdict] = frozenset({"other-work", "unknown"})
"""The verdicts on kernels of which a gate knows nothing: it refuses them unless an option allows
them."""

# Differences below this fraction are reported as none.
_LEAST_DIFFERENCE = 5e-4


@dataclass(frozen=True)
class Change:
    """A kernel of the file `path` on one device; `before` is None if it is new, `now` if removed.

    `verdicts` are, worst first: ``slower`` and ``more-dram`` than the limits allow; ``lost`` for a
    kernel whose figures are no longer known; ``over-budget``; ``failed`` for a new kernel that
    cannot be analysed; ``unknown`` for one that could not be analysed before, either;
    ``other-work`` where the arguments and the compulsory bytes differ, so that the times cannot be
    compared; ``unsure`` where the growth is within the model's noise; ``faster``; ``changed`` where
    the limits allow the growth; ``new``, ``removed``, ``same``.
    `line` is the line whose change explains the growth of the time.  `is_edited` is false if
    neither the file nor what it imports differs.  `difference` is what two frameworks make of the
    kernel; None where one framework is on both sides.
    """

    path: str
    name: str
    span: Span
    device_id: str
    before: KernelReport | None
    now: KernelReport | None
    verdicts: tuple[Verdict, ...]
    message: str = ""
    line: ChangedLine | None = None
    is_edited: bool = True
    difference: Difference | None = None

    @property
    def is_uncompared(self) -> bool:
        """Whether nothing is known of the effect of an edit on the kernel."""
        return self.is_edited and not UNCOMPARED.isdisjoint(self.verdicts)

    @property
    def is_refused(self) -> bool:
        """Whether the gate refuses the change."""
        return not REFUSED.isdisjoint(self.verdicts)

    @property
    def time_growth(self) -> float | None:
        """The growth of the time, as a fraction."""
        return growth(self.before and self.before.time_s, self.now and self.now.time_s)

    @property
    def dram_growth(self) -> float | None:
        """The growth of the DRAM bytes, as a fraction."""
        before, now = self.before, self.now
        return growth(before and before.dram_bytes.total, now and now.dram_bytes.total)


def changes(before: FileReport | None, now: FileReport, limits: Limits) -> list[Change]:
    """The changes of the kernels of one file; `before` is None for a new file."""
    missing_arguments = _missing_arguments(now)
    is_edited = before is not now
    lines = Lines.between(before, now) if before is not None and is_edited else None
    out: list[Change] = []
    found: set[str] = set()
    for old, new in counterparts(before, now):
        found.add((new or old)[0].definition)
        for old_kernel, new_kernel in pairs(old, new):
            change = _change(old_kernel, new_kernel, now, limits, missing_arguments, lines)
            if old_kernel is None and before is not None and not change.message:
                change = replace(change, message=_message_of_new(new_kernel, before))
            out.append(change)
    out += [
        _change_without_arguments(name, before, now, reason)
        for name, reason in missing_arguments.items()
        if name not in found
    ]
    return out if is_edited else [replace(change, is_edited=False) for change in out]


def _missing_arguments(file: FileReport) -> dict[str, str]:
    """Why kernels have no arguments, by their names."""
    return {item.kernel: item.reason for item in file.needs}


def _message_of_new(kernel: KernelReport | None, before: FileReport) -> str:
    """Why a kernel that the file had before has a report only now; empty if it is new."""
    if kernel is None or all(one.name != kernel.definition for one in before.source.kernels):
        return ""
    _, cause = _explain_missing(kernel, before, _missing_arguments(before))
    return f"before: {cause}" if cause else ""


def with_moves(
    found: Sequence[Change], files: Mapping[str, FileReport], limits: Limits
) -> list[Change]:
    """`found` of several files, with a kernel that moved from one file to another as one change.

    `files` are the reports of the working tree by path.
    """
    removed = [change for change in found if change.verdicts == ("removed",)]
    moved: list[Change] = []
    out: list[Change] = []
    for change in found:
        old = next((item for item in removed if _has_moved(item, change)), None)
        if old is not None and change.now is not None:
            removed.remove(old)
            moved.append(old)
            file = files[change.path]
            change = _change(old.before, change.now, file, limits, {}, None)
            change = replace(change, message=change.message or f"moved from {old.path}")
        out.append(change)
    return [change for change in out if not any(change is item for item in moved)]


def _has_moved(removed: Change, added: Change) -> bool:
    before, now = removed.before, added.now
    return (
        before is not None
        and now is not None
        and added.before is None
        and "new" in added.verdicts
        and identity(before) == identity(now)
        and before.device_id == now.device_id
    )


def _change(
    old_kernel: KernelReport | None,
    new_kernel: KernelReport | None,
    now: FileReport,
    limits: Limits,
    missing_arguments: Mapping[str, str],
    lines: Lines | None,
) -> Change:
    kernel = new_kernel or old_kernel
    assert kernel is not None
    name = labels.title(kernel)
    verdicts, message = _verdicts(old_kernel, new_kernel, limits)
    span = kernel.span
    line = None
    if new_kernel is None and old_kernel is not None:
        span, cause = _explain_missing(old_kernel, now, missing_arguments)
        if cause is not None:
            verdicts = (_loss_verdict(old_kernel),)
            message = cause
    elif old_kernel is not None and new_kernel is not None and lines is not None:
        line = changed_line(old_kernel, new_kernel, lines)
        if labels.title(old_kernel) != name and not message:
            message = f"{labels.title(old_kernel)} before"
    return Change(
        now.path, name, span, kernel.device_id, old_kernel, new_kernel, verdicts, message, line
    )


def _verdicts(
    old_kernel: KernelReport | None, new_kernel: KernelReport | None, limits: Limits
) -> tuple[tuple[Verdict, ...], str]:
    if new_kernel is None:
        return ("removed",), ""
    if not new_kernel.has_counts:
        why = new_kernel.message or f"needs {', '.join(new_kernel.needs)}"
        return ("failed" if old_kernel is None else _loss_verdict(old_kernel),), why
    over: tuple[Verdict, ...] = ("over-budget",) if new_kernel.over_budget else ()
    if old_kernel is None:
        return (*over, "new"), ""
    if not old_kernel.has_counts:
        return (*over, "new"), f"before: {old_kernel.message}" if old_kernel.message else ""
    if work_key(old_kernel) != work_key(new_kernel) and not is_same_problem(old_kernel, new_kernel):
        return (*over, "other-work"), _difference_of_work(old_kernel, new_kernel)
    lost = [
        what
        for what, had, has in (
            ("time", old_kernel.time_s, new_kernel.time_s),
            ("DRAM traffic", old_kernel.dram_bytes.total, new_kernel.dram_bytes.total),
        )
        if had is not None and has is None
    ]
    if lost:
        why = f": {new_kernel.message}" if new_kernel.message else ""
        return ("lost", *over), f"its {' and '.join(lost)} can no longer be estimated{why}"
    if old_kernel.time_s is None and new_kernel.time_s is not None:
        why = f": {old_kernel.message}" if old_kernel.message else ""
        return ("changed", *over), f"its time could not be estimated before{why}"
    return (*_growth_verdicts(old_kernel, new_kernel, limits), *over) or ("same",), ""


def _difference_of_work(old_kernel: KernelReport, new_kernel: KernelReport) -> str:
    if old_kernel.device_id != new_kernel.device_id:
        return f"on {old_kernel.device_id} before"
    return f"{old_kernel.call} before" if old_kernel.call != new_kernel.call else ""


def _loss_verdict(old_kernel: KernelReport) -> Verdict:
    return "lost" if old_kernel.has_counts else "unknown"


def _growth_verdicts(
    old_kernel: KernelReport, new_kernel: KernelReport, limits: Limits
) -> Iterator[Verdict]:
    time = growth(old_kernel.time_s, new_kernel.time_s) or 0.0
    dram_growth = growth(old_kernel.dram_bytes.total, new_kernel.dram_bytes.total) or 0.0
    is_slower = limits.time is not None and time > limits.time
    is_beyond_noise = is_slower and time * (old_kernel.time_s or 0.0) > noise_s(
        old_kernel, new_kernel
    )
    # More traffic that costs no time is no loss.
    is_faster = time <= -_LEAST_DIFFERENCE
    moves_more = limits.dram is not None and dram_growth > limits.dram and not is_faster
    if is_beyond_noise:
        yield "slower"
    if moves_more:
        yield "more-dram"
    if is_slower and not is_beyond_noise:
        yield "unsure"
    elif is_faster:
        yield "faster"
    elif not (is_beyond_noise or moves_more) and max(time, abs(dram_growth)) >= _LEAST_DIFFERENCE:
        yield "changed"


def _explain_missing(
    old_kernel: KernelReport, now: FileReport, missing_arguments: Mapping[str, str]
) -> tuple[Span, str | None]:
    """The span and the reason of a kernel without a report; no reason if it was removed."""
    sources = [item for item in now.source.kernels if item.name == old_kernel.definition]
    if sources and all(item.off for item in sources):
        return sources[0].span, None
    if old_kernel.definition in missing_arguments:
        reason = missing_arguments[old_kernel.definition]
        return (sources[0].span if sources else old_kernel.span), "no arguments" + (
            reason and f": {reason}"
        )
    own = [p for p in now.problems if p.kernel == old_kernel.definition]
    whole = [p for p in now.problems if p.kernel is None and p.kind != "unsupported"]
    problems = own or (whole if sources or any(p.kind == "syntax" for p in whole) else [])
    if not sources and not problems:
        return Span(1, 0, 1, 0), None
    span = sources[0].span if sources else (problems[0].span or old_kernel.span)
    return span, problems[0].message if problems else "it yields no kernel"


def _change_without_arguments(
    name: str, before: FileReport | None, now: FileReport, reason: str
) -> Change:
    """The change of a kernel that has no arguments now and had no figures before."""
    span = next(item.span for item in now.needs if item.kernel == name)
    known = before is not None and any(item.kernel == name for item in before.needs)
    device = now.devices[0].id if now.devices else ""
    message = "no arguments" + (reason and f": {reason}")
    return Change(
        now.path, name, span, device, None, None, ("unknown" if known else "failed",), message
    )
