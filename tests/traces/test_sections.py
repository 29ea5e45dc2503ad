"""Sections of traces, whatever their signposts are."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.measured.performance.sections import (
    Section,
    SectionChoice,
    SectionError,
    choose_section,
)
from tirlens.measured.reading.trace import Trace
from tirlens.measured.records import Operation, Position, Signpost


def trace(*records: Operation | Signpost) -> Trace:
    return Trace(
        Path("t"),
        "test",
        tuple(record for record in records if isinstance(record, Operation)),
        tuple(record for record in records if isinstance(record, Signpost)),
        (),
        (),
    )


def marks(text: str) -> Trace:
    """A mark for each upper case letter, and an operation for each lower case one."""
    return trace(
        *(
            Signpost(name, Position("t", row))
            if name.isupper()
            else Operation(name, Position("t", row), time_s=1e-6, gap_s=2e-6)
            for row, name in enumerate(text, 2)
        )
    )


def ranges(text: str, *spans: tuple[str, float, float], delay_s: float = 0.0) -> Trace:
    """An operation each second, launched `delay_s` before it begins."""
    return trace(
        *(
            Operation(
                name,
                Position("t", row),
                start_s=float(row),
                launched_s=row - delay_s,
                time_s=0.25,
            )
            for row, name in enumerate(text)
        ),
        *(Signpost(name, Position("t", 1), start, end) for name, start, end in spans),
    )


def names(section: Section) -> str:
    return "".join(operation.name for operation in section.operations)


@pytest.mark.parametrize(
    ("text", "choice", "expected"),
    [
        ("abc", SectionChoice(), "abc"),
        ("aAbcBd", SectionChoice(), "d"),
        # Nothing is behind the last mark: the section before it is the last.
        ("aAbcB", SectionChoice(), "bc"),
        # The last occurrence of a name counts, not the first.
        ("aAbAcAd", SectionChoice(), "d"),
        ("aAbcBd", SectionChoice(ignore=True), "abcd"),
        ("aAbcBd", SectionChoice(name="A"), "bcd"),
        ("aAbcBd", SectionChoice(start="A"), "bcd"),
        ("aAbcBd", SectionChoice(end="B"), "abc"),
        ("aAbcBd", SectionChoice(start="A", end="B"), "bc"),
        ("aAbAcAd", SectionChoice(start="A", end="A"), "b"),
        # An end before the start is no end.
        ("aBbAcBd", SectionChoice(start="A", end="B"), "c"),
        ("A", SectionChoice(), ""),
        ("", SectionChoice(), ""),
    ],
)
def test_marks(text: str, choice: SectionChoice, expected: str) -> None:
    assert names(choose_section(marks(text), choice)) == expected


@pytest.mark.parametrize(
    ("spans", "choice", "expected"),
    [
        ((("step", 0, 3), ("step", 3, 6)), SectionChoice(), "def"),
        # Ranges inside a step are no steps.
        ((("step", 0, 3), ("step", 3, 6), ("norm", 4, 5)), SectionChoice(), "def"),
        ((("main", -1, 7), ("step", 0, 3)), SectionChoice(), "abcdef"),
        # Ranges of libraries do not structure the program.
        ((("ncclAllReduce", 2, 3),), SectionChoice(), "abcdef"),
        ((("step", 0, 3), ("step", 3, 6)), SectionChoice(name="step"), "def"),
        ((("a", 0, 2), ("b", 3, 5)), SectionChoice(start="a", end="b"), "abcde"),
        ((("a", 0, 2), ("b", 3, 5)), SectionChoice(start="a", end="a"), "ab"),
        ((("a", 0, 2), ("b", 3, 5)), SectionChoice(ignore=True), "abcdef"),
    ],
)
def test_ranges(
    spans: tuple[tuple[str, float, float], ...], choice: SectionChoice, expected: str
) -> None:
    assert names(choose_section(ranges("abcdef", *spans), choice)) == expected


def test_a_kernel_belongs_to_the_range_that_launched_it() -> None:
    late = ranges("abcdef", ("step", 0, 3), ("step", 3, 6), delay_s=1.5)
    # c begins at 2 and e at 4; e was launched at 2.5, within the first range.
    assert names(choose_section(late, SectionChoice(name="step"))) == "f"


def test_the_order_of_the_host_counts_and_that_of_rows_where_a_trace_is_replayed() -> None:
    records = [
        Operation("b", Position("t", 2), order=20.0),
        Operation("a", Position("t", 3), order=10.0),
        Operation("c", Position("t", 4), order=30.0),
        Signpost("S", Position("t", 5), order=15.0),
        Operation("d", Position("t", 6), order=5.0),
    ]
    found = choose_section(trace(*records), SectionChoice())
    assert names(found) == "bc"
    found = choose_section(trace(*records), SectionChoice(by_rows=True))
    assert names(found) == "d"


def test_the_first_operation_of_a_section_has_no_gap_and_the_choice_is_said() -> None:
    section = choose_section(marks("aAbc"), SectionChoice())
    assert [operation.gap_s for operation in section.operations] == [None, 2e-6]
    assert section.note == "section 'A': 2 of 3 operations"


def test_gaps_are_from_begins_where_the_trace_has_none() -> None:
    section = choose_section(ranges("abc"), SectionChoice())
    assert [operation.gap_s for operation in section.operations] == [None, 0.75, 0.75]


def test_signposts_inside_a_section() -> None:
    section = choose_section(marks("aAbBcCd"), SectionChoice(start="A"))
    assert [(before, post.name) for before, post in section.signposts] == [(1, "B"), (2, "C")]


@pytest.mark.parametrize(
    "choice", [SectionChoice(start="X"), SectionChoice(end="X"), SectionChoice(name="X")]
)
def test_a_name_that_is_not_there_is_refused_with_those_that_are(choice: SectionChoice) -> None:
    with pytest.raises(SectionError, match="no signpost 'X'; there are: A, B"):
        choose_section(marks("aAbcBd"), choice)


def test_no_end_is_behind_the_start() -> None:
    with pytest.raises(SectionError, match="no signpost 'A' is behind 'B'"):
        choose_section(marks("AaBb"), SectionChoice(start="B", end="A"))
