"""Details of a kernel: the timeline of a block, the banks of shared arrays, the ceilings."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support import kernels
from support.properties import examples
from tirlens.hardware import catalogue, load
from tirlens.model import analyze
from tirlens.model.details import BlockTimeline, KernelDetails, Lane, ceilings, kernel_details
from tirlens.model.details.shared_layouts import swizzle
from tirlens_worker.facts import Access, Arith, Buffer, Loop, Store

H100 = load("h100-sxm")


def timeline(stages: int) -> BlockTimeline:
    found = kernel_details(kernels.gemm(stages=stages), H100).timeline
    assert found is not None
    return found


def lane(found: BlockTimeline, name: str) -> Lane:
    return next(one for one in found.lanes if name in one.name)


@pytest.mark.parametrize("stages", [1, 2, 3, 4])
def test_the_lanes_of_a_pipeline(stages: int) -> None:
    found = timeline(stages)
    for one in found.lanes:
        ends = [segment.end_s for segment in one.segments]
        starts = [segment.start_s for segment in one.segments]
        assert all(end <= start + 1e-12 for end, start in zip(ends, starts[1:], strict=False))
    left_out_s = sum(gap.seconds for gap in found.gaps)
    assert math.isclose(found.displayed_s + left_out_s, found.block_s, rel_tol=0.25)
    first, *_ = lane(found, "tensor").segments
    copies = lane(found, "copies").segments
    # As many tiles as there are buffers are on their way before the first product.
    loaded = {one.iteration for one in copies if one.end_s <= first.start_s}
    assert set(range(min(stages, 2))) <= loaded <= set(range(stages))
    # The tile of iteration `stages` takes the buffer of the first.
    again = next(one for one in copies if one.iteration == stages)
    assert again.start_s >= first.start_s
    # A product waits for both tiles of its iteration.
    assert max(one.complete_s or 0 for one in copies if one.iteration == 0) <= first.start_s + 1e-12


@pytest.mark.parametrize(
    ("iterations", "displayed", "left_out"),
    [(7, (0, 1, 2, 3, 4, 5, 6), 0), (8, (0, 1, 2, 3, 4, 7), 2), (64, (0, 1, 2, 3, 4, 63), 58)],
)
def test_iterations_that_fill_three_buffers_and_the_last_are_displayed(
    iterations: int, displayed: tuple[int, ...], left_out: int
) -> None:
    """Two more than there are buffers, and the last one; up to two more are displayed, too."""
    found = kernel_details(kernels.gemm(k=64 * iterations, stages=3), H100).timeline
    assert found is not None
    *copies, _ = lane(found, "copies").segments  # the last one is that of the result
    products = lane(found, "tensor").segments
    assert [one.iteration for one in copies[::2]] == list(displayed)
    assert len(products) == len(displayed)
    assert [gap.iterations for gap in found.gaps] == [left_out] * (left_out > 0)
    # Tiles of A and B have one size, and their copies are complete after the same latency.
    length_s = copies[0].end_s - copies[0].start_s
    assert all(one.end_s - one.start_s == pytest.approx(length_s) for one in copies)
    latencies_s = {round((one.complete_s or 0) - one.end_s, 12) for one in copies}
    assert len(latencies_s) == 1 and latencies_s.pop() > 0


@pytest.mark.parametrize(("trip_count", "displayed"), [(1, 1), (4, 4), (5, 3), (10, 3)])
def test_two_iterations_of_a_longer_loop_and_the_last_are_displayed(
    trip_count: int, displayed: int
) -> None:
    buffers = (Buffer("A", "A", "float32", (128,), "global", is_parameter=True),)
    access = Access("A", "write", ("tx",))
    store = Store("", (Arith("exp", "float32", 99),), (access,))
    loop = Loop("serial", "k", 0, trip_count, (store,))
    found = kernel_details(kernels.launched((loop,), buffers), H100).timeline
    assert found is not None
    assert found.displayed_s == pytest.approx(found.block_s * displayed / trip_count)
    hidden = trip_count - displayed
    assert [gap.iterations for gap in found.gaps] == [hidden] * (hidden > 0)
    assert sum(gap.seconds for gap in found.gaps) == pytest.approx(
        found.block_s * hidden / trip_count
    )


def test_more_stages_wait_less() -> None:
    waits = [
        sum(one.end_s - one.start_s for one in lane(timeline(stages), "warps").segments
            if one.kind == "wait" and one.iteration is not None)
        for stages in (1, 3)
    ]  # fmt: skip
    assert waits[1] < waits[0]


def test_a_kernel_without_a_time_has_no_timeline() -> None:
    refused = kernels.gemm(tile_m=1024, tile_n=1024)
    assert analyze(refused, H100).time_s is None
    assert kernel_details(refused, H100).timeline is None


def test_code_that_is_no_gpu_kernel_has_no_details() -> None:
    cpu = next(device for device in map(load, catalogue()) if device.kind == "cpu")
    assert kernel_details(kernels.scale(scheduled=False), H100) == KernelDetails()
    assert kernel_details(kernels.gemm(), cpu) == KernelDetails()


def test_a_swizzle_removes_the_conflicts_of_an_operand() -> None:
    layouts = {one.array: one for one in kernel_details(kernels.gemm(), H100).shared_layouts}
    assert set(layouts) == {"A_shared", "B_shared"}
    operand = next(one for one in layouts["A_shared"].accesses if one.is_matrix_operand)
    assert layouts["A_shared"].is_swizzled and layouts["A_shared"].panel_bytes == 128
    assert operand.row_by_row.wavefronts == 8
    assert {bank for _, bank, _ in operand.row_by_row.cells} == {0, 1, 2, 3}
    assert operand.swizzled is not None and operand.swizzled.wavefronts == 1
    assert {bank for _, bank, _ in operand.swizzled.cells} == set(range(32))


def test_rows_that_no_panel_fits_have_no_swizzle() -> None:
    layout, *_ = kernel_details(kernels.gemm(k=4104, tile_k=12), H100).shared_layouts
    assert layout.panel_bytes is None and not layout.is_swizzled
    assert all(access.swizzled is None for access in layout.accesses)


@examples(50)
@given(
    rows=st.integers(1, 24), panels=st.integers(1, 3), panel=st.sampled_from([32, 64, 128])
)  # fmt: skip
def test_a_swizzle_is_a_permutation(rows: int, panels: int, panel: int) -> None:
    size = rows * panels * panel
    assert sorted(swizzle(at, panels * panel, rows, panel) for at in range(size)) == list(
        range(size)
    )


@pytest.mark.parametrize("panel", [32, 64, 128])
def test_eight_rows_of_a_chunk_are_in_all_banks(panel: int) -> None:
    starts = [swizzle(row * panel, panel, 8, panel) for row in range(8)]
    assert len({start % 128 // 16 for start in starts}) == 8


def test_ceilings() -> None:
    found = ceilings(H100, {"tensor.float16": 10, "fp32": 0})
    assert [one.level for one in found.bandwidths] == ["dram", "l2", "shared"]
    rates = [one.bytes_per_s for one in found.bandwidths]
    # 132 SMs move 128 bytes in a clock.
    shared = 132 * 128 * H100.clock_hz
    assert rates == [H100.dram.bytes_per_s, H100.l2.bytes_per_s, pytest.approx(shared)]
    assert rates == sorted(rates)
    on_cpu = ceilings(load("x86-avx2"), {})
    assert [one.level for one in on_cpu.bandwidths] == ["dram", "l2"]
    assert [(one.arithmetic_class, one.is_used) for one in found.peaks] == [
        ("tensor.float16", True),
        ("fp32", False),
    ]


def test_an_unknown_kernel_has_no_details() -> None:
    broken = replace(kernels.gemm(), buffers=())
    assert kernel_details(broken, H100).timeline is None


def test_the_first_arrays_and_accesses_are_displayed() -> None:
    """Eight arrays of two dimensions, with four accesses of different lines."""
    names = ["rows", "flat", *(f"s{number}" for number in range(9))]
    shapes = {"flat": (4096,)}
    buffers = tuple(
        Buffer(name, name, "float32", shapes.get(name, (128, 32)), "shared") for name in names
    )
    loads = [
        Store("load", (), (Access("rows", "read", ("tx", 0)),), sites=kernels.site(line))
        for line in (5, 6, 6, 7, 8, 9)
    ]
    others = [
        Store("store", (), (Access(name, "write", ("tx",) if name == "flat" else ("tx", 0)),))
        for name in names[1:]
    ]
    found = kernel_details(kernels.launched((*loads, *others), buffers), H100).shared_layouts
    assert [one.array for one in found] == ["rows", *(f"s{number}" for number in range(7))]
    assert [one.line for one in found[0].accesses] == [5, 6, 7, 8]
    assert all(len(one.accesses) == 1 for one in found[1:])
    # Rows of 128 bytes: all lanes of a column are in one bank.
    assert found[0].accesses[0].row_by_row.wavefronts == 32
    assert {bank for _, bank, _ in found[0].accesses[0].row_by_row.cells} == {0}
