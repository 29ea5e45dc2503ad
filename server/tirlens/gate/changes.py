"""Each kernel before and now, and what is to be said of the two."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from tirlens.gate.limits import Limits, growth, noise_s
from tirlens.ide import labels
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span

Verdict = Literal[
    "slower", "more-dram", "lost", "over-budget", "new", "removed", "unknown", "failed",
    "other-work", "unsure", "faster", "changed", "same",
]  # fmt: skip

REFUSED: frozenset[Verdict] = frozenset({"slower", "more-dram", "lost", "over-budget"})
"""The verdicts that a gate does not let through."""


# Less than this fraction is shown as no difference.
_LEAST = 5e-4


@dataclass(frozen=True)
class Change:
    """A kernel of the file `path` on one device; `before` or `now` is None where it was not there.

    `verdicts` are, worst first: ``slower`` and ``more-dram`` than the limits allow, ``lost`` of a
    kernel whose figures are known no more, ``over-budget``; ``failed`` of a new kernel that cannot
    be analysed, ``unknown`` of one that could not be before either; ``other-work`` where its
    arguments and the bytes that it has to touch are others, so that the times say nothing;
    ``unsure`` where the growth is within the model's noise; ``faster``; ``changed`` where a growth
    is allowed; ``new``, ``removed``, ``same``.
    """

    path: str
    name: str
    span: Span
    device_id: str
    before: KernelReport | None
    now: KernelReport | None
    verdicts: tuple[Verdict, ...]
    message: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the gate does not let it through."""
        return not REFUSED.isdisjoint(self.verdicts)

    @property
    def time_growth(self) -> float | None:
        """By what fraction it takes longer."""
        return growth(self.before and self.before.time_s, self.now and self.now.time_s)

    @property
    def dram_growth(self) -> float | None:
        """By what fraction it moves more bytes from and to DRAM."""
        before, now = self.before, self.now
        return growth(before and before.dram_bytes.total, now and now.dram_bytes.total)


def changes(before: FileReport | None, now: FileReport, limits: Limits) -> list[Change]:
    """What has become of the kernels of one file; `before` is None for a new one."""
    old, new = _named(before), _named(now)
    wanting = {item.kernel: item.reason for item in now.needs}
    names = dict.fromkeys((*new, *(item.kernel for item in now.needs), *old))
    out: list[Change] = []
    for name in names:
        for was, is_ in _pairs(old.get(name, []), new.get(name, [])):
            out.append(_change(name, was, is_, now, limits, wanting))
        if name in wanting and name not in old:
            out.append(_unread(name, before, now, wanting[name]))
    return out


def _named(file: FileReport | None) -> dict[str, list[KernelReport]]:
    found: dict[str, list[KernelReport]] = defaultdict(list)
    for kernel in file.kernels if file else ():
        found[labels.title(kernel)].append(kernel)
    return dict(found)


def _pairs(
    old: Sequence[KernelReport], new: Sequence[KernelReport]
) -> Iterable[tuple[KernelReport | None, KernelReport | None]]:
    """Kernels of one name: those of the same call and sizes first, the rest in their order."""
    left = list(old)
    partner: dict[int, KernelReport] = {}
    for same in (_work, _any):
        for place, kernel in enumerate(new):
            match = next((item for item in left if same(item) == same(kernel)), None)
            if place not in partner and match is not None:
                partner[place] = match
                left.remove(match)
    yield from ((partner.get(place), kernel) for place, kernel in enumerate(new))
    yield from ((kernel, None) for kernel in left)


def _work(kernel: KernelReport) -> object:
    return "".join(kernel.call.split()), dict(kernel.bindings)


def _any(_: KernelReport) -> object:
    return None


def _change(
    name: str,
    was: KernelReport | None,
    is_: KernelReport | None,
    now: FileReport,
    limits: Limits,
    wanting: dict[str, str],
) -> Change:
    shown = is_ or was
    assert shown is not None
    verdicts: tuple[Verdict, ...]
    verdicts, message = _verdicts(was, is_, limits)
    span = shown.span
    if is_ is None and was is not None:
        span, cause = _missing(was, now, wanting)
        if cause is not None:
            verdicts = (_lost(was),)
            message = cause
    return Change(now.path, name, span, shown.device_id, was, is_, verdicts, message)


def _verdicts(
    was: KernelReport | None, is_: KernelReport | None, limits: Limits
) -> tuple[tuple[Verdict, ...], str]:
    if is_ is None:
        return ("removed",), ""
    if is_.status != "ok":
        why = is_.message or f"needs {', '.join(is_.needs)}"
        return ("failed" if was is None else _lost(was),), why
    over: tuple[Verdict, ...] = ("over-budget",) if is_.over_budget else ()
    if was is None or was.status != "ok":
        return (*over, "new"), ""
    if _work(was) != _work(is_) and was.compulsory_bytes != is_.compulsory_bytes:
        return (*over, "other-work"), f"{was.call} before" if was.call != is_.call else ""
    lost = [
        what
        for what, had, has in (
            ("time", was.time_s, is_.time_s),
            ("DRAM traffic", was.dram_bytes.total, is_.dram_bytes.total),
        )
        if had is not None and has is None
    ]
    if lost:
        return ("lost", *over), f"its {' and '.join(lost)} can be told no more"
    return (*_grown(was, is_, limits), *over) or ("same",), ""


def _lost(was: KernelReport) -> Verdict:
    return "lost" if was.status == "ok" else "unknown"


def _grown(was: KernelReport, is_: KernelReport, limits: Limits) -> Iterator[Verdict]:
    time = growth(was.time_s, is_.time_s) or 0.0
    moved = growth(was.dram_bytes.total, is_.dram_bytes.total) or 0.0
    is_slower = limits.time is not None and time > limits.time
    is_beyond_noise = is_slower and time * (was.time_s or 0.0) > noise_s(was, is_)
    moves_more = limits.dram is not None and moved > limits.dram
    if is_beyond_noise:
        yield "slower"
    if moves_more:
        yield "more-dram"
    if is_slower and not is_beyond_noise:
        yield "unsure"
    elif time <= -_LEAST:
        yield "faster"
    elif not (is_beyond_noise or moves_more) and max(time, abs(moved)) >= _LEAST:
        yield "changed"


def _missing(
    was: KernelReport, now: FileReport, wanting: dict[str, str]
) -> tuple[Span, str | None]:
    """Where to tell of a kernel that has no report now, and why it has none; None if it is gone."""
    sources = [item for item in now.source.kernels if item.name == was.definition]
    if sources and all(item.off for item in sources):
        return sources[0].span, None
    if was.definition in wanting:
        reason = wanting[was.definition]
        return (sources[0].span if sources else was.span), "no arguments" + (
            reason and f": {reason}"
        )
    own = [p for p in now.problems if p.kernel == was.definition]
    whole = [p for p in now.problems if p.kernel is None and p.kind != "unsupported"]
    told = own or (whole if sources or any(p.kind == "syntax" for p in whole) else [])
    if not sources and not told:
        return Span(1, 0, 1, 0), None
    span = sources[0].span if sources else (told[0].span or was.span)
    return span, told[0].message if told else "it yields no kernel"


def _unread(name: str, before: FileReport | None, now: FileReport, reason: str) -> Change:
    """A kernel without arguments now, and without figures before."""
    span = next(item.span for item in now.needs if item.kernel == name)
    known = before is not None and any(item.kernel == name for item in before.needs)
    device = now.devices[0].id if now.devices else ""
    message = "no arguments" + (reason and f": {reason}")
    return Change(
        now.path, name, span, device, None, None, ("unknown" if known else "failed",), message
    )
