"""What became of an operation between two measured runs, in words."""

from __future__ import annotations

from tirlens.cli.change_report import growth_text
from tirlens.cli.measured.changes.report import MeasuredChangeReport
from tirlens.gate.measured_changes import MeasuredChange
from tirlens.ide import labels
from tirlens.measured.records import Operation, Tensor
from tirlens.measured.runs.comparison import OperationChange, Side, Totals
from tirlens.measured.runs.significance import (
    Sample,
)

_WORDS = {
    "slower": "slower",
    "more-dram": "more DRAM traffic",
    "other-device": "not compared: another device",
    "no-baseline": "new: no baseline",
    "other-work": "not compared: other arguments, or not known",
    "no-time": "a side has no time",
    "unknown-spread": "slower, the spread is not known",
    "unsure": "slower, within the spread",
    "faster": "faster",
    "removed": "gone",
    "changed": "",
    "same": "",
}
_WORDS_OF_A_COMPARISON = {
    "within-spread": "within the spread",
    "unknown-spread": "the spread is not known",
    "no-time": "a side has no time",
    "other-work": _WORDS["other-work"],
    "slower": "slower",
    "faster": "faster",
    "new": "new",
    "gone": "gone",
    "same": "",
}


def explanation(item: MeasuredChange) -> str:
    """The verdict on an operation and its figures, in a sentence."""
    change = item.change
    said = f"{change.operation.name}: {verdict(item)}"
    before, now = change.before, change.now
    if before is None or now is None:
        return said
    figures: list[str] = []
    if "more-dram" in item.verdicts and now.dram_bytes is not None:
        figures.append(
            f"{labels.bytes_(before.dram_bytes)} -> {labels.bytes_(now.dram_bytes)}"
            + growth_text(change.dram_growth)
        )
    if item.verdicts != ("more-dram",):
        figures.append(f"{_time(before)} -> {_time(now)}{growth_text(change.time_growth)}")
    why = _differing_launch(change)
    return f"{said}, {', '.join(figures)}{f'; {why}' if why else ''}"


def verdict(item: MeasuredChange, has_limits: bool = True) -> str:
    """The verdicts in words."""
    if not has_limits and item.verdicts != ("other-device",):
        return _WORDS_OF_A_COMPARISON[item.change.verdict]
    return ", ".join(filter(None, (_WORDS[word] for word in item.verdicts)))


def _differing_launch(change: OperationChange) -> str:
    """What of the launch is another one; empty for the same."""
    if change.before is None or change.now is None:
        return ""
    old, new = change.before.first, change.now.first
    pairs = (
        ("name", old.name, new.name),
        ("grid", dimensions(old.grid), dimensions(new.grid)),
        ("block", dimensions(old.block), dimensions(new.block)),
        ("arguments", arguments(old), arguments(new)),
        ("call", old.attributes.get("call", ""), new.attributes.get("call", "")),
    )
    parts = [f"{name} {a or 'not known'} -> {b or 'not known'}" for name, a, b in pairs if a != b]
    if change.relation == "moved":
        parts.append("at another place")
    return "; ".join(parts)


def _frequency(item: MeasuredChange, report: MeasuredChangeReport) -> str:
    """That an operation is executed more or less often than the others lead to expect."""
    times = report.comparison.relative_executions(item.change)
    if times is None or 0.99 < times < 1.01:
        return ""
    return f"executed {labels.number(times)} times as often"


def cells(item: MeasuredChange, report: MeasuredChangeReport) -> tuple[str, ...]:
    """The cells of an operation after its name."""
    change = item.change
    total_s = change.total_change_s
    why = "; ".join(filter(None, (_frequency(item, report), _differing_launch(change))))
    said = verdict(item, bool(report.limits))
    return (
        launch(change.operation),
        _executions(change),
        _time(change.before),
        _time(change.now),
        growth_text(change.time_growth).strip(" ()"),
        f"{'+' if total_s > 0 else '-'}{labels.seconds(abs(total_s))}" if total_s else "",
        "; ".join(filter(None, (said, why))),
    )


def launch(operation: Operation) -> str:
    """``grid x block``, and the sizes of the arguments."""
    call = operation.attributes.get("call")
    if call is not None:
        return call
    shape = [dimensions(size) for size in (operation.grid, operation.block) if size]
    return " ".join(filter(None, (" of ".join(shape), arguments(operation))))


def dimensions(size: tuple[int, int, int] | None) -> str:
    """``16x1x1`` of a grid or block; empty where it is not known."""
    return "" if size is None else "x".join(map(str, size))


def arguments(operation: Operation) -> str:
    """The types and shapes of the inputs."""
    return ", ".join(filter(None, map(_tensor, operation.inputs)))


def _tensor(tensor: Tensor) -> str:
    shape = tensor.logical_shape or tensor.shape
    return f"{tensor.dtype or ''}{list(shape)}" if shape else tensor.dtype or ""


def _executions(change: OperationChange) -> str:
    sides = [side and labels.number(side.executions) for side in (change.before, change.now)]
    known = [text or "-" for text in sides]
    return known[0] if known[0] == known[1] else " -> ".join(known)


def _time(side: Side | None) -> str:
    return "-" if side is None else _sample(side.sample)


def _sample(sample: Sample | None) -> str:
    if sample is None:
        return "no time"
    if sample.deviation_s is None:
        return labels.seconds(sample.mean_s)
    return f"{labels.seconds(sample.mean_s)} ± {labels.seconds(sample.deviation_s, 2)}"


def total_rows(report: MeasuredChangeReport) -> list[tuple[str, str, str, str]]:
    """Name, before, now and change of the runs as a whole."""
    before, now = report.comparison.before, report.comparison.now
    rows = [
        (
            "time on the device",
            _sample(before.time),
            _sample(now.time),
            _change_of(before.time and before.time.mean_s, now.time and now.time.mean_s),
        )
    ]
    if before.gap_s is not None or now.gap_s is not None:
        rows.append(("gaps", _gap(before), _gap(now), _change_of(before.gap_s, now.gap_s)))
    old, new = before.operations, now.operations
    rows.append(("operations", labels.number(old), labels.number(new), _change_of(old, new)))
    return rows


def _gap(side: Totals) -> str:
    return "not known" if side.gap_s is None else labels.seconds(side.gap_s)


def _change_of(before: float | None, now: float | None) -> str:
    if before is None or now is None or not before:
        return ""
    return growth_text(now / before - 1).strip(" ()")


def left_out(report: MeasuredChangeReport) -> str:
    """How many operations a table leaves out; empty if none."""
    count = len(report.changes) - len(report.displayed)
    if not count:
        return ""
    share = labels.percent(report.least_share)
    return f"{labels.count(count, 'operation')} below {share} of the time left out"
