"""The time of one block: dependent steps, registers that live at once, roles, unequal blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from support.kernels import gemm, launched, leaves, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.counting.kernel_counter import KernelCounter
from tirlens.model.gpu.block.exposed_latency import reduce_clocks, scan_clocks
from tirlens.model.gpu.block.warp_roles.program_builder import cluster_leader_share
from tirlens.model.gpu.block.warp_roles.roles import concurrent_groups
from tirlens.model.gpu.compiler.liveness import RegisterDemand, find_register_demand
from tirlens.model.gpu.launch.imbalance import block_times_s, imbalance_factor
from tirlens.model.gpu.launch.memory_latency import with_loaded_latency
from tirlens.model.gpu.mapping.tree import build_tree
from tirlens.model.gpu.units import busy_seconds
from tirlens.model.tree.timed_node import TimedNode
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Branch,
    Buffer,
    Call,
    Copy,
    Evaluate,
    Expr,
    Fill,
    Gemm,
    KernelFacts,
    Launch,
    Load,
    Loop,
    Mma,
    Node,
    Reduce,
    Scan,
    Statement,
    Store,
    Variable,
)

H200 = load("h200")


def fragment(name: str, *shape: int) -> Buffer:
    return Buffer(name, name, "float32", shape, "local.fragment")


def tile_op(kind: type[Reduce] | type[Scan], rows: int, columns: int) -> KernelFacts:
    statement = kind(
        kind.display_name,
        (Arith("add", "float32", rows * columns),),
        (
            Access("x", "read", (0, 0), (rows, columns), route="tile"),
            Access("y", "write", (0,), (rows,), route="tile"),
        ),
        "block",
        dim=1,
    )
    return launched((statement,), (fragment("x", rows, columns), fragment("y", rows)))


@pytest.mark.parametrize(
    "rows, columns, clocks",
    [
        # One thread's 32 dependent additions of 4 clocks; two halvings through shared memory of
        # two barriers and a load; five shuffles; row by row.
        (1, 4096, 32 * 4 + 2 * (2 * 30 + 30) + 5 * 27),
        (4, 4096, 4 * (32 * 4 + 2 * (2 * 30 + 30) + 5 * 27)),
        # 32 threads share a row: four additions and shuffles alone, whose rows overlap.
        (4, 128, 4 * 4 + 5 * 27),
        (128, 1, 4),
    ],
)
def test_a_reduction_follows_the_template(rows: int, columns: int, clocks: float) -> None:
    (leaf,) = leaves(tile_op(Reduce, rows, columns))
    assert reduce_clocks(leaf) == clocks


@pytest.mark.parametrize(
    ("copied", "clocks"),
    [
        # Eight halves of a copy lie on one thread, so that 32 threads share a row of their sums
        # (tilelang 0.1.15: AllReduce<SumOp, 32, ...>); four floats, and 64 do, in two warps.
        ("float16", 8 * 4 + 5 * 27),
        ("float32", 2 * (4 * 4 + 2 * 30 + 30 + 5 * 27)),
    ],
)
def test_a_reduction_has_the_layout_of_what_is_copied(copied: str, clocks: float) -> None:
    whole = ((0, 0), (4, 256))
    made = (Access("in", "read", *whole, route="tile"), Access("x", "write", *whole, route="tile"))
    added = (Access("x", "read", *whole), Access("sums", "update", *whole))
    reduced = (Access("sums", "read", *whole), Access("y", "write", (0,), (4,)))
    body = (
        Copy("copy", (), made, "block"),
        Store("add", (), added, "block"),
        Reduce("reduce", (), reduced, "block", dim=1),
    )
    buffers = (
        Buffer("in", "in", copied, (4, 256), "global"),
        Buffer("x", "x", copied, (4, 256), "local.fragment"),
        fragment("sums", 4, 256),
        fragment("y", 4),
    )
    (leaf,) = (leaf for leaf in leaves(launched(body, buffers)) if isinstance(leaf.source, Reduce))
    assert reduce_clocks(leaf) == clocks


@pytest.mark.parametrize(
    ("threads", "clocks"),
    [
        # A thread has a row of 64, of two warpgroups each has half of its columns.
        (128, 64 * 4),
        (256, 32 * 4 + 27),
    ],
)
def test_of_tensor_memory_a_thread_has_a_row(threads: int, clocks: float) -> None:
    whole = ((0, 0), (128, 64))
    read = (Access("tmem", "read", *whole, route="tile"), Access("x", "write", *whole))
    # The result's own vectors, by which it goes to shared memory, are not the tile's.
    kept = (Access("y", "read", (0,), (128,)), Access("s", "write", (0,), (128,), route="tile"))
    grown = (Access("x", "read", *whole), Access("y", "read", (0,), (128,)))
    body = (
        Copy("copy", (), read, "block"),
        Reduce(
            "max", (), (*grown, Access("y", "write", (0,), (128,))), "block",
            dim=1,
        ),
        Copy("store", (), kept, "block"),
    )  # fmt: skip
    buffers = (
        Buffer("tmem", "tmem", "float32", (128, 64), "shared.tmem"),
        Buffer("s", "s", "float32", (128,), "shared.dyn"),
        fragment("x", 128, 64),
        fragment("y", 128),
    )
    kernel = launched(body, buffers, threads=threads)
    (leaf,) = (leaf for leaf in leaves(kernel) if isinstance(leaf.source, Reduce))
    assert reduce_clocks(leaf) == clocks


def test_a_scan_takes_a_warp_for_a_line_and_32_values_at_a_time() -> None:
    (leaf,) = leaves(tile_op(Scan, 4, 256))
    assert scan_clocks(leaf) == 8 * (5 * 27 + 30)
    (leaf,) = leaves(tile_op(Scan, 8, 256))
    assert scan_clocks(leaf) == 2 * 8 * (5 * 27 + 30)


def step(reads: tuple[str, ...], writes: str) -> Statement:
    accesses = (
        *(Access(name, "read", (0,), (1024,)) for name in reads),
        Access(writes, "write", (0,), (1024,)),
    )
    return Store(writes, (), accesses, "block")


BARRIER = Barrier("T.tvm_storage_sync()", (), (), "block")


def test_an_array_gives_its_registers_to_the_next() -> None:
    buffers = tuple(fragment(name, 1024) for name in "abc")
    each = 1024 * 4 / 128
    chain = (step((), "a"), step(("a",), "b"), step(("b",), "c"), step(("c",), "c"))
    assert peak(launched(chain, buffers)) == each
    both = (step((), "a"), step((), "b"), step(("a", "b"), "c"), step(("c",), "c"))
    assert peak(launched(both, buffers)) == 2 * each
    # What a loop reads that was made before it must last through all of its turns.
    turns = Loop("serial", "k", 0, 4, (step(("a",), "b"), step(("b",), "c")))
    assert peak(launched((step((), "a"), turns, step(("c",), "c")), buffers)) >= 2 * each


@pytest.mark.parametrize(("first", "arrays"), [("row", 1), (0, 2)])
def test_rows_of_an_array_become_those_of_the_next(first: Expr, arrays: int) -> None:
    """A loop over the rows of tiles is unrolled; one over something else keeps both whole."""
    buffers = tuple(fragment(name, 4, 1024) for name in "ab")
    whole = Access("a", "write", (0, 0), (4, 1024))
    reads = Access("a", "read", (first, 0), (1, 1024))
    writes = Access("b", "write", (first, 0), (1, 1024))
    result = Access("b", "read", (0, 0), (4, 1024))
    used = Evaluate("let", (), (reads,), "block")
    made = Store("b", (), (writes,), "block")
    turns = Loop("serial", "row", 0, 4, (used, made))
    body = (
        Copy("a", (), (whole,), "block"),
        turns,
        Reduce("b", (), (result,), "block"),
    )
    assert peak(launched(body, buffers)) == arrays * 4 * 1024 * 4 / 128


def test_registers_of_an_array_live_apart_where_indices_are_constants() -> None:
    """A view of two registers an element; what is used up makes room before the next is made.

    Without a barrier, a thread makes and uses them one by one.
    """
    buffers = (
        Buffer("a", "a", "float32", (8,), "local"),
        Buffer("pairs", "pairs", "uint64", (4,), "local", alias_of="a"),
    )
    made = [one("pairs", "write", pair) for pair in range(4)]
    used = [one("a", "read", register) for register in range(8)]
    assert peak(launched((*made, BARRIER, *used), buffers)) == 8 * 4
    assert peak(launched((*made, *used), buffers)) == 0
    by_pairs = [part for pair in range(4) for part in (made[pair], BARRIER, *used[2 * pair :][:2])]
    assert peak(launched(tuple(by_pairs), buffers)) == 2 * 4
    at_run_time = Call("a", (), (Access("a", "read", ("tx",)),))
    assert peak(launched((*by_pairs, at_run_time), buffers)) == 8 * 4


@pytest.mark.parametrize(("turns", "arrays"), [(1, 0), (2, 1)])
def test_elements_come_and_go_up_to_the_sum_over_a_row(turns: int, arrays: int) -> None:
    """The sum over rows of products: what two turns add up has to be there in between.

    ptxas 13.0 has no stack for the first, whose arrays take four times a thread's registers.
    """
    whole = ((0, 0), (256, 256))
    names = ("o", "do", "acc", "sum")
    buffers = (*(fragment(name, 256, 256) for name in names[:3]), fragment("sum", 256))
    reduced = (Access("acc", "read", *whole), Access("sum", "write", (0,), (256,)))
    added = (*(Access(name, "read", *whole) for name in names[:2]), Access("acc", "update", *whole))
    body = (
        Fill("fill", (), (Access("acc", "write", *whole),), "block"),
        Loop(
            "serial",
            "k",
            0,
            turns,
            (step((), "o"), step((), "do"), Store("add", (), added, "block")),
        ),
        Reduce("reduce", (), reduced, "block", dim=1),
        Store("use", (), (Access("sum", "read", (0,), (256,)),), "block"),
    )
    found = live(launched(body, buffers))
    row, tile = 256 * 4 / 128, 256 * 256 * 4 / 128
    assert found.required_bytes in (arrays * tile, arrays * tile + row)
    assert found.peak_bytes >= 3 * tile


def test_a_product_is_there_as_a_whole() -> None:
    """Its elements are all made at once, and used one by one."""
    product = Gemm("gemm", (), (Access("C", "write", (0, 0), (256, 256)),), "block")
    body = (product, step(("C",), "half"), step(("half",), "out"))
    buffers = (fragment("C", 256, 256), fragment("half", 256, 256), fragment("out", 256, 256))
    assert live(launched(body, buffers)).required_bytes >= 256 * 256 * 4 / 128


def one(name: str, mode: str, index: int) -> Statement:
    return Call(name, (), (Access(name, mode, (index,)),))


def test_products_that_a_barrier_tells_the_end_of_run_beside_the_rest_of_their_loop() -> None:
    """Waits shorter than the products hide behind them, longer ones hide most of the products."""
    work = Arith("mma", "float16", 256 * 256 * 64, accumulator="float32", shape=(256, 256, 64))

    def time_s(waits: int, asynchronous: bool) -> float:
        product = Mma("m", (work,), is_asynchronous=asynchronous)
        wait = Loop("serial", "u", 0, waits, (Barrier("wait"),))
        first = Branch(("==", "tx", 0), (Loop("serial", "k", 0, 4096, (product, wait)),))
        found = analyze(launched((first,), ()), load("b200")).time_s
        assert found is not None
        return found

    alone = time_s(0, True)
    assert time_s(2, True) == pytest.approx(alone, rel=0.05)
    assert time_s(64, False) > 1.1 * time_s(64, True) > 1.5 * alone


def test_loads_that_follow_each_other_wait_for_shared_memory_once() -> None:
    """Eight loads of a thread are under way together; a barrier between them keeps them apart."""
    buffers = (Buffer("s", "s", "float32", (1024,), "shared"),)
    load_one = Load("ld", (), (Access("s", "read", ("tx",)),))
    barrier = Barrier("arrive")

    def alone_s(*body: Node) -> float:
        found = analyze(launched((Loop("serial", "k", 0, 100_000, body),), buffers), H200).time_s
        assert found is not None
        return found

    together, apart = alone_s(*[load_one] * 8), alone_s(*[load_one, barrier] * 8)
    barriers = alone_s(*[barrier] * 8)
    assert apart - barriers > 1.5 * together


def peak(facts: KernelFacts) -> float:
    return live(facts).peak_bytes


def live(facts: KernelFacts) -> RegisterDemand:
    counts = KernelCounter(facts, {}).counts()
    items = build_tree(facts, counts, {}, {item.id: item for item in facts.buffers})
    return find_register_demand(items, counts)


def branch(condition: Expr) -> Branch:
    return Branch(condition, (step((), "a"),))


@pytest.mark.parametrize(
    "conditions, groups",
    [
        ([("<", "tx", 32), (">=", "tx", 32)], 1),  # different warps
        ([("<", "tx", 32), ("and", (">=", "tx", 32), ("<", "tx", 64)), (">=", "tx", 64)], 1),
        ([("<", "tx", 64), ("<", "tx", 32)], 2),  # a warp does both
        ([("==", "tx", 0), ("==", "tx", 1)], 2),  # lanes of one warp take turns
        ([("==", "bx", 0), ("==", "bx", 1)], 2),  # conditions on the block are no roles
    ],
)
def test_branches_of_different_warps_run_at_the_same_time(
    conditions: list[Expr], groups: int
) -> None:
    facts = launched(tuple(map(branch, conditions)), (fragment("a", 1024),))
    items = build_tree(
        facts, KernelCounter(facts, {}).counts(), {}, {b.id: b for b in facts.buffers}
    )
    inner = items[0].children[0].children
    assert len(list(concurrent_groups(inner))) == groups


def test_unequal_blocks_are_given_out_in_launch_order() -> None:
    """Triangular work: block `bx` runs bx + 1 times."""
    loop = Loop("serial", "k", 0, ("+", "bx", 1), (step((), "a"),))
    facts = launched((loop,), (fragment("a", 1024),))
    (leaf,) = leaves(facts)
    costs = block_times_s(TimedNode(None, 0.0, (TimedNode(leaf, 4.5),)), (8,), None, "row")
    assert costs is not None and costs.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert imbalance_factor(costs, 8) == pytest.approx(8 / 4.5)
    # Two places: 1 2 | 3 4 | 5 6 | 7 8, each pair on the place that is free first.
    assert imbalance_factor(costs, 2) == pytest.approx(20 / 18)
    even = Loop("serial", "k", 0, 5, (step((), "a"),))
    (leaf,) = leaves(launched((even,), (fragment("a", 1024),)))
    assert block_times_s(TimedNode(None, 0.0, (TimedNode(leaf, 4.5),)), (8,), None, "row") is None


def test_the_blocks_of_a_cluster_take_as_long_as_each_other() -> None:
    """The first of two blocks issues the products of both."""
    issued = Branch(("==", ("%", "bx", 2), 0), (step((), "a"),))
    (leaf,) = leaves(launched((issued,), (fragment("a", 1024),)))
    timed = TimedNode(None, 0.0, (TimedNode(leaf, 1.0),))
    alone = block_times_s(timed, (8,), None, "row")
    assert alone is not None and alone.tolist() == [2, 0] * 4
    assert block_times_s(timed, (8,), None, "row", (2, 1, 1)) is None


def test_two_warpgroups_fill_each_others_waits() -> None:
    """The same tiles with twice the threads: a wait for the matrix unit is hidden."""
    one = analyze(gemm(8192, 8192, 8192, tile_n=256, threads=128), H200)
    two = analyze(gemm(8192, 8192, 8192, tile_n=256, threads=256), H200)
    assert one.time_s is not None and two.time_s is not None and two.time_s < 0.95 * one.time_s


def test_a_ring_of_one_buffer_hides_nothing() -> None:
    deep, flat = (analyze(gemm(stages=stages), H200).time_s or 0.0 for stages in (3, 1))
    assert flat > 1.2 * deep


def test_the_compulsory_traffic_of_a_strided_read_is_whole_sectors() -> None:
    facts = gemm()
    strided = replace(
        facts,
        body=(Loop("block", "tx", 0, 32, (strided_load(),), tag="threadIdx.x", sites=site(2)),),
        buffers=(Buffer("A", "A", "float32", (32, 64)), Buffer("r", "r", "float32", (1,), "local")),
        launch=Launch((1,), (32,)),
    )
    report = analyze(strided, H200)
    assert report.global_bytes.read == 32 * 4 and report.l2_bytes == 32 * 32


def strided_load() -> Statement:
    accesses = (Access("A", "read", ("tx", 0)), Access("r", "write", (0,)))
    return Store("r", (), accesses, sites=site(3))


def test_unequal_blocks_wait_for_a_free_place_and_for_no_round() -> None:
    # A long block holds up its own place only: the others go on with the next short ones.
    costs = np.array([9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0])
    assert imbalance_factor(costs, 2) == pytest.approx(9 / (5 * costs.mean()))
    # Rows of a causal mask, 32 blocks each: nothing but the last blocks is waited for.
    causal = np.tile(np.arange(1.0, 33.0), 256)
    equal = np.ceil(len(causal) / 132) * causal.mean()
    assert imbalance_factor(causal, 132) * equal < causal.sum() / 132 + causal.max()


def row(extent: Expr, op: str = "add") -> KernelFacts:
    """Threads that go along rows of `extent` steps, one load and one `op` at a time."""
    place: Expr = ("+", ("*", ("+", ("*", "bx", 64), "i"), 128), "tx")
    accesses = (Access("X", "read", (place,)), Access("acc", "write", (0,)))
    one = Store("acc[0] = ...", (Arith(op, "float32", 1),), accesses)
    loop = Loop("serial", "i", 0, extent, (one,), sites=site(3))
    array = Buffer("X", "X", "float32", (1 << 24,), "global", is_parameter=True)
    facts = launched((loop,), (array, Buffer("acc", "acc", "float32", (1,), "local")))
    return replace(facts, variables=(Variable("n", "int64"),))


def test_loads_of_a_loop_come_together_where_the_compiler_brings_them() -> None:
    def waits(extent: Expr) -> float:
        report = analyze(row(extent), H200, {"n": 7})
        assert report.time_s is not None, report.message
        # Of an idle memory, for these kernels move little.
        return report.time_s / with_loaded_latency(H200, 0).dram.latency_s

    # One wait, where the number is known; else for four loads and for the other three one by one.
    assert waits("n") - waits(7) == pytest.approx(3, rel=0.2)


@pytest.mark.parametrize(
    ("op", "device", "waits"),
    [("exp", "h200", 1), ("div", "h200", 8), ("sqrt", "h200", 8), ("div", "mi300x", 1)],
)
def test_no_load_is_moved_before_a_branch_of_the_arithmetic(
    op: str, device: str, waits: float
) -> None:
    """nvcc's division has a way apart for rare values; the one for AMD has not."""
    board = load(device)
    report = analyze(row(8, op), board)
    assert report.time_s is not None
    latency_s = with_loaded_latency(board, 0).dram.latency_s
    assert (report.time_s - board.launch_s) / latency_s == pytest.approx(waits, rel=0.35)


@pytest.mark.parametrize(
    ("condition", "share"),
    [
        (("==", ("%", "bx", 2), 0), 0.5),
        (("and", ("==", ("%", "bx", 4), 0), ("<", "tx", 32)), 0.25),
        (("==", ("%", "bx", 2), 1), 0.0),  # the other one follows
        (("<", "bx", 4), 0.0),
        (("==", "tx", 0), 0.0),
    ],
)
def test_the_first_block_of_a_cluster_leads(condition: Expr, share: float) -> None:
    arrays = Buffer("A", "A", "float32", (128, 64)), Buffer("r", "r", "float32", (1,), "local")
    facts = launched((Branch(condition, (strided_load(),)),), arrays, blocks=64)
    buffers = {buffer.id: buffer for buffer in facts.buffers}
    (grid,) = build_tree(facts, KernelCounter(facts, {}).counts(), {}, buffers)
    assert cluster_leader_share(grid.children[0].children[0]) == share


def test_a_product_of_half_the_rows_leaves_half_of_the_cores_idle() -> None:
    """It takes as long as one of all rows, and reads its own operands only."""
    b200 = load("b200")
    turns, columns = 4096, 64

    def busy(rows: int, filled: float) -> Mapping[str, float]:
        size = Arith("mma", "float16", rows * columns * 16, shape=(rows, columns, 16))
        product = Mma("mma", (size,), operand_bytes=(rows + columns) * 32, filled=filled)
        (leaf,) = leaves(launched((Loop("serial", "k", 0, turns, (product,)),), (), 148, 1))
        return busy_seconds(leaf, b200)

    whole, half = busy(128, 1.0), busy(64, 0.5)
    assert half["tensor"] == pytest.approx(whole["tensor"])
    clocks = turns * (128 + columns) * 32 / b200.shared_bytes_per_clk_per_sm
    assert whole["shared"] == pytest.approx(clocks / b200.clock_hz)
    assert half["shared"] == pytest.approx(whole["shared"] * (64 + columns) / (128 + columns))
