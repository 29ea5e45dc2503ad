"""Measured times beside predictions: age, edits, forms of the lens, sentences of the hover."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.ide import hovers, lenses, measured_times
from tirlens.model.report import MeasuredTime
from unit.ide.test_lenses import REPORT

NOW_S = 1.8e9
DAY_S = 86400.0
MEASURED = MeasuredTime(
    "h100-sxm", 2.61e-3, NOW_S - 3 * DAY_S, "tirlens measure",
    2.58e-3, 2.7e-3, 100, "NVIDIA H100 80GB HBM3", False,
)  # fmt: skip


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured_times.time, "time", lambda: NOW_S)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-2 * DAY_S, "in the future"), (-60, "just now"), (59, "just now"), (60, "1 minute ago"),
        (3599, "59 minutes ago"), (3600, "1 hour ago"), (DAY_S, "1 day ago"),
        (13.9 * DAY_S, "13 days ago"), (14 * DAY_S, "2 weeks ago"), (60 * DAY_S, "2 months ago"),
        (729 * DAY_S, "24 months ago"), (730 * DAY_S, "2 years ago"),
    ],
)  # fmt: skip
def test_age(seconds: float, text: str) -> None:
    assert measured_times.age(replace(MEASURED, measured_at_s=NOW_S - seconds)) == text


@pytest.mark.parametrize(
    ("is_edited", "edits", "text"),
    [
        (False, None, ""), (True, None, "edited since"), (True, 1, "1 edit since"),
        (True, 2, "2 edits since"), (None, None, "perhaps edited since"),
    ],
)  # fmt: skip
def test_edits(is_edited: bool | None, edits: int | None, text: str) -> None:
    measured = replace(MEASURED, is_edited=is_edited, edits=edits)
    assert measured_times.edits(measured) == text
    for form in measured_times.lens_forms(replace(REPORT, measured=(measured,))):
        assert form.endswith(text)


def titles(report: object, limit: int = 140) -> str:
    return " | ".join(part.title for part in lenses.parts(report, limit=limit))  # type: ignore[arg-type]


def test_the_lens_has_it_behind_the_time() -> None:
    edited = replace(MEASURED, is_edited=True, edits=2)
    report = replace(REPORT, time_s=2.47e-3, time_band_s=None, measured=(edited,))
    time = lenses.parts(report, limit=200)[0]
    text = "2.5 ms, measured 2.61 ms on h100-sxm, 3 days ago, 2 edits since"
    assert (time.title, time.action) == (text, "report")
    # The device is at the end of the lens, too.
    assert titles(report, 100).startswith("2.5 ms, measured 2.61 ms 3 days ago, 2 edits since | ")
    assert titles(report, 60).startswith("2.5 ms, measured 2.61 ms, 2 edits since | ")
    assert titles(report, 60).endswith(" | h100-sxm")


def test_a_time_of_another_device_is_in_the_hover_only() -> None:
    report = replace(REPORT, measured=(replace(MEASURED, device_id="a100"),))
    assert "measured" not in titles(report)
    assert "on a100, NVIDIA H100 80GB HBM3 by tirlens measure, 3 days ago." in hovers.kernel(report)
    assert "of it" not in hovers.kernel(report)


def test_the_hover_compares_the_prediction_of_the_same_text() -> None:
    report = replace(REPORT, time_s=2.5e-3, time_band_s=(2.4e-3, 2.8e-3), measured=(MEASURED,))
    text = (
        "Measured 2.61 ms (2.58 ms to 2.7 ms, 100 runs) on h100-sxm, NVIDIA H100 80GB HBM3 "
        "by tirlens measure, 3 days ago, predicted is 0.958 of it, inside the band."
    )
    assert text in hovers.kernel(report)
    outside = replace(report, time_band_s=(2.4e-3, 2.55e-3))
    assert "outside the band" in hovers.kernel(outside)
    edited = replace(report, measured=(replace(MEASURED, is_edited=True),))
    assert "3 days ago, edited since." in hovers.kernel(edited)
    assert "of it" not in hovers.kernel(edited)


def test_text_of_the_file_is_escaped() -> None:
    hostile = replace(MEASURED, tool="[x](command:y) <b>\x1b[31m", board="*|*")
    text = hovers.kernel(replace(REPORT, measured=(hostile,)))
    assert "\\[x\\](command:y) \\<b\\>" in text
    assert "\x1b" not in text


def test_several_calls_have_theirs() -> None:
    from tirlens.ide.history import NO_HISTORY

    edited = replace(REPORT, measured=(replace(MEASURED, is_edited=True, edits=3),))
    (first, *_) = lenses.several([(edited, NO_HISTORY), (REPORT, NO_HISTORY)], 200)
    assert ", measured 2.61 ms, 3 edits since, " in first.title


@given(st.integers(40, 140), st.sampled_from([None, 1, 25]))
def test_a_lens_never_hides_that_the_text_is_another(limit: int, edits: int | None) -> None:
    report = replace(REPORT, measured=(replace(MEASURED, is_edited=True, edits=edits),))
    text = titles(report, limit)
    assert "measured 2.61 ms" in text
    assert " since" in text
    assert text.isascii()
