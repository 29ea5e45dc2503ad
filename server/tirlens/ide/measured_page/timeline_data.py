"""The timeline of a step as data, of a size that does not grow with the trace."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens.ide import labels
from tirlens.ide.measured_page.schema import Gap as GapData
from tirlens.ide.measured_page.schema import Lane as LaneData
from tirlens.ide.measured_page.schema import Name, Timeline
from tirlens.ide.measured_page.table_data import displayed_name, short_name
from tirlens.ide.report_page.axes import fraction
from tirlens.measured.performance.categories import CATEGORIES, Category
from tirlens.measured.timeline import Gap, Lane, Step

#: Segments of all lanes together; of more, neighbours that are short are drawn as one.
MOST_SEGMENTS = 40_000
#: Lanes; those with the most operations.
MOST_LANES = 64
#: Kernels whose names the timeline has; others have the name of their category.
MOST_NAMES = 4000
_BINS = 200
_TICK_S = 1e-9
_MOST_GAPS = 40


@dataclass(frozen=True)
class _Segment:
    """Operations that are drawn as one, most often a single one."""

    start: int
    end: int
    kernel: int
    category: Category
    count: int


def timeline_data(step: Step, order_note: str = "") -> Timeline | None:
    """The JSON of the lanes; None for a trace without a timeline.

    `order_note` is what the timeline is where operations have no times of begin.
    """
    if not step.lanes:
        return None
    lanes = sorted(step.lanes, key=lambda lane: -len(lane.starts_s))[:MOST_LANES]
    kept = [lane for lane in step.lanes if lane in lanes]
    length_s = max(max(lane.ends_s) for lane in step.lanes)
    shortest_s, merged = _merge_short(kept, step)
    devices: dict[str | None, list[LaneData]] = {}
    for lane, segments in zip(kept, merged, strict=True):
        devices.setdefault(lane.device, []).append(_lane_data(lane, segments))
    return {
        "length": round(length_s / _TICK_S),
        "clock": "order" if step.clock == "order" else "trace",
        "names": [
            Name(
                displayed_name(kernel.name),
                CATEGORIES.index(kernel.category),
                short_name(kernel.name),
            )
            for kernel in step.kernels[:MOST_NAMES]
        ],
        "categories": [*map(str, CATEGORIES)],
        "devices": [
            {
                "name": _device_name(device),
                "lanes": found,
                "idle": _idle(step, device),
                "gaps": _gaps(step, device),
            }
            for device, found in devices.items()
        ],
        "overview": _overview(step, length_s),
        "note": _note(step, kept, shortest_s, order_note),
    }


def _device_name(device: str | None) -> str:
    if device is None:
        return "device"
    return f"device {displayed_name(device)}" if device.isdigit() else displayed_name(device)


def _note(step: Step, kept: Sequence[Lane], shortest_s: float, order_note: str) -> str:
    notes: list[str] = []
    if step.clock == "order":
        notes.append(order_note)
    if shortest_s:
        notes.append(
            f"Operations shorter than {labels.seconds(shortest_s)} are drawn together with their"
            " neighbours; the sums have each of them."
        )
    if len(kept) < len(step.lanes):
        notes.append(f"{len(step.lanes) - len(kept)} lanes with few operations are left out.")
    return " ".join(notes)


def _merge_short(lanes: Sequence[Lane], step: Step) -> tuple[float, list[list[_Segment]]]:
    """The segments of each lane, and the length below which operations were merged; 0 for none."""
    shortest_s = 0.0
    while sum(_count(lane, shortest_s) for lane in lanes) > MOST_SEGMENTS:
        shortest_s = 2 * shortest_s or max(max(lane.ends_s) for lane in lanes) / MOST_SEGMENTS / 16
    return shortest_s, [
        [_segment(lane, first, last, step) for first, last in _groups(lane, shortest_s)]
        for lane in lanes
    ]


def _count(lane: Lane, shortest_s: float) -> int:
    return sum(1 for _ in _groups(lane, shortest_s)) if shortest_s else len(lane.starts_s)


def _groups(lane: Lane, shortest_s: float) -> Iterator[tuple[int, int]]:
    """The operations of each segment: those shorter than `shortest_s` that are near each other."""
    first, begin_s = 0, 0.0
    for number, (start_s, end_s) in enumerate(zip(lane.starts_s, lane.ends_s, strict=True)):
        is_long = end_s - start_s >= shortest_s
        if number > first and (is_long or end_s - begin_s > 2 * shortest_s):
            yield first, number
            first = number
        if number == first:
            begin_s = start_s
        if is_long:
            yield first, number + 1
            first = number + 1
    if first < len(lane.starts_s):
        yield first, len(lane.starts_s)


def _segment(lane: Lane, first: int, last: int, step: Step) -> _Segment:
    """The segment of the operations from `first` up to before `last`."""
    start, kernel = round(lane.starts_s[first] / _TICK_S), lane.kernels[first]
    if last == first + 1:
        end = round(lane.ends_s[first] / _TICK_S)
        return _Segment(start, end, kernel, step.kernels[kernel].category, 1)
    times: dict[Category, float] = {}
    for number in range(first, last):
        category = step.kernels[lane.kernels[number]].category
        length_s = lane.ends_s[number] - lane.starts_s[number]
        times[category] = times.get(category, 0.0) + length_s
    end = round(max(lane.ends_s[first:last]) / _TICK_S)
    return _Segment(start, end, -1, max(times, key=lambda one: times[one]), last - first)


def _lane_data(lane: Lane, segments: Sequence[_Segment]) -> LaneData:
    flat: list[int] = []
    counts: list[int] = []
    before = 0
    for segment in segments:
        number = segment.kernel
        if not 0 <= number < MOST_NAMES:
            number = -1 - CATEGORIES.index(segment.category)
            counts.append(segment.count)
        flat += [segment.start - before, segment.end - segment.start, number]
        before = segment.start
    return {
        "name": "" if lane.stream is None else f"stream {displayed_name(lane.stream)}",
        "segments": flat,
        "counts": counts,
        "operations": len(lane.starts_s),
    }


def _idle(step: Step, device: str | None) -> str:
    found = next((one for one in step.devices if one.device == device), None)
    if found is None or not found.wall_s:
        return ""
    return f"{labels.seconds(found.idle_s)} idle, {labels.percent(found.idle_s / found.wall_s)}"


def _gaps(step: Step, device: str | None) -> list[GapData]:
    """The longest gaps."""
    found = next((one for one in step.devices if one.device == device), None)
    gaps = found.longest[:_MOST_GAPS] if found else ()
    return [
        GapData(
            round(gap.start_s / _TICK_S),
            round(gap.length_s / _TICK_S),
            labels.seconds(gap.length_s),
            short_name(step.kernels[gap.before].name),
            short_name(step.kernels[gap.after].name),
            gap_cause(gap),
        )
        for gap in gaps
    ]


def gap_cause(gap: Gap) -> str:
    """Why nothing ran, as far as the trace says it."""
    if gap.is_in_graph:
        return "inside a graph: the device's own"
    if gap.late_launch_s is None:
        return ""
    if not gap.late_launch_s:
        return "launched before: latency of the launch, or a dependency"
    return f"{labels.seconds(gap.late_launch_s)} before the host launched it"


def _overview(step: Step, length_s: float) -> list[list[float]]:
    """The part of each category in the time of all devices, in each of some parts of the step."""
    width_s = length_s / _BINS if length_s else 1.0
    bins: Mapping[Category, list[float]] = {category: [0.0] * _BINS for category in CATEGORIES}
    for lane in step.lanes:
        for start_s, end_s, kernel in zip(lane.starts_s, lane.ends_s, lane.kernels, strict=True):
            own = bins[step.kernels[kernel].category]
            first = min(int(start_s / width_s), _BINS - 1)
            last = min(int(end_s / width_s), _BINS - 1)
            for position in range(first, last + 1):
                own[position] += max(
                    min(end_s, (position + 1) * width_s) - max(start_s, position * width_s), 0.0
                )
    whole_s = width_s * max(len(step.devices), 1)
    sums = [max(sum(own[position] for own in bins.values()), whole_s) for position in range(_BINS)]
    return [
        [fraction(own[position] / sums[position]) for position in range(_BINS)]
        for own in bins.values()
    ]
