"""Measured kernels find those of the workspace, and never silently a wrong one."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.measured.groups import Group
from tirlens.measured.groups import group_operations as groups_of
from tirlens.measured.matching.matches import Matcher
from tirlens.measured.matching.outcomes import Ambiguous, Candidate, Match, Unanalysed, Unmatched
from tirlens.measured.records import Operation, Position, Tensor
from tirlens.model.report import ArrayShape, KernelReport, SequenceLaunch
from tirlens_worker.facts import Span


def report(
    name: str = "gemm",
    call: str = "matmul(1024)",
    grid: tuple[int, ...] = (8, 8),
    threads: int | None = 256,
    shared_bytes: int | None = 32800,
    shapes: tuple[tuple[int, ...] | None, ...] = ((1024, 1024),) * 3,
    **others: object,
) -> KernelReport:
    made = KernelReport(
        name=name,
        definition="matmul",
        span=Span(4, 0, 4, 0),
        framework="tilelang",
        framework_version="0.1.15",
        call=call,
        call_source="call-site",
        bindings={},
        device_id="h100-sxm",
        device_name="H100",
        grid=grid,
        threads_per_block=threads,
        shared_bytes_per_block=shared_bytes,
        launch_facts="lowered",
        arrays=tuple(ArrayShape("A", "float16", shape) for shape in shapes),
        flop=sum(map(len, shapes[:1])) if shapes[0] else None,
        time_s=1e-5,
    )
    return replace(made, **others)  # type: ignore[arg-type]


def measured(name: str = "gemm_kernel", **fields: object) -> Group:
    launch = Operation(name, Position("t.csv", 2), time_s=1e-5, **fields)  # type: ignore[arg-type]
    (group,) = groups_of([launch]).all()
    return group


LAUNCH = {"grid": (8, 8, 1), "block": (256, 1, 1)}
GEMM = Candidate("gemm.py", report())


def match(group: Group, *candidates: Candidate, unanalysed: tuple[Unanalysed, ...] = ()) -> object:
    return Matcher(candidates, unanalysed).match(group)


@pytest.mark.parametrize(
    ("group", "evidence"),
    [
        (measured(**LAUNCH), ("name", "grid", "block")),
        (measured(grid=(8, 8, 1), block=(32, 8, 1)), ("name", "grid", "block")),
        (measured("gemm_kernel0", **LAUNCH), ("name", "grid", "block")),
        (measured("gemm", inputs=(Tensor((1024, 1024)),) * 3), ("name", "arguments")),
        (
            measured(inputs=(Tensor((1024, 1024)),) * 2, outputs=(Tensor((1024, 1024)),)),
            ("name", "arguments"),
        ),
    ],
)
def test_a_launch_that_agrees_is_matched(group: Group, evidence: tuple[str, ...]) -> None:
    found = match(group, GEMM)
    assert isinstance(found, Match)
    assert (found.candidate, found.evidence) == (GEMM, evidence)


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        (measured("ampere_fp16_gemm", **LAUNCH), "no kernel of the files has this name"),
        (measured("gemm_kernel(__half *, float const *)", **LAUNCH), "has this name"),
        (measured("void gemm_kernel<float>(float*)", **LAUNCH), "has this name"),
        (measured("gemm_kernel_1", **LAUNCH), "launch 2 of its function, which launches once"),
        (measured(grid=(64, 8, 1), block=(256, 1, 1)), "its grid is 64x8x1, not 8x8x1"),
        (measured(grid=(8, 8, 1), block=(128, 1, 1)), "128 threads, not 256"),
        (measured("gemm", inputs=(Tensor((8, 8)),) * 3), r"its arguments are \[8x8\], "),
        (measured(kind="copy", **LAUNCH), "it is no kernel: copy"),
    ],
)
def test_what_differs_is_no_match_and_says_why(group: Group, reason: str) -> None:
    found = match(group, GEMM)
    assert isinstance(found, Unmatched)
    assert re.search(reason, found.reason), found.reason


def test_a_name_alone_is_not_enough() -> None:
    found = match(measured(), GEMM)
    assert isinstance(found, Ambiguous)
    assert "neither its grid and block nor its arguments" in found.reason


def test_a_name_alone_is_enough_for_the_only_call_that_a_capture_has() -> None:
    captured = Candidate("gemm.py", report(call_source="captured"))
    found = match(measured(), captured)
    assert isinstance(found, Match)
    assert found.evidence == ("name", "capture")
    other = Candidate("gemm.py", report(call_source="captured", call="matmul(2048)", flop=9))
    assert isinstance(match(measured(), captured, other), Ambiguous)


def test_two_calls_with_the_same_launch_are_ambiguous() -> None:
    deeper = Candidate("gemm.py", report(call="matmul(1024, K=4096)", flop=9))
    found = match(measured(**LAUNCH), GEMM, deeper)
    assert isinstance(found, Ambiguous)
    assert found.titles == ("gemm.py: matmul(1024)", "gemm.py: matmul(1024, K=4096)")


def test_another_call_of_the_kernel_that_fits_is_the_match() -> None:
    large = Candidate("gemm.py", report(call="matmul(8192)", grid=(64, 64), flop=9))
    found = match(measured(grid=(64, 64, 1), block=(256, 1, 1)), GEMM, large)
    assert isinstance(found, Match)
    assert found.candidate is large


def test_shared_memory_decides_between_launches_that_are_equal_otherwise() -> None:
    staged = Candidate("gemm.py", report(call="matmul(1024, stages=3)", shared_bytes=49184))
    found = match(measured(**LAUNCH, shared_bytes=49184), GEMM, staged)
    assert isinstance(found, Match)
    assert found.candidate is staged
    assert isinstance(match(measured(**LAUNCH, shared_bytes=7), GEMM, staged), Ambiguous)


def test_a_kernel_that_is_not_analysed_cannot_be_excluded() -> None:
    other = Unanalysed("b.py", frozenset({"gemm"}), "needs M, N")
    found = match(measured(**LAUNCH), GEMM, unanalysed=(other,))
    assert isinstance(found, Ambiguous)
    assert found.titles == ("gemm.py: matmul(1024)", "b.py: gemm, not analysed: needs M, N")


def test_the_same_kernel_by_two_calls_is_one() -> None:
    again = Candidate("gemm.py", report(call="matmul(N=1024)"))
    assert isinstance(match(measured(**LAUNCH), GEMM, again), Match)


def test_each_launch_of_a_sequence_is_matched_with_its_own_prediction() -> None:
    first = SequenceLaunch((16, 1, 1), 256, 0, 1e-6, None, None, "dram")
    second = SequenceLaunch((32, 1, 1), 128, 0, 2e-6, None, None, "dram")
    both = Candidate("split.py", report("split", grid=(16,), sequence=(first, second)))
    found = match(measured("split_kernel_1", grid=(32, 1, 1), block=(128, 1, 1)), both)
    assert isinstance(found, Match)
    assert found.launch is second
    # The launch of the first, by the name of the second.
    found = match(measured("split_kernel_1", grid=(16, 1, 1), block=(256, 1, 1)), both)
    assert isinstance(found, Unmatched)
    # The grid of one launch is not that of the function.
    assert isinstance(match(measured("split", **LAUNCH), both), Ambiguous)


def test_threads_before_lowering_are_no_contradiction() -> None:
    source = Candidate("gemm.py", report(launch_facts="source", threads=128))
    found = match(measured(**LAUNCH), source)
    assert isinstance(found, Ambiguous)
    assert isinstance(match(measured(grid=(9, 8, 1), block=(256, 1, 1)), source), Unmatched)


TABLE = {"file": "kernels/gemm.py", "kernel": "matmul", "call": "matmul(1024)"}


def test_assumed_arguments_neither_fit_nor_are_they_excluded() -> None:
    assumed = Candidate("b.py", report(call="f(64)", grid=(9,), assumed={"n": "64"}))
    found = match(measured(**LAUNCH), GEMM, assumed)
    assert isinstance(found, Ambiguous)
    assert found.titles == ("gemm.py: matmul(1024)", "b.py: f(64), arguments assumed")
    found = match(measured(**LAUNCH), Candidate("gemm.py", report(call_source="assumed")))
    assert isinstance(found, Ambiguous)
    assert "its arguments are assumed" in found.reason


@pytest.mark.parametrize(
    ("attributes", "path", "outcome"),
    [
        (TABLE, "kernels/gemm.py", Match),
        (TABLE, "/home/x/kernels/gemm.py", Match),
        (TABLE, "gemm.py", Match),
        (TABLE, "other/gemm.py", Unmatched),
        ({**TABLE, "call": "matmul(2048)"}, "gemm.py", Unmatched),
        ({**TABLE, "bindings": "M=4"}, "gemm.py", Unmatched),
        ({**TABLE, "kernel": "gemm"}, "gemm.py", Unmatched),
    ],
)
def test_a_table_of_measurements_names_file_and_call(
    attributes: dict[str, str], path: str, outcome: type
) -> None:
    found = match(measured("matmul", attributes=attributes), Candidate(path, report()))
    assert type(found) is outcome


# Random workspaces of few names, so that many kernels are alike.

KERNELS = st.builds(
    report,
    name=st.sampled_from(["main", "main_kernel", "gemm"]),
    call=st.sampled_from(["f(1)", "f(2)", "f(3)"]),
    grid=st.sampled_from([(8, 8), (8, 1), (132,), ()]),
    threads=st.sampled_from([128, 256, None]),
    shared_bytes=st.sampled_from([0, 1024, None]),
    shapes=st.sampled_from([((8, 8), (8, 8)), ((8, 8), (16, 8)), (None, (8, 8))]),
    call_source=st.sampled_from(["call-site", "captured", "assumed"]),
    launch_facts=st.sampled_from(["source", "lowered"]),
    flop=st.sampled_from([1, 2]),
)
WORKSPACES = st.lists(
    st.builds(Candidate, st.sampled_from(["a.py", "b.py"]), KERNELS), min_size=1, max_size=6
)
KNOWN = st.sets(st.sampled_from(["grid", "block", "shared_bytes", "inputs"]))


def executed(candidate: Candidate, known: set[str], is_whole: bool) -> Group | None:
    """The measured kernel that an execution of `candidate` gives, with the fields in `known`."""
    kernel = candidate.report
    fields: dict[str, object] = {}
    if "grid" in known and kernel.grid:
        fields["grid"] = (*kernel.grid, 1, 1)[:3]
    if "block" in known and kernel.threads_per_block is not None:
        fields["block"] = (kernel.threads_per_block // 2, 2, 1)
    if "shared_bytes" in known and kernel.shared_bytes_per_block is not None:
        fields["shared_bytes"] = kernel.shared_bytes_per_block
    if "inputs" in known and all(array.shape is not None for array in kernel.arrays):
        fields["inputs"] = tuple(Tensor(array.shape) for array in kernel.arrays)
    return measured(kernel.name if is_whole else f"{kernel.name}_kernel", **fields)


@given(WORKSPACES, st.integers(0, 5), KNOWN, st.booleans())
def test_a_match_is_the_kernel_that_was_executed(
    workspace: list[Candidate], chosen: int, known: set[str], is_whole: bool
) -> None:
    truth = workspace[chosen % len(workspace)]
    found = match(executed(truth, known, is_whole), *workspace)
    if isinstance(found, Match):
        same = replace(truth.report, call="", call_source="", launch_facts="", time_s=0)
        chosen_report = replace(
            found.candidate.report, call="", call_source="", launch_facts="", time_s=0
        )
        assert (found.candidate.path, chosen_report) == (truth.path, same)
    else:
        assert isinstance(found, Ambiguous)
        assert truth.title in found.titles or any(
            title.startswith(truth.path) for title in found.titles
        )


@given(WORKSPACES, st.integers(0, 5), KNOWN, st.booleans())
def test_a_kernel_that_is_missing_is_matched_only_with_an_equal_launch(
    workspace: list[Candidate], chosen: int, known: set[str], is_whole: bool
) -> None:
    truth = workspace.pop(chosen % len(workspace))
    group = executed(truth, known, is_whole)
    found = match(group, *workspace)
    if isinstance(found, Match):
        kernel = found.candidate.report
        assert kernel.name == truth.report.name or {kernel.name, truth.report.name} == {
            "main",
            "main_kernel",
        }
        identity = group.identity
        if identity.grid and kernel.grid:
            assert identity.grid == (*kernel.grid, 1, 1)[:3]
        if "capture" not in found.evidence:
            assert {"grid", "block"} <= set(found.evidence) or "arguments" in found.evidence
