"""DRAM bytes that differ from the prediction."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement, times
from tirlens.quantity_text import bytes_, percent

#: From this ratio on, the bytes disagree: ncu's replays alone change them by some percent.
LEAST_RATIO = 1.15
#: The least share of the measured time that DRAM needs for the bytes, to be its cause.
LEAST_SHARE = 0.35
#: The share of the excess that an array's predicted reuse in L2 must cover to be named.
_LEAST_COVER = 0.5

READ = ("dram__bytes_read.sum", "dram_read_bytes")
WRITTEN = ("dram__bytes_write.sum", "dram_write_bytes")
BOTH = "dram__bytes.sum"
L2_HITS = ("lts__t_sector_hit_rate.pct", "lts__t_sector_op_read_hit_rate.pct")


def check(question: Question) -> Iterator[Mechanism]:
    """More bytes of a slower kernel, or fewer of a faster one, that DRAM takes long enough for."""
    found = _moved_bytes(question)
    predicted = question.report.dram_bytes.total
    if found is None or not predicted:
        return
    names, measured = found
    dram = question.device.dram
    bus_s = max(measured, predicted) / (dram.bytes_per_s * dram.sustained_fraction)
    longer_s = max(question.measured_s, question.report.time_s or 0.0)
    ratio = measured / predicted
    differs = ratio >= LEAST_RATIO if question.is_slower else ratio <= 1 / LEAST_RATIO
    if not differs or bus_s < LEAST_SHARE * longer_s:
        return
    text = f"DRAM bytes {times(measured, predicted)}: {bytes_(measured)}, not {bytes_(predicted)}"
    reason = (
        _reuse_reason(question, measured - predicted) if ratio > 1 else _cached_reason(question)
    )
    yield Mechanism(
        "dram-bytes",
        f"{text}{f'; {reason}' if reason else ''}",
        measured,
        predicted,
        "bytes",
        names,
        disagreement(measured, predicted),
    )


def _moved_bytes(question: Question) -> tuple[tuple[str, ...], float] | None:
    """The counters of the bytes of both directions, and their sum."""
    read, written = question.counter(*READ), question.counter(*WRITTEN)
    if read is not None and written is not None:
        return (read[0], written[0]), read[1] + written[1]
    both = question.counter(BOTH)
    return None if both is None else ((both[0],), both[1])


def _reuse_reason(question: Question, excess_bytes: float) -> str:
    """Which reads the prediction expects to hit in L2, as far as they cover the excess."""
    reuse: dict[str, float] = {}
    for _, cost in question.report.walk():
        if cost.children or cost.l2_bytes is None or cost.dram_bytes is None:
            continue
        if cost.step == "load" and cost.step_arrays:
            name = " and ".join(cost.step_arrays)
            reuse[name] = reuse.get(name, 0.0) + max(cost.l2_bytes - cost.dram_bytes, 0.0)
    names = [name for name, size in reuse.items() if size >= _LEAST_COVER * excess_bytes]
    parts: list[str] = []
    if names:
        known = "miss" if len(names) == 1 else "may miss"
        parts.append(f"reads of {', '.join(names)} {known} in L2, where the prediction has hits")
    hits = question.counter(*L2_HITS)
    if hits is not None:
        parts.append(f"L2 hit rate {percent(hits[1] / 100)}{_expected_hits(question)}")
    return ", ".join(parts)


def _expected_hits(question: Question) -> str:
    l2_bytes, dram_bytes = question.report.l2_bytes, question.report.dram_bytes.total
    if not l2_bytes or dram_bytes is None or dram_bytes > l2_bytes:
        return ""
    return f", {percent(1 - dram_bytes / l2_bytes)} by the prediction"


def _cached_reason(question: Question) -> str:
    read, compulsory = question.counter(*READ), question.report.compulsory_bytes
    is_known = read is not None and compulsory and question.report.compulsory_is_exact
    if is_known and read is not None and read[1] < 0.5 * (compulsory or 0):
        return "fewer than its arrays have: they were in L2 before it began"
    return ""
