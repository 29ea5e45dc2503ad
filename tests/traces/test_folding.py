"""Sums of very many operations: each section has those of its own operations."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirlens.measured.performance.sections import SectionChoice, choose_section
from tirlens.measured.reading import folding
from tirlens.measured.reading.folding import Folding
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import Operation, Position, Problem, Signpost

NAMES = "abc"


@pytest.fixture(autouse=True)
def few_operations(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_OPERATIONS", 5)


def operation(name: str, start: int, time_s: float = 2.0) -> Operation:
    return Operation(
        name, Position("t", start + 1), device="0", start_s=float(start), time_s=time_s, flop=3
    )


def trace_of(operations: list[Operation], signposts: list[Signpost]) -> Trace:
    return Trace(Path("t"), "test", tuple(operations), tuple(signposts), (), ())


def folded(operations: list[Operation], signposts: list[Signpost]) -> tuple[Trace, list[Problem]]:
    sums = Folding()
    problems: list[Problem] = []
    records: list[Operation | Signpost] = [*signposts, *operations]
    for record in sorted(records, key=lambda each: each.start_s or 0.0):
        if isinstance(record, Operation):
            sums.add(record)
        elif problem := sums.add_signpost(record):
            problems.append(problem)
    return trace_of(list(sums.operations()), signposts), problems


def totals(trace: Trace, choice: SectionChoice) -> tuple[Counter[str], dict[str, float]]:
    counts: Counter[str] = Counter()
    times = dict.fromkeys(NAMES, 0.0)
    for each in choose_section(trace, choice).operations:
        counts[each.name] += each.executions
        times[each.name] += each.time_s or 0.0
    return counts, times


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(NAMES), st.integers(0, 50)), min_size=8, max_size=40),
    st.lists(st.tuples(st.integers(0, 40), st.integers(1, 20)), max_size=6),
)
def test_sections_have_the_sums_of_their_operations(
    kernels: list[tuple[str, int]], ranges: list[tuple[int, int]]
) -> None:
    operations = [operation(name, start) for name, start in sorted(kernels, key=lambda k: k[1])]
    signposts = [
        Signpost(str(number), Position("t", number + 1), float(begin), float(begin + length))
        for number, (begin, length) in enumerate(ranges)
    ]
    sums, problems = folded(operations, signposts)
    assert not problems
    whole = trace_of(operations, signposts)
    for choice in [SectionChoice(ignore=True), *(SectionChoice(name=p.name) for p in signposts)]:
        counts, times = totals(whole, choice)
        assert totals(sums, choice) == (counts, pytest.approx(times))


def test_a_sum_has_the_spread_of_its_operations() -> None:
    operations = [
        operation("a", n, time_s) for n, time_s in enumerate((1.0, 2.0, 3.0, 4.0, 5.0, 9.0))
    ]
    (found,) = folded(operations, [])[0].operations
    assert (found.executions, found.time_s, found.flop) == (6, 24.0, 18)
    assert (found.min_s, found.max_s) == (1.0, 9.0)
    assert found.deviation_s == pytest.approx(2.8284271247)


def test_operations_without_a_time_are_summed_apart() -> None:
    operations = [operation("a", n) for n in range(6)]
    operations += [Operation("a", Position("t", 9), device="0", start_s=9.0, host_time_s=1.0)] * 2
    with_time, without = folded(operations, [])[0].operations
    assert (with_time.executions, without.executions) == (6, 2)
    assert (without.time_s, without.host_time_s) == (None, 2.0)


def test_a_section_that_comes_too_late_is_said() -> None:
    sums = Folding()
    for number in range(6):
        sums.add(operation("a", number))
    late = Signpost("step", Position("t", 7), 3.0, 9.0)
    problem = sums.add_signpost(late)
    assert problem is not None
    assert "'step' is left out" in problem.message


def test_memory_is_bounded_by_sums(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folding, "MOST_SUMS", 10)
    sums = Folding()
    for number in range(1000):
        sums.add(operation(f"kernel {number}", number))
    found = list(sums.operations())
    assert len(found) == 21
    assert sum(each.executions for each in found) == 1000
    assert found[-1].name == "(operations of further kernels)"


def test_few_operations_are_kept_as_they_are() -> None:
    operations = [operation("a", number) for number in range(5)]
    assert folded(operations, [])[0].operations == tuple(operations)
