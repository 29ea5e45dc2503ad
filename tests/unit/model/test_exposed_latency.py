"""Exposed latency: waits for memory, and the steps of reductions and scans."""

from __future__ import annotations

import math

import pytest

from support.kernels import launched, leaves, modelled, site
from tirlens.hardware import Device, load
from tirlens.model import analyze
from tirlens.model.gpu.block.exposed_latency import reduce_clocks, scan_clocks
from tirlens.model.gpu.memory.latency import memory_state, with_loaded_latency
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Buffer,
    Copy,
    Expr,
    KernelFacts,
    Load,
    Loop,
    Node,
    Reduce,
    Scan,
    Statement,
    Store,
)

H200 = load("h200")


def idle_latency_s(device: Device) -> float:
    return with_loaded_latency(memory_state(device, ()), device, 0).dram_latency_s


def clocks_of_reduction(kernel: KernelFacts) -> float:
    compiled = modelled(kernel, H200).context.compiled
    (leaf,) = (leaf for leaf in leaves(kernel) if isinstance(leaf.source, Reduce))
    return reduce_clocks(leaf, compiled, H200.microarchitecture)


def fragment(name: str, *shape: int) -> Buffer:
    return Buffer(name, name, "float32", shape, "local.fragment")


def tile_op(
    kind: type[Reduce] | type[Scan], rows: int, columns: int, dim: int | None = 1
) -> KernelFacts:
    statement = kind(
        kind.display_name,
        (Arith("add", "float32", rows * columns),),
        (
            Access("x", "read", (0, 0), (rows, columns), route="tile"),
            Access("y", "write", (0,), (rows,), route="tile"),
        ),
        "block",
        dim=dim,
    )
    return launched((statement,), (fragment("x", rows, columns), fragment("y", rows)))


@pytest.mark.parametrize(
    "rows, columns, clocks",
    [
        # A thread's 32 dependent additions of 4 clocks; two halvings through shared memory of
        # two barriers and a load; five shuffles; row by row.
        (1, 4096, 32 * 4 + 2 * (2 * 30 + 30) + 5 * 27),
        (4, 4096, 4 * (32 * 4 + 2 * (2 * 30 + 30) + 5 * 27)),
        # 32 threads share a row: four additions and shuffles alone, whose rows overlap.
        (4, 128, 4 * 4 + 5 * 27),
        (128, 1, 4),
    ],
)
def test_reduction_clocks_follow_the_template(rows: int, columns: int, clocks: float) -> None:
    assert clocks_of_reduction(tile_op(Reduce, rows, columns)) == clocks


@pytest.mark.parametrize(
    ("copied", "clocks"),
    [
        # A thread has eight halves of a copy, so that 32 threads share a row of the sums
        # (tilelang 0.1.15: AllReduce<SumOp, 32, ...>).  It has four floats: 64 threads share one.
        ("float16", 8 * 4 + 5 * 27),
        ("float32", 2 * (4 * 4 + 2 * 30 + 30 + 5 * 27)),
    ],
)
def test_reduction_has_the_layout_of_the_copied_tile(copied: str, clocks: float) -> None:
    whole = ((0, 0), (4, 256))
    made = (Access("in", "read", *whole, route="tile"), Access("x", "write", *whole, route="tile"))
    added = (
        Access("x", "read", *whole),
        Access("sums", "read", *whole),
        Access("sums", "write", *whole),
    )
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
    assert clocks_of_reduction(launched(body, buffers)) == clocks


@pytest.mark.parametrize(
    ("threads", "clocks"),
    [
        # A thread has a row of 64; of two warpgroups each has half of the columns.
        (128, 64 * 4),
        (256, 32 * 4 + 27),
    ],
)
def test_reduction_of_tensor_memory_has_one_row_a_thread(threads: int, clocks: float) -> None:
    whole = ((0, 0), (128, 64))
    read = (Access("tmem", "read", *whole, route="tile"), Access("x", "write", *whole))
    # The vectors by which the result goes to shared memory are not those of the tile.
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
    assert clocks_of_reduction(launched(body, buffers, threads=threads)) == clocks


@pytest.mark.parametrize(
    ("dim", "lines", "length"),
    [
        (0, 256, 6),
        (1, 6, 256),
        (-1, 6, 256),
        (-2, 256, 6),
        # A dimension that is not known, or that the tile has not, may be all of it.
        (None, 1, 6 * 256),
        (2, 1, 6 * 256),
        (-3, 1, 6 * 256),
    ],
)
def test_a_scan_has_the_lines_of_its_dimension(dim: int | None, lines: int, length: int) -> None:
    """Four warps take a line each, and 32 of its values at a time."""
    (leaf,) = leaves(tile_op(Scan, 6, 256, dim))
    steps = math.ceil(lines / 4) * math.ceil(length / 32)
    sm = H200.microarchitecture
    assert scan_clocks(leaf, sm) == steps * (5 * sm.shuffle_clk + sm.shared_clk)


def test_scan_clocks_of_a_warp_for_each_line() -> None:
    (leaf,) = leaves(tile_op(Scan, 4, 256))
    assert scan_clocks(leaf, H200.microarchitecture) == 8 * (5 * 27 + 30)
    (leaf,) = leaves(tile_op(Scan, 8, 256))
    assert scan_clocks(leaf, H200.microarchitecture) == 2 * 8 * (5 * 27 + 30)


ARRAY = Buffer("X", "X", "float32", (1 << 26,), "global", is_parameter=True)


SHARED_TILE = Buffer("s", "s", "float32", (8192,), "shared.dyn")


FRAGMENT = Buffer("r", "r", "float32", (8192,), "local.fragment")


OTHER_FRAGMENT = Buffer("q", "q", "float32", (8192,), "local.fragment")


def launch(blocks: int, *body: Node) -> KernelFacts:
    return launched(body, (ARRAY, SHARED_TILE, FRAGMENT, OTHER_FRAGMENT), blocks)


def time_s(facts: KernelFacts) -> float:
    report = analyze(facts, H200)
    assert report.time_s is not None, report.message
    return report.time_s


def tile_copy(source: str, target: str, at: Expr = 0, length: int = 8192) -> Statement:
    accesses = (
        Access(source, "read", (at,), (length,), route="tile"),
        Access(target, "write", (0,), (length,), route="tile"),
    )
    return Copy(f"T.tile_copy({source}, {target})", (), accesses, "block", sites=site(3))


def load_rows(blocks: int, row: Expr, iterations: int = 64) -> KernelFacts:
    """Blocks that load 512 bytes an iteration and wait for them."""
    index: Expr = ("+", ("*", row, 128), "tx")
    barrier = Barrier("barrier", sites=site(3))
    fetch = Load("ld", (), (Access("X", "read", (index,)),), sites=site(3))
    return launch(blocks, Loop("serial", "k", 0, iterations, (fetch, barrier), sites=site(3)))


def test_blocks_that_share_a_row_wait_for_the_same_load_at() -> None:
    """Blocks that start together all wait for DRAM at each new row.  Later ones hit in L2."""
    own: Expr = ("+", ("*", "bx", 64), "k")
    # 64 iterations, with an idle memory.
    waited = 64 * idle_latency_s(H200)
    assert waited < time_s(load_rows(132, "k")) < 1.25 * waited
    # Later blocks find the rows of the first ones in L2.
    later = 132 * 256
    assert time_s(load_rows(later, "k")) < 0.8 * time_s(load_rows(later, own))


def test_port_of_the_sm_bounds_the_loads_of_its_block() -> None:
    iterations = 1000
    facts = launch(1, Loop("serial", "k", 0, iterations, (tile_copy("X", "s"),), sites=site(3)))
    assert time_s(facts) > iterations * 8192 * 4 / (64 * H200.clock_hz)


def test_a_load_waits_for_the_requests_ahead_of_it() -> None:
    """Few blocks find an idle memory, however much each loads in sequence; many do not."""
    idle_s, loaded_s = idle_latency_s(H200), H200.dram.latency_s
    waited = {
        blocks: time_s(load_rows(blocks, ("+", ("*", "bx", 4096), "k"), 4096)) / 4096
        for blocks in (4, 132 * 16)
    }
    assert idle_s < waited[4] < 1.15 * idle_s
    assert waited[132 * 16] > loaded_s
