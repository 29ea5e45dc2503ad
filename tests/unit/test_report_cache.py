"""Requirement 14: the model evaluates only kernels whose report is not cached."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from support import kernels
from tirlens import source
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport, Options, ReportCache, file_report, report_cache
from tirlens.pipeline.span_shift import LineShift, shift_spans
from tirlens_worker import codec
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

NAMES = ("first", "second", "third")
OPTIONS = Options(device="h100-sxm", force_device=True)


def facts_of(*names: str, k: int = 4096) -> tuple[KernelFacts, ...]:
    """A kernel of each name, 100 lines apart."""
    plain = replace(kernels.gemm(k=k), name="main")
    return tuple(
        at_line(replace(plain, definition=name), 100 * number) for number, name in enumerate(names)
    )


def at_line(facts: KernelFacts, shift: int) -> KernelFacts:
    return shift_spans(facts, [LineShift(1, 10_000, shift)])


def traced_again(facts: tuple[KernelFacts, ...]) -> tuple[KernelFacts, ...]:
    """Equal facts that share no object with these, as a second analysis returns them."""
    return tuple(codec.loads(KernelFacts, codec.dumps(item)) for item in facts)


@pytest.fixture
def evaluated(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The definitions that the model has evaluated, in order."""
    seen: list[str] = []
    real = report_cache.analyze

    def count(facts: KernelFacts, *rest: Any) -> KernelReport:
        seen.append(facts.definition)
        return real(facts, *rest)

    monkeypatch.setattr(report_cache, "analyze", count)
    return seen


def report_of(
    cache: ReportCache | None, facts: tuple[KernelFacts, ...], options: Options = OPTIONS
) -> FileReport:
    return file_report(source.read(""), Result(1, kernels=facts), options, "a.py", cache)


Change = Callable[[tuple[KernelFacts, ...]], tuple[KernelFacts, ...]]
CHANGES: dict[str, tuple[Change, list[str]]] = {
    "nothing": (lambda facts: facts, []),
    "traced again": (traced_again, []),
    "lines above": (lambda facts: tuple(at_line(item, 7) for item in traced_again(facts)), []),
    "lines in between": (lambda facts: (*facts[:1], *(at_line(f, 3) for f in facts[1:])), []),
    "another order": (lambda facts: facts[::-1], []),
    "one edited": (
        lambda facts: (facts[0], *facts_of("", "second", k=8192)[1:], facts[2]),
        ["second"],
    ),
    "one gone": (lambda facts: facts[:2], []),
    "one more": (lambda facts: (*facts, *facts_of("", "", "", "fourth")[3:]), ["fourth"]),
    "one lowered": (
        lambda facts: (*facts[:2], replace(facts[2], refused={"sm_90": "it does not fit"})),
        ["third"],
    ),
}


@pytest.mark.parametrize("name", CHANGES)
def test_14_only_what_has_changed_is_modelled_again(name: str, evaluated: list[str]) -> None:
    change, expected = CHANGES[name]
    cache, before = ReportCache(), facts_of(*NAMES)
    assert len(report_of(cache, before).kernels) == 3
    assert evaluated == list(NAMES)
    evaluated.clear()
    after = change(before)
    found = report_of(cache, after)
    assert evaluated == expected
    assert found == report_of(None, after), "a cached report is the one that the model would return"


@pytest.mark.parametrize(
    ("options", "again"),
    [
        (replace(OPTIONS, device="a100-80-sxm"), True),
        (replace(OPTIONS, advice=False), False),
        (replace(OPTIONS, bindings={"m": 5}), True),
        (replace(OPTIONS, time_limit_s=5.0), False),
    ],
)
def test_14_another_device_or_setting_is_another_question(
    options: Options, again: bool, evaluated: list[str]
) -> None:
    cache, facts = ReportCache(), facts_of(*NAMES)
    first = report_of(cache, facts)
    evaluated.clear()
    assert report_of(cache, facts, options) == report_of(None, facts, options)
    assert evaluated[: -len(NAMES)] == list(NAMES) * again
    evaluated.clear()
    assert report_of(cache, facts) == first
    assert evaluated == [], "each has its own report"


def test_14_the_figures_of_advice_are_those_that_were_asked_for_first(evaluated: list[str]) -> None:
    cache, facts = ReportCache(), facts_of(*NAMES)
    figures = report_of(cache, facts, replace(OPTIONS, advice=False))
    assert not any(report.advice for report in figures.kernels)
    found = report_of(cache, facts)
    assert evaluated == list(NAMES)
    assert found == report_of(None, facts)
    assert all(report.advice for report in found.kernels)


def test_14_versions_of_a_text_are_kept_side_by_side(evaluated: list[str]) -> None:
    cache, saved, pinned = ReportCache(), facts_of(*NAMES), facts_of(*NAMES, k=8192)
    for _ in range(3):
        report_of(cache, saved)
        report_of(cache, pinned)
    assert evaluated == list(NAMES) * 2


def test_14_the_cache_has_a_limit(evaluated: list[str]) -> None:
    cache, facts = ReportCache(max_kernels=2), facts_of(*NAMES)
    report_of(cache, facts)
    evaluated.clear()
    report_of(cache, facts[1:])
    assert evaluated == []
    report_of(cache, facts[:1])
    assert evaluated == ["first"]
