"""What is said of a kernel before and after a change, and which growth is let through."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tirlens.budget import Budget
from tirlens.gate import Limits, changes, lacking_calls, limits_of, with_moves
from tirlens.gate.changed_lines import ChangedLine, Lines, changed_line
from tirlens.model.report import BreakdownEntry, KernelReport, ReadWrite
from tirlens.pipeline import FileReport
from tirlens.source import read
from tirlens_worker.facts import Built, Span
from tirlens_worker.protocol import NeedsArguments, Problem

HERE = Span(3, 0, 3, 5)
NO_WORK = {"executions": 1, "flop": 0, "global_bytes": 0, "dram_bytes": 0}
BASE = KernelReport(
    name="k", definition="k", span=HERE, framework="tvm", framework_version="0.27", call="k",
    call_source="module-level", bindings={}, device_id="h100-sxm", device_name="H100",
    time_s=100e-6, dram_bytes=ReadWrite(600, 400), compulsory_bytes=900,
    uncertainty={"rate": 0.08, "waits": 0.1},
)  # fmt: skip
SOURCE = read(
    "from tvm.script import tirx as T\n@T.prim_func\ndef k(a: T.handle):\n    pass\n"
)  # fmt: skip


def file(*kernels: KernelReport, **fields: Any) -> FileReport:
    return replace(FileReport(kernels=kernels, path="k.py", source=SOURCE), **fields)


def verdicts(before: FileReport | None, now: FileReport, limits: Limits) -> list[tuple[str, ...]]:
    return [item.verdicts for item in changes(before, now, limits)]


@pytest.mark.parametrize(
    ("now", "limits", "wanted"),
    [
        ({}, ["5%"], ("same",)),
        ({"time_s": 104e-6}, ["5%"], ("changed",)),
        ({"time_s": 106e-6}, ["5%"], ("slower",)),
        ({"time_s": 106e-6}, ["5%", "time=10%"], ("changed",)),
        ({"time_s": 106e-6}, ["dram=0%"], ("changed",)),
        ({"time_s": 106e-6}, [], ("changed",)),
        ({"time_s": 90e-6}, ["5%"], ("faster",)),
        # Its bands overlap with those of before, and the errors are the same: it counts.
        ({"time_s": 106e-6, "uncertainty": {"rate": 0.08, "waits": 0.1}}, ["5%"], ("slower",)),
        # What it waits for is known by half as well as before: that alone may make the difference.
        ({"time_s": 106e-6, "uncertainty": {"rate": 0.08, "waits": 0.5}}, ["5%"], ("unsure",)),
        ({"time_s": 250e-6, "uncertainty": {"rate": 0.08, "waits": 0.5}}, ["5%"], ("slower",)),
        # Another unit is the busiest, of whose rate as little is known.
        ({"time_s": 106e-6, "utilisation": {"l2": 0.9}}, ["5%"], ("unsure",)),
        ({"time_s": 120e-6, "utilisation": {"l2": 0.9}}, ["5%"], ("slower",)),
        ({"dram_bytes": ReadWrite(700, 400)}, ["5%"], ("more-dram",)),
        # More traffic that costs no time is no loss.
        ({"dram_bytes": ReadWrite(700, 400), "time_s": 90e-6}, ["5%"], ("faster",)),
        ({"dram_bytes": ReadWrite(700, 400), "time_s": 90e-6}, ["dram=1%"], ("faster",)),
        ({"dram_bytes": ReadWrite(700, 400)}, ["time=5%"], ("changed",)),
        ({"dram_bytes": ReadWrite(None, None)}, ["5%"], ("lost",)),
        ({"time_s": None, "status": "error"}, ["5%"], ("lost",)),
        # The call has other sizes and touches other bytes: the two times say nothing.
        ({"call": "k(8)", "compulsory_bytes": 1800, "time_s": 2e-4}, ["5%"], ("other-work",)),
        # A default of the definition is another: the call has the same text.
        ({"sizes": {"M": 8}, "compulsory_bytes": 1800, "time_s": 2e-4}, ["5%"], ("other-work",)),
        ({"device_id": "a100", "time_s": 2e-4}, ["5%"], ("other-work",)),
        # The call has another tile and touches the same bytes.
        ({"call": "k(8)", "time_s": 2e-4}, ["5%"], ("slower",)),
        ({"budget": Budget(time_s=99e-6)}, ["5%"], ("over-budget",)),
        ({"budget": Budget(time_s=100e-6, dram_bytes=1000)}, ["5%"], ("same",)),
        ({"budget": Budget(dram_bytes=999), "time_s": 2e-4}, ["5%"], ("slower", "over-budget")),
    ],
)
def test_verdicts(now: dict[str, Any], limits: list[str], wanted: tuple[str, ...]) -> None:
    found = verdicts(file(BASE), file(replace(BASE, **now)), limits_of(limits))
    assert found == [wanted]


UNREAD = replace(BASE, status="error", time_s=None)
NEEDS = NeedsArguments("k", ("M",), HERE)
OFF = read("from tvm.script import tirx as T\n# tirlens: off\n@T.prim_func\ndef k(a):\n    pass\n")
BROKEN = Problem("import", "No module named 'helper'", HERE)


@pytest.mark.parametrize(
    ("before", "now", "wanted"),
    [
        (None, file(BASE), ("new",)),
        (None, file(UNREAD), ("failed",)),
        (None, file(needs=(NEEDS,)), ("failed",)),
        (file(UNREAD), file(UNREAD), ("unknown",)),
        (file(needs=(NEEDS,)), file(needs=(NEEDS,)), ("unknown",)),
        (file(UNREAD), file(BASE), ("new",)),
        (file(BASE), file(needs=(NEEDS,)), ("lost",)),
        (file(BASE), file(problems=(BROKEN,)), ("lost",)),
        (file(BASE), file(source=read("x = (\n"), problems=(replace(BROKEN, kind="syntax"),)),
         ("lost",)),
        (file(BASE), file(source=read("x = 1\n")), ("removed",)),
        (file(BASE), file(source=OFF), ("removed",)),
    ],
)  # fmt: skip
def test_kernels_come_and_go(
    before: FileReport | None, now: FileReport, wanted: tuple[str, ...]
) -> None:
    assert verdicts(before, now, limits_of(["5%"])) == [wanted]


def test_calls_of_one_kernel_are_compared_each_with_its_own() -> None:
    small, large = replace(BASE, call="k(1)"), replace(BASE, call="k(2)", time_s=1e-3)
    found = changes(file(small, large), file(large, small), Limits(0.0, 0.0))
    assert [item.verdicts for item in found] == [("same",), ("same",)]
    found = changes(file(small, large), file(large), Limits(0.0, 0.0))
    assert [item.verdicts for item in found] == [("same",), ("lost",)]


@pytest.mark.parametrize("text", ["5", "5 percent", "speed=5%", "-5%", "time=", ""])
def test_what_is_no_limit(text: str) -> None:
    with pytest.raises(ValueError, match="no limit"):
        limits_of([text])


def test_kernels_are_paired_by_what_they_are() -> None:
    """Two definitions whose names are displayed alike, a renamed inner function, versions."""
    one = replace(BASE, name="main (fast)", definition="k")
    other = replace(BASE, name="main", definition="k", time_s=2e-3)
    (first, second) = changes(file(one, other), file(other, one), Limits(0.0, 0.0))
    assert first.verdicts == second.verdicts == ("same",)

    renamed = replace(BASE, name="body", time_s=2e-4)
    (change,) = changes(file(BASE), file(renamed), Limits(0.05, 0.05))
    assert change.verdicts == ("slower",) and change.message == "k before"

    built = Built(step="split", sequence=1, number=2)
    version = replace(BASE, definition="sch.split", built=built)
    early = replace(version, definition="sch", built=replace(built, number=0), time_s=9e-3)
    early = replace(early, is_last_version=False)
    last = replace(version, definition="sch.unroll", built=replace(built, number=3), time_s=2e-4)
    middle = replace(version, is_last_version=False)
    (change,) = changes(file(early, version), file(early, middle, last), Limits(0.05, 0.05))
    assert change.verdicts == ("slower",)


RENAMED = """from tvm.script import tirx as T
@T.prim_func
def {name}(a: T.handle):
    first()
    second()
    third()
"""


def test_a_renamed_kernel_is_no_new_one() -> None:
    slow = replace(BASE, name="norm_v2", definition="norm_v2", time_s=2e-4)
    old = replace(BASE, name="norm", definition="norm")
    before = file(old, source=read(RENAMED.format(name="norm")))
    now = file(slow, source=read(RENAMED.format(name="norm_v2").replace("second", "worse")))
    (change,) = changes(before, now, Limits(0.05, 0.05))
    assert change.verdicts == ("slower",) and change.message == "norm before"
    # Another kernel in place of one that is gone is another.
    other = read("from tvm.script import tirx as T\n@T.prim_func\ndef norm_v2(b):\n    x()\n")
    found = verdicts(before, replace(now, source=other), Limits(0.05, 0.05))
    assert sorted(found) == [("new",), ("removed",)]


def test_a_kernel_that_moves_to_another_file() -> None:
    gone = replace(file(source=read("x = 1\n")), path="old.py")
    there = replace(file(replace(BASE, time_s=2e-4)), path="new.py")
    limits = Limits(0.05, 0.05)
    found = [
        *changes(replace(file(BASE), path="old.py"), gone, limits),
        *changes(None, there, limits),
    ]
    assert [change.verdicts for change in found] == [("removed",), ("new",)]
    (change,) = with_moves(found, {"old.py": gone, "new.py": there}, limits)
    assert (change.verdicts, change.message) == (("slower",), "moved from old.py")


def test_what_is_not_compared_is_refused_only_where_something_was_edited() -> None:
    unread = file(UNREAD)
    (change,) = changes(file(UNREAD), unread, Limits())
    assert change.is_uncompared and not change.is_refused
    (change,) = changes(unread, unread, Limits())
    assert change.verdicts == ("unknown",) and not change.is_uncompared


def _calls(found: Any) -> dict[str, list[str]]:
    return {name: [item.candidate.expression for item in calls] for name, calls in found.items()}


def test_each_side_lacks_the_calls_of_the_other() -> None:
    small = replace(BASE, call="k(1)", call_source="repository")
    large = replace(BASE, call="k(2)", call_source="repository", compulsory_bytes=1800)
    lacks = lacking_calls(file(small), file(large))
    assert (_calls(lacks.before), _calls(lacks.now)) == ({"k": ["k(2)"]}, {"k": ["k(1)"]})
    # What is assumed is no call of the kernel: the other side's takes its place.
    guessed = replace(small, call_source="assumed")
    lacks = lacking_calls(file(guessed), file(large))
    assert (_calls(lacks.before), _calls(lacks.now)) == ({"k": ["k(2)"]}, {})
    assert lacks.replaced_before == {"k"}
    lacks = lacking_calls(file(large), file(guessed))
    assert (_calls(lacks.before), _calls(lacks.now)) == ({}, {"k": ["k(2)"]})
    # Another tile for the same arrays is what the comparison is of.
    lacks = lacking_calls(file(small), file(replace(small, call="k(1, tile=64)")))
    assert not lacks.before and not lacks.now
    # One of two calls is common to both.
    lacks = lacking_calls(file(small, large), file(large))
    assert (_calls(lacks.before), _calls(lacks.now)) == ({}, {"k": ["k(1)"]})
    # Before, nothing gave the kernel arguments.
    lacks = lacking_calls(file(needs=(NEEDS,)), file(large))
    assert (_calls(lacks.before), _calls(lacks.now)) == ({"k": ["k(2)"]}, {})


def leaf(label: str, line: int, time_s: float) -> BreakdownEntry:
    span = Span(line, 0, line, 9)
    return BreakdownEntry(kind="op", label=label, span=span, trips=1, time_s=time_s, **NO_WORK)


def loop(label: str, line: int, *inside: BreakdownEntry) -> BreakdownEntry:
    span = Span(line, 0, line, 9)
    time_s = sum(cost.time_s or 0.0 for cost in inside)
    return BreakdownEntry(
        kind="serial", label=label, span=span, trips=4, time_s=time_s, children=inside, **NO_WORK
    )


def named(old: str, new: str, before: KernelReport, now: KernelReport) -> ChangedLine | None:
    one, other = file(before, source=read(old)), file(now, source=read(new))
    return changed_line(before, now, Lines.between(one, other))


OLD = """from tvm.script import tirx as T
TILE = 64
@T.prim_func
def k(a: T.handle):
    use_swizzle(10)
    copy(Q, q)
    for i in range(4, stages=3):
        copy(K, s)
        gemm(s)
"""
COST = replace(
    BASE, span=Span(4, 0, 4, 5), loops=(leaf("copy", 6, 3e-5), loop("i", 7, leaf("copy", 8, 3e-5)))
)


def slower(line: int, *costs: BreakdownEntry) -> KernelReport:
    return replace(COST, span=Span(line, 0, line, 5), loops=costs)


@pytest.mark.parametrize(
    ("new", "now", "wanted"),
    [
        # The same load once more, in the loop: not the one that was there before.
        (OLD.replace("        copy(K", "        copy(Q, q)\n        copy(K"),
         slower(4, leaf("copy", 6, 3e-5),
                loop("i", 7, leaf("copy", 8, 4e-5), leaf("copy", 9, 4e-5))), 8),
        # Fewer stages: the load takes longer, the loop was edited.
        (OLD.replace("stages=3", "stages=1"),
         slower(4, leaf("copy", 6, 3e-5), loop("i", 7, leaf("copy", 8, 9e-5))), 7),
        # A loop around what is indented further.
        (OLD.replace("    copy(Q, q)", "    for r in range(16):\n        copy(Q, q)"),
         slower(4, loop("r", 6, leaf("copy", 7, 9e-5)), loop("i", 8, leaf("copy", 9, 3e-5))), 6),
        # A statement that is gone: the line after it.
        (OLD.replace("    use_swizzle(10)\n", ""),
         slower(4, leaf("copy", 5, 3e-5), loop("i", 6, leaf("copy", 7, 9e-5))), 5),
        # A constant of the module that the kernel may use; a comment beside it says nothing.
        (OLD.replace("TILE = 64", "# tiles\nTILE = 32").replace("range(4", "range(TILE // 16"),
         slower(5, leaf("copy", 7, 3e-5), loop("i", 8, leaf("copy", 9, 9e-5))), 8),
        # An imported module has changed: the statement that takes longer.
        (OLD, slower(4, leaf("copy", 6, 3e-5), loop("i", 7, leaf("copy", 8, 9e-5))), 8),
    ],
)  # fmt: skip
def test_the_line_that_is_named_is_the_one_that_was_edited(
    new: str, now: KernelReport, wanted: int
) -> None:
    line = named(OLD, new, COST, now)
    assert line is not None
    assert line.span.line == wanted
    assert "us" in line.growth


def test_a_kernel_that_takes_no_longer_has_no_such_line() -> None:
    assert named(OLD, OLD, COST, COST) is None
