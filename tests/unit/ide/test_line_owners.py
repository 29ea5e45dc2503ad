"""Which of several kernels owns a line of the text, without a framework."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.ide import lenses
from tirlens.ide.line_owners import line_owners, owner_at, title
from tirlens.model import analyze
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens.model.totals import module_totals
from tirlens_worker.facts import Built, Span

REPORT = analyze(gemm(), load("h200"))


def entry(line: int, time_s: float, *children: BreakdownEntry, kind: str = "op") -> BreakdownEntry:
    return BreakdownEntry(
        kind=kind,
        label=f"line {line}",
        span=Span(line, 0, line, 20),
        trips=None,
        executions=1,
        flop=100,
        global_bytes=20,
        dram_bytes=10.0,
        time_s=time_s,
        share=0.5,
        bound="dram",
        children=children,
        sites=(Span(line, 0, line, 20),),
    )


def kernel(
    definition: str, line: int, *loops: BreakdownEntry, built: Built | None = None, call: str = ""
) -> KernelReport:
    return replace(
        REPORT,
        name=definition,
        definition=definition,
        span=Span(line, 0, line, 9),
        loops=loops,
        time_s=sum(loop.time_s or 0.0 for loop in loops),
        built=built,
        call=call,
        bindings={},
    )


def names(reports: list[KernelReport]) -> dict[int, str]:
    found = {line: owner.report.name for owner in line_owners(reports) for line in owner.lines}
    for line, name in found.items():
        owner = owner_at(reports, line)
        assert owner is not None and owner.name == name
    return found


def version(line: int, number: int, *lines: int) -> KernelReport:
    loops = [entry(one, 1e-6 / number) for one in lines]
    return kernel(f"sch{line}", line, *loops, built=Built("bind", 0, number))


def test_the_last_version_owns_the_lines_that_versions_have_in_common() -> None:
    reports = [version(10, 1, 3, 4), version(12, 2, 3, 4, 12), version(14, 3, 3)]
    assert names(reports) == {3: "sch14", 4: "sch12", 12: "sch12"}


def test_a_statement_that_builds_an_old_version_again_owns_none_of_its_lines() -> None:
    again = kernel("mod", 20, entry(3, 1e-6), built=Built("IRModule", same_as=Span(8, 0, 8, 9)))
    reports = [kernel("func", 8, entry(3, 1e-6), built=Built("create_prim_func")), again]
    assert names([*reports, version(12, 2, 3)]) == {3: "sch12"}
    assert names(reports) == {3: "func"}


def test_the_kernels_of_one_statement_own_a_line_together() -> None:
    one = kernel("conv", 5, entry(5, 2e-6), built=Built("export", entry="main"))
    other = kernel("relu", 5, entry(5, 1e-6), built=Built("export", entry="main", calls=3))
    (owner,) = line_owners([one, other])
    (cost,) = owner.report.loops
    assert owner.lines == {5}
    assert owner.report.time_s == pytest.approx(5e-6)
    assert (cost.time_s, cost.share) == (pytest.approx(5e-6), 1.0)
    assert (cost.flop, cost.dram_bytes) == (400, 40.0)
    assert [part.label for part in cost.children] == ["conv", "relu"]
    assert [part.time_s for part in cost.children] == pytest.approx([2e-6, 3e-6])
    assert title(owner.report) == "conv (2 kernels), line 5"


def test_a_kernel_of_a_statement_owns_the_lines_that_only_it_has() -> None:
    one = kernel("conv", 5, entry(2, 2e-6), entry(3, 1e-6), built=Built("export"))
    other = kernel("relu", 5, entry(3, 1e-6), built=Built("export"))
    assert names([one, other]) == {2: "conv", 3: "2 kernels"}
    owner = owner_at([one, other], 3)
    assert owner is not None
    assert owner.loops[0].share == 2e-6 / 4e-6


def test_an_unknown_time_makes_no_sum() -> None:
    unknown = replace(entry(5, 1e-6), time_s=None)
    reports = [kernel("a", 5, entry(5, 2e-6), built=Built("x"))]
    reports.append(replace(reports[0], name="b", loops=(unknown,), time_s=None))
    (owner,) = line_owners(reports)
    assert owner.report.time_s is None
    assert owner.report.loops[0].time_s is None
    assert owner.report.loops[0].flop == 200


def test_other_calls_of_a_factory_are_alternatives() -> None:
    reports = [
        kernel("build", 1, entry(3, 1e-6), call="build(1)"),
        kernel("build", 1, entry(3, 9e-6), call="build(2)"),
    ]
    owner = owner_at(reports, 3)
    assert owner is reports[0]


def test_two_kernels_that_call_one_macro_own_its_line_together() -> None:
    reports = [kernel("a", 1, entry(30, 1e-6)), kernel("b", 9, entry(30, 2e-6), entry(11, 1e-6))]
    assert names(reports) == {30: "2 kernels", 11: "b"}


def test_the_outermost_entries_of_a_line_are_summed() -> None:
    nested = entry(5, 2e-6, entry(5, 2e-6), kind="serial")
    one = kernel("a", 5, nested, entry(5, 1e-6), built=Built("x"))
    (owner,) = line_owners([one, replace(one, name="b")])
    assert owner.report.loops[0].time_s == 6e-6


def test_launch_and_tail_are_on_no_line() -> None:
    reports = [kernel("a", 5, entry(6, 1e-6), entry(5, 1e-6, kind="launch"))]
    assert names(reports) == {6: "a"}
    assert owner_at(reports, 5) is None


def test_times_on_two_devices_have_no_sum() -> None:
    one = kernel("conv", 5, entry(5, 2e-6), built=Built("export", entry="main"))
    other = replace(one, name="relu", device_id="x86-avx2")
    (same,) = module_totals([one, replace(one, name="relu")])
    (mixed,) = module_totals([one, other])
    assert same.time_s == pytest.approx(4e-6)
    assert mixed.time_s is None and mixed.flop == same.flop
    owner = owner_at([one, other], 5)
    assert owner is not None
    assert owner.time_s is None and owner.loops[0].time_s is None
    assert lenses.totals([mixed])[-1].title == f"{one.device_id}, x86-avx2"
