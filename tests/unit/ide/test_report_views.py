"""Hints, lenses, hovers and diagnostics of a report."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tirlens.ide import diagnostics, hints, hovers, terms
from tirlens.model.report import BreakdownEntry, CaveatNote, KernelReport, ReadWrite
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Problem


def cost(
    label: str, line: int, share: float | None, *children: BreakdownEntry, **fields: Any
) -> BreakdownEntry:
    given: dict[str, Any] = {
        "kind": "serial" if children else "op",
        "span": Span(line, 4, fields.pop("end_line", line), 40),
        "trips": 32 if children else None,
        "executions": 64,
        "flop": 10**9,
        "global_bytes": 10**6,
        "dram_bytes": 5e5,
        "time_s": None if share is None else share * 1e-4,
        "bound": "tensor",
    }
    return BreakdownEntry(label=label, share=share, children=children, **{**given, **fields})


REPORT = KernelReport(
    name="main",
    definition="matmul",
    span=Span(3, 0, 3, 20),
    framework="tilelang",
    framework_version="0.1.15",
    call="matmul(8192, 8192, 1024, block_M=128)",
    call_source="directive",
    bindings={},
    device_id="h100-sxm",
    device_name="NVIDIA H100 SXM5 80 GB",
    flop=137438953472,
    dram_bytes=ReadWrite(10**9, 21 * 10**7),
    time_s=87.1e-6,
    bound="tensor",
    peak_fraction=0.71,
    loops=(
        cost("grid", 4, 0.97, cost("loop", 6, 0.93, cost("copy", 7, 0.3), cost("gemm", 8, 0.63))),
        cost("launch", 3, 0.03, kind="launch", flop=0, global_bytes=0, dram_bytes=0.0),
    ),
)


def test_hints_one_a_line_without_the_launch() -> None:
    assert [(hint.line, hint.label) for hint in hints.hints(REPORT)] == [
        (4, "97 us 97% | 1 GFLOP | 500 kB"),
        (6, "93 us 93% | 1 GFLOP | 500 kB"),
        (7, "30 us 30% | 1 GFLOP | 500 kB"),
        (8, "63 us 63% | 1 GFLOP | 500 kB"),
    ]


def test_nodes_of_one_line_are_merged_and_not_counted_twice() -> None:
    inner = cost("j", 4, 0.5, cost("a", 5, 0.2), cost("b", 5, 0.3))
    found = hints.hints(replace(REPORT, loops=(cost("i", 4, 0.5, inner),)))
    assert [(hint.line, hint.label) for hint in found] == [
        (4, "50 us 50% | 1 GFLOP | 500 kB"),
        (5, "50 us 50% | 2 GFLOP | 1 MB"),
    ]


def test_a_line_that_repeats_the_line_around_it_has_no_hint() -> None:
    ops = cost("a", 8, 0.3), cost("b", 9, 0.6)
    nest = cost("by", 4, 0.9, cost("bx", 5, 0.9, cost("tx", 6, 0.9, *ops)))
    found = hints.hints(replace(REPORT, loops=(nest,)))
    assert [hint.line for hint in found] == [4, 8, 9]


def test_levels_that_move_nothing_have_no_row_in_a_hover() -> None:
    quiet = cost("x", 5, 0.5, dram_bytes=0.0, flop=None, l2_bytes=0.0, shared_bytes=0.0)
    found = hovers.hover([replace(REPORT, loops=(quiet,))], 5, 4)
    assert found is not None
    assert "/#flop) | ? FLOP |" in found.markdown
    assert all(f"[{level}](" not in found.markdown for level in ("DRAM", "L2", "shared memory"))


def test_small_and_foreign_lines_have_no_hint() -> None:
    foreign = replace(cost("x", 9, 0.5), span=Span(9, 0, 9, 5, file="/lib/macro.py"))
    assert hints.hints(replace(REPORT, loops=(cost("y", 5, 0.009), foreign))) == []


def test_unknown_time_is_not_zero() -> None:
    (hint,) = hints.hints(replace(REPORT, loops=(cost("x", 5, None),)))
    assert hint.label == "1 GFLOP | 500 kB"


def test_statement_of_several_lines_stands_on_its_first() -> None:
    (hint,) = hints.hints(replace(REPORT, loops=(cost("x", 5, 0.5, end_line=7),)))
    assert (hint.line, hint.last_line) == (5, 7)


def test_hover_says_the_verdict_first() -> None:
    found = hovers.hover([REPORT], 6, 10)
    assert found is not None
    lines = found.markdown.splitlines()
    link = f"[tensor cores]({terms.SITE}glossary/#bound-compute)"
    assert lines[0] == f"**`loop`**: 93 us, 93% of matmul (main), limited by {link}."
    assert lines[4:6] == [
        "| `gemm` | 8 | 63 us | 63% | tensor cores |",
        "| `copy` | 7 | 30 us | 30% | tensor cores |",
    ]
    trips = next(index for index, line in enumerate(lines) if line.endswith("/#trips) | 32 |"))
    made = next(index for index, line in enumerate(lines) if line.startswith("For `matmul(8192, "))
    assert 5 < trips < made
    assert lines[made].endswith("NVIDIA H100 SXM5 80 GB (h100-sxm), tilelang 0.1.15.")


def test_hover_on_the_definition_is_the_kernel() -> None:
    found = hovers.hover([REPORT], 3, 0)
    assert found is not None
    assert found.markdown.startswith("**matmul (main)**: 87 us, [tensor cores 71% of peak](")
    assert hovers.hover([REPORT], 5, 0) is None


def test_hover_cannot_be_broken_by_the_text() -> None:
    report = replace(REPORT, loops=(cost("a | `b`\n<img>", 5, 0.5),))
    found = hovers.hover([report], 5, 4)
    assert found is not None
    assert found.markdown.startswith("**`a \\| 'b' <img>`**")


def test_macro_line_names_both_places() -> None:
    sites = (Span(5, 4, 5, 9), Span(30, 4, 30, 9, file="/lib/macro.py"))
    found = hovers.hover([replace(REPORT, loops=(cost("x", 5, 0.5, sites=sites),))], 5, 4)
    assert found is not None
    assert "Called at line 5, written at line 30 of `/lib/macro.py`." in found.markdown


def test_what_stopped_the_file_is_said_once() -> None:
    place = Span(9, 0, 9, 4)
    problems = (
        Problem("timeout", "too long", place),
        Problem("timeout", "not reached", Span(2, 0, 2, 4), kernel="a"),
        Problem("trace", "bad", Span(3, 0, 3, 4), kernel="b"),
    )
    found = [(item.span.line, item.code) for item in diagnostics.of_problems(problems)]
    assert found == [(9, "timeout"), (3, "trace")]


def test_caveats_are_hints_at_their_lines() -> None:
    caveats = (CaveatNote("bound is data", Span(6, 0, 6, 4)), CaveatNote("of the kernel"))
    (found,) = diagnostics.of_report(replace(REPORT, caveats=caveats))
    assert (found.span.line, found.severity, found.message) == (6, "hint", "bound is data")


def test_a_hint_without_room_leaves_it_to_the_loop_inside() -> None:
    """Of loops with one label the outermost that has room has the hint."""
    innermost = cost("k1", 7, 0.5, cost("x", 8, 0.5))
    nest = cost("bx", 4, 0.5, cost("tx", 5, 0.5, cost("k0", 6, 0.5, innermost)))
    report = replace(REPORT, loops=(nest,))
    label = "50 us 50% | 1 GFLOP | 500 kB"

    def lines_of(*long: int, columns: int = 60) -> list[tuple[int, str]]:
        text = ["x" * (columns if line in long else 10) for line in range(1, 10)]
        found = hints.file_hints([report], text, hints.HintOptions(columns=columns))
        return [(hint.line, hint.label) for hint in found]

    assert lines_of() == [(4, label)]
    assert lines_of(4) == [(5, label)]
    assert lines_of(4, 5, 6) == [(7, label)]
    assert lines_of(5) == [(4, label)]
    # What a loop has room for is said there, the rest where there is room for it.
    text = ["x" * 10] * 3 + ["x" * 45] + ["x" * 10] * 5
    found = hints.file_hints([report], text, hints.HintOptions(columns=60))
    assert [(hint.line, hint.label) for hint in found] == [(4, "50 us 50%"), (5, label)]
