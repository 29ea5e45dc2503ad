"""The timeline of a block as data, small enough for pages of many kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tirlens.ide import labels
from tirlens.ide.report_page.axes import fraction, linear_ticks
from tirlens.ide.report_page.chart_schema import Lane, Segment, Tick, Timeline

if TYPE_CHECKING:
    from tirlens.model.details import BlockTimeline, Gap

KINDS = ("copy", "product", "code", "barrier", "wait")


class _Texts:
    """Texts that segments share, each once."""

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        return self._numbers.setdefault(text, len(self._numbers))

    @property
    def texts(self) -> list[str]:
        """All texts by their numbers."""
        return list(self._numbers)


def timeline_data(timeline: BlockTimeline) -> Timeline:
    """The lanes of a block.

    The kind of a segment is a number of `KINDS`, its text and duration are numbers of ``texts``;
    positions are fractions of the displayed time.
    """
    texts = _Texts()
    whole_s = timeline.displayed_s
    lanes: list[Lane] = [
        {
            "name": lane.name,
            "segments": [
                Segment(
                    KINDS.index(one.kind),
                    fraction(one.start_s / whole_s),
                    fraction(one.end_s / whole_s),
                    texts.number(" ".join(one.label.split())),
                    texts.number(labels.seconds(one.end_s - one.start_s)),
                    one.line or 0,
                    -1 if one.iteration is None else one.iteration,
                    0 if one.complete_s is None else fraction(min(one.complete_s / whole_s, 1.0)),
                )
                for one in lane.segments
            ],
        }
        for lane in timeline.lanes
    ]
    return {
        "kinds": list(KINDS),
        "texts": texts.texts,
        "lanes": lanes,
        "gaps": [Tick(fraction(gap.at_s / whole_s), _gap_text(gap)) for gap in timeline.gaps],
        "ticks": [
            Tick(fraction(at_s / whole_s), labels.seconds(at_s + _left_out_s(timeline, at_s)))
            for at_s in linear_ticks(whole_s)
        ],
        "title": _title(timeline),
    }


def _left_out_s(timeline: BlockTimeline, at_s: float) -> float:
    return sum(gap.seconds for gap in timeline.gaps if gap.at_s < at_s)


def _gap_text(gap: Gap) -> str:
    seconds = labels.seconds(gap.seconds)
    return f"{labels.count(gap.iterations, 'iteration')}, {seconds}" if gap.iterations else seconds


def _title(timeline: BlockTimeline) -> str:
    block = labels.seconds(timeline.block_s)
    if timeline.part:
        return f"{timeline.part}: {labels.seconds(timeline.displayed_s)} of the block's {block}"
    left_out_s = sum(gap.seconds for gap in timeline.gaps)
    if not left_out_s:
        return f"one block alone on its SM: {block}"
    return f"one block alone on its SM: {block}, of which {labels.seconds(left_out_s)} are left out"
