"""The time model: conservation, monotone behaviour, and figures known in closed form."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.kernels import gemm, scale
from tirlens.hardware import catalogue, load
from tirlens.model import analyze
from tirlens.model.counting.operation_classes import sum_operations
from tirlens.model.dtypes import tensor_class
from tirlens.model.gpu.compiler.instruction_costs import issue_operations
from tirlens.model.gpu.compiler.registers import estimate_registers
from tirlens.model.gpu.memory.l2_sharing import BlockTile, block_order, fetched_bytes
from tirlens.model.gpu.memory.tile_sequences import find_tile_sequence
from tirlens.model.gpu.occupancy.occupancy import BlockResources, occupancy
from tirlens.model.report import BreakdownEntry, KernelReport
from tirlens.model.tree.context import kernel_context
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Call,
    Expr,
    KernelFacts,
    Launch,
    Load,
    Loop,
    Store,
    While,
)


def entries(costs: tuple[BreakdownEntry, ...]) -> Iterator[BreakdownEntry]:
    for cost in costs:
        yield cost
        yield from entries(cost.children)


def conserved(report: KernelReport) -> None:
    assert report.time_s == sum(cost.time_s or 0.0 for cost in report.loops)
    assert report.flop == sum(cost.flop or 0 for cost in report.loops)
    assert report.global_bytes.total == sum(cost.global_bytes or 0 for cost in report.loops)
    for cost in entries(report.loops):
        assert cost.time_s is not None and cost.time_s >= 0, cost.label
        if cost.children:
            inside = sum(child.time_s or 0.0 for child in cost.children)
            assert inside <= cost.time_s * (1 + 1e-9), cost.label
            assert cost.flop == sum(child.flop or 0 for child in cost.children)
            assert cost.global_bytes == sum(child.global_bytes or 0 for child in cost.children)
    assert sum(cost.share or 0.0 for cost in report.loops) == pytest.approx(1.0)


@pytest.mark.parametrize("device", catalogue())
@pytest.mark.parametrize(
    "facts",
    [
        gemm(tile_n=64, tile_k=32, stages=2),
        gemm(tile_n=64, stages=0),
        gemm(256, 256, 256, tile_m=64, tile_n=64, tile_k=32),
        scale(),
        scale(scheduled=False),
    ],
    ids=["gemm", "unpipelined", "small", "scale", "loop"],
)
def test_the_breakdown_adds_up(facts: KernelFacts, device: str) -> None:
    report = analyze(facts, load(device))
    if load(device).kind == "cpu" and facts.launch.threads:
        assert report.status == "no-time"
        return
    assert report.status == "ok", report.message
    conserved(report)
    assert report.time_s is not None and report.roofline_time_s is not None
    assert report.time_s >= report.roofline_time_s * 0.99


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "mi300x", "x86-avx512"])
@pytest.mark.parametrize("facts", [gemm(), scale()], ids=["gemm", "scale"])
def test_the_time_is_the_same_without_the_breakdown(facts: KernelFacts, device: str) -> None:
    whole, short = (analyze(facts, load(device), by_line=by_line) for by_line in (True, False))
    assert whole.loops and not short.loops
    assert short.status == whole.status
    assert short.time_s == pytest.approx(whole.time_s) and short.bound == whole.bound


def test_a_coalesced_access_moves_what_it_asks_for_and_says_nothing() -> None:
    report = analyze(scale(), load("h100-sxm"))
    assert all("coalescing" not in dict(entry.details) for _, entry in report.walk())


def test_the_figures_of_a_gemm() -> None:
    report = analyze(gemm(), load("h100-sxm"))
    assert report.flop_by_class == {"tensor.float16": 2 * 4096**3}
    assert report.compulsory_bytes == 3 * 4096 * 4096 * 2
    assert report.global_bytes.write == 4096 * 4096 * 2
    assert report.global_bytes.read == 2 * 32 * 4096 * 4096 * 2
    assert report.dram_bytes.read is not None
    assert 2 * 4096 * 4096 * 2 <= report.dram_bytes.read <= report.global_bytes.read
    assert report.shared_bytes_per_block == 3 * 2 * 128 * 64 * 2
    assert report.roofline_time_s == pytest.approx(2 * 4096**3 / 989.4e12)
    (kernel, *rest) = report.loops
    assert (kernel.kind, kernel.trips, kernel.span.line) == ("grid", 1024, 3)
    assert [child.span.line for child in kernel.children] == [4, 8]
    assert {cost.kind for cost in rest} <= {"launch", "tail"}


def test_more_stages_never_hurt_and_no_pipeline_does() -> None:
    device = load("h100-sxm")
    times = [analyze(gemm(k=8192, stages=s), device).time_s or 0.0 for s in (1, 2, 3)]
    assert times == sorted(times, reverse=True)
    # With one block on an SM nothing else hides the latency of an unpipelined loop.
    alone = [analyze(gemm(1024, 1024, 8192, stages=s), device).time_s or 0.0 for s in (0, 3)]
    assert alone[0] > 1.2 * alone[1] > 0


def test_a_streaming_kernel_is_bound_by_dram() -> None:
    report = analyze(scale(1 << 26), load("h200"))
    moved = 2 * 4 * (1 << 26)
    assert report.dram_bytes.total == moved
    assert report.bound == "dram" and report.bound_class == "memory"
    # One element a thread keeps few bytes in flight: measured ones reach 0.52 to 0.95 of the rate.
    assert report.time_s is not None and 1.0 < report.time_s / (moved / 4.8e12 / 0.9) < 1.15
    assert "DRAM" in report.bound_reason


def test_unbound_variables_are_asked_for() -> None:
    report = analyze(scale("n"), load("h100-sxm"))
    assert (report.status, report.needs, report.time_s) == ("needs-bindings", ("n",), None)
    assert analyze(scale("n"), load("h100-sxm"), {"n": 4096}).flop == 4096


def test_an_assumed_size_is_said_and_gives_way_to_a_given_one() -> None:
    facts, device = replace(scale("n"), assumed={"n": 2048}), load("h100-sxm")
    report = analyze(facts, device)
    assert (report.status, report.call_source, report.bindings) == ("ok", "assumed", {"n": 2048})
    assert report.flop == 2048
    assert [note.message for note in report.caveats if "assumed" in note.message] == [
        "assumed sizes: n=2048; a comment '# tirlens: n=...' or --bind sets them"
    ]
    bound = analyze(facts, device, {"n": 4096})
    told = analyze(replace(facts, sizes={"n": 4096}), device)
    for report in (bound, told):
        assert (report.flop, report.call_source) == (4096, facts.call_source)
        assert not any("assumed" in note.message for note in report.caveats)


def test_a_function_without_threads_is_a_lower_bound_on_a_gpu() -> None:
    report = analyze(scale(1 << 24, scheduled=False), load("h100-sxm"))
    assert report.schedule == "unscheduled"
    assert report.time_s == pytest.approx(report.roofline_time_s)
    assert analyze(scale(1 << 24, scheduled=False), load("x86-avx2")).schedule == "cpu"


def test_a_lower_bound_of_nothing_known_is_unknown_and_not_zero() -> None:
    nothing = analyze(replace(scale(64, scheduled=False), body=()), load("h100-sxm"))
    assert (nothing.time_s, nothing.flop) == (None, 0)
    assert any("computes nothing and moves nothing" in note.message for note in nothing.caveats)


def test_a_lower_bound_keeps_no_unit_busy_for_longer_than_it_takes() -> None:
    report = analyze(replace(gemm(), launch=Launch()), load("h100-sxm"))
    assert report.schedule == "unscheduled"
    # A schedule would say how often L2 is asked: the bound has every byte moved once.
    assert report.dram_bytes.total == report.compulsory_bytes
    assert (report.global_bytes.total or 0) > 10 * (report.compulsory_bytes or 0)
    assert max(report.utilisation.values()) == pytest.approx(1.0)
    assert report.bound == "tensor" and report.peak_fraction == pytest.approx(1.0)
    conserved(report)


def test_equal_siblings_become_one_entry() -> None:
    facts = gemm()
    (grid,) = facts.body
    assert isinstance(grid, Loop)
    unrolled = replace(facts, body=(replace(grid, body=grid.body * 2),))
    once, twice = analyze(facts, load("h200")), analyze(unrolled, load("h200"))
    assert len(twice.loops[0].children) == len(once.loops[0].children)
    assert twice.flop == 2 * (once.flop or 0)
    conserved(twice)


def test_what_is_empty_costs_its_launch() -> None:
    rows = Buffer("E", "E", "float32", (0, 4), is_parameter=True)
    read = Access("E", "read", (0, 0))
    empty = scale()
    nothing = replace(
        empty,
        buffers=(*empty.buffers, rows),
        body=(*empty.body, Load("E", accesses=(read,))),
        launch=Launch(grid=(1,), threads=(0,)),
    )
    report = analyze(nothing, load("h100-sxm"))
    assert report.status == "ok", report.message


def test_odd_facts_give_a_report() -> None:
    odd = replace(gemm(), body=(Branch(("load", "A", 0, 0), (), ()),), launch=Launch((0,), (0,)))
    assert analyze(odd, load("h200")).status == "no-time"
    unknown = Call("mystery", arith=(Arith("unknown:mystery", "float32"),))
    report = analyze(replace(gemm(), body=(unknown,)), load("h200"))
    assert any("mystery" in note.message for note in report.caveats)


@pytest.mark.parametrize(
    ("arith", "by_class", "int_ops"),
    [
        (Arith("mma", "float16"), {"tensor.float16": 20}, 0),
        (Arith("mma", "float8_e4m3fn"), {"tensor.float8": 20}, 0),
        (Arith("mma", "int8"), {"tensor.int8": 20}, 0),
        (Arith("mma", "float16", sparsity=2), {"tensor.float16": 10}, 0),
        (Arith("add", "float32"), {"fp32": 10}, 0),
        (Arith("fma", "bfloat16"), {"bf16": 20}, 0),
        (Arith("exp", "float32"), {"sfu": 10}, 0),
        (Arith("cast", "float32"), {}, 0),
        (Arith("compare", "float32"), {}, 0),
        (Arith("select", "int32"), {}, 0),
        (Arith("add", "int32"), {}, 10),
        (Arith("add", "int32", index=True), {}, 0),
        (Arith("max", "float64"), {"fp64": 10}, 0),
    ],
)
def test_what_counts_as_an_operation(arith: Arith, by_class: dict[str, int], int_ops: int) -> None:
    found = sum_operations([(arith, 10)])
    assert (found.flop_by_class, found.int_ops) == (by_class, int_ops)


def test_adds_and_multiplies_are_contracted() -> None:
    pairs = [(Arith("mul", "float32"), 10), (Arith("add", "float32"), 7)]
    assert sum_operations(pairs).flop == 17
    assert issue_operations(pairs).instructions == {("fma", "fp32"): 10}


def test_tensor_classes() -> None:
    assert tensor_class("float32") == "tensor.tf32"
    assert tensor_class("float8_e5m2") == tensor_class("float8_e4m3fn") == "tensor.float8"
    assert (tensor_class("float64"), tensor_class("float6_e3m2fn")) == (
        "tensor.float64",
        "tensor.float6",
    )


def test_a_block_that_is_too_large_does_not_fit() -> None:
    assert occupancy(load("a100"), BlockResources(128, 200_000, 32)) is None
    report = analyze(gemm(tile_k=256, stages=4), load("a100"))
    assert any("shared memory" in note.message for note in report.caveats)
    assert report.time_s is None and report.flop is not None
    assert all(cost.time_s is None for cost in entries(report.loops))


@pytest.mark.parametrize(
    ("tile_m", "tile_n", "threads", "spills"),
    [(128, 128, 128, False), (256, 256, 256, True), (128, 256, 128, True), (128, 256, 256, False)],
)
def test_which_tiles_spill(tile_m: int, tile_n: int, threads: int, spills: bool) -> None:
    assert (
        estimate_registers(load("h100-sxm"), tile_m * tile_n * 4, threads).spilled_share > 0
    ) is spills


@pytest.mark.parametrize(("tile", "spills"), [(128, False), (256, True)])
def test_a_line_whose_fragments_spill_says_so(tile: int, spills: bool) -> None:
    report = analyze(gemm(tile_m=tile, tile_n=tile, threads=128), load("h100-sxm"))
    told = [name for cost in entries(report.loops) for name, _ in cost.details]
    assert ("local memory" in told) is spills


def test_every_block_starts_once() -> None:
    for panel in (None, 1, 3, 10):
        for order in ("row", "column"):
            x, y, z = block_order((7, 5, 2), panel, order)
            assert len(set(zip(x.tolist(), y.tolist(), z.tolist(), strict=True))) == 70


def test_panels_save_dram_traffic_on_a_large_gemm() -> None:
    slabs = [BlockTile(128 * 8192 * 2, (1,)), BlockTile(128 * 8192 * 2, (0,))]
    plain = sum(fetched_bytes(slabs, (64, 64), 132, 27e6))
    panelled = sum(fetched_bytes(slabs, (64, 64), 132, 27e6, panel=10))
    least = 2 * 8192 * 8192 * 2
    assert least <= panelled < 0.6 * plain
    assert not math.isnan(plain)


@pytest.mark.parametrize(("tall", "places"), [(1, 16), (8, 2)])
def test_blocks_that_walk_share_what_their_turns_have_in_common(tall: int, places: int) -> None:
    """Eight blocks walk over 16 tiles; tiles of one row of `tall` tiles read the same."""
    tile = ("+", ("*", "turn", 8), "bx")
    block = Loop("grid", "bx", 0, 8, (), tag="blockIdx.x")
    turns = Loop("serial", "turn", 0, 2, ())
    place = kernel_context({}).in_loop(block).in_loop(turns)
    access = Access("A", "read", (("*", ("//", tile, tall), 128), 0), (128, 64))
    walk = find_tile_sequence(access, place, (("opaque", "rows"), 64))
    assert (walk is None) == (tall == 1)
    if walk is not None:
        assert (walk.steps, walk.tile_count((8,))) == (2, places)
        assert fetched_bytes([BlockTile(100.0, (0,), walk)], (8,), 8, 1e9) == (100.0 * places,)


def test_a_loop_without_a_variable_reads_anew_each_time_it_turns() -> None:
    """What a loop reads where a register says that each of its turns sets, it reads once a turn."""
    buffers = (Buffer("A", "A", "float32", (1 << 30,)), Buffer("i", "i", "int32", (1,), "local"))
    there: Expr = ("load", "i", 0)
    read = Load("A", (), (Access("A", "read", (there,)),))
    moved = Store("i", (), (Access("i", "write", (0,)),))
    turns = While((">", there, 0), (read, moved))
    threads = Loop("block", "tx", 0, 256, (turns,), tag="threadIdx.x")
    blocks = Loop("grid", "bx", 0, 512, (threads,), tag="blockIdx.x")
    facts = replace(gemm(), buffers=buffers, body=(blocks,), variables=())
    facts = replace(facts, launch=Launch((512,), (256,)))
    few, many = (analyze(facts, load("b200"), {"while_1": turns}) for turns in (8, 64))
    assert few.dram_bytes.read and many.dram_bytes.read
    assert many.dram_bytes.read == pytest.approx(8 * few.dram_bytes.read)
    assert few.time_s and many.time_s and many.time_s > 4 * few.time_s


def test_an_array_of_negative_size_is_an_error_and_no_number() -> None:
    facts = gemm()
    buffers = (replace(facts.buffers[0], shape=(4096, -1)), *facts.buffers[1:])
    report = analyze(replace(facts, buffers=buffers), load("h100-sxm"))
    assert (report.status, report.flop) == ("error", None)
    assert "A[4096, -1]" in report.message


@pytest.mark.parametrize("threads", [128, 160, 256, 384, 512, 768, 1024])
def test_registers_never_keep_a_block_from_fitting(threads: int) -> None:
    device = load("a100-80-sxm")
    report = analyze(gemm(tile_m=256, tile_n=256, tile_k=32, stages=2, threads=threads), device)
    assert report.occupancy is not None and report.registers_per_thread is not None
    assert report.registers_per_thread * threads <= device.limits.registers_per_sm
