"""Reasons for the growth of a kernel: the figures that differ, and the line that has grown most."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping

from tirlens.ide import labels, launch
from tirlens.model.report import BreakdownEntry, KernelReport

_Key = tuple[str, str]
_FIGURES: tuple[tuple[str, Callable[[KernelReport], object]], ...] = (
    ("call", lambda k: k.call),
    ("bound", lambda k: k.bound),
    ("FLOP", lambda k: labels.flop(k.flop)),
    ("DRAM", lambda k: labels.bytes_(k.dram_bytes.total)),
    ("issued bytes", lambda k: labels.bytes_(k.global_bytes.total)),
    ("grid", lambda k: " x ".join(map(str, k.grid))),
    ("threads", lambda k: k.threads_per_block),
    ("shared memory", lambda k: labels.bytes_(k.shared_bytes_per_block)),
    ("blocks per SM", lambda k: k.occupancy and k.occupancy.blocks_per_sm),
    ("launch", lambda k: k.waves and launch.waves(k.waves)),
)


def reasons(before: KernelReport, now: KernelReport) -> list[str]:
    """``DRAM 1.2 GB -> 2.4 GB`` for each figure that differs."""
    out: list[str] = []
    for name, figure in _FIGURES:
        old, new = figure(before), figure(now)
        if old != new and None not in (old, new):
            out.append(f"{name} {old} -> {new}")
    return out


def most_grown_line(before: KernelReport, now: KernelReport) -> tuple[BreakdownEntry, str] | None:
    """The line of `now` that has grown most, with its time before and now; None if none has.

    Entries without children are compared, matched by their kind and label.
    """
    old, new = _by_label(before), _by_label(now)
    # A new statement is compared with the removed statement of its kind.
    rewritten = dict(zip(_keys_only_in(new, old), _keys_only_in(old, new), strict=False))
    had_s = {key: _time_s(old.get(key) or old.get(rewritten.get(key, key), ())) for key in new}
    key = max(new, key=lambda key: _time_s(new[key]) - had_s[key], default=None)
    if key is None or _time_s(new[key]) <= had_s[key]:
        return None
    worst = max(new[key], key=lambda cost: cost.time_s or 0.0)
    label = labels.shorten(" ".join(worst.label.split()), 60)
    had = labels.seconds(had_s[key]) if had_s[key] else "new"
    return worst, f"{label}: {had} -> {labels.seconds(_time_s(new[key]))}"


def _keys_only_in(here: Mapping[_Key, object], there: Mapping[_Key, object]) -> list[_Key]:
    """The keys of `here` that are not in `there`, sorted by kind."""
    return sorted((key for key in here if key not in there), key=lambda key: key[0])


def _time_s(costs: Iterable[BreakdownEntry]) -> float:
    return sum(cost.time_s or 0.0 for cost in costs)


def _by_label(kernel: KernelReport) -> dict[_Key, list[BreakdownEntry]]:
    found: dict[_Key, list[BreakdownEntry]] = defaultdict(list)
    for _, cost in kernel.walk():
        if not cost.children:
            found[cost.kind, cost.label].append(cost)
    return found
