"""What a block waits for: memory that others ask for too, its SM's port, code that is mixed."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, leaves, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.block.dependency_chains import is_thread_code
from tirlens.model.gpu.launch.memory_latency import with_loaded_latency
from tirlens.model.gpu.memory.l2_sharing import BlockTile, blocks_per_tile
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
    Statement,
    Store,
)

H200 = load("h200")
ARRAY = Buffer("X", "X", "float32", (1 << 26,), "global", is_parameter=True)
TILE = Buffer("s", "s", "float32", (8192,), "shared.dyn")
REGISTERS = Buffer("r", "r", "float32", (8192,), "local.fragment")
OTHERS = Buffer("q", "q", "float32", (8192,), "local.fragment")


def kernel(blocks: int, *body: Node) -> KernelFacts:
    return launched(body, (ARRAY, TILE, REGISTERS, OTHERS), blocks)


def seconds(facts: KernelFacts) -> float:
    report = analyze(facts, H200)
    assert report.time_s is not None, report.message
    return report.time_s


def copy(source: str, target: str, at: Expr = 0, length: int = 8192) -> Statement:
    accesses = (
        Access(source, "read", (at,), (length,), route="tile"),
        Access(target, "write", (0,), (length,), route="tile"),
    )
    return Copy(f"T.copy({source}, {target})", (), accesses, "block", sites=site(3))


@pytest.mark.parametrize(
    "axes, wave, blocks",
    [((0,), 128, 16), ((1,), 128, 8), ((0, 1), 128, 1), ((), 128, 128), ((0,), 4, 1), ((1,), 4, 4)],
)
def test_so_many_blocks_ask_for_the_same_bytes(
    axes: tuple[int, ...], wave: int, blocks: float
) -> None:
    assert blocks_per_tile([BlockTile(1.0, axes)], (8, 16), wave) == (blocks,)


def walk(blocks: int, at: Expr, turns: int = 64) -> KernelFacts:
    """Blocks that load 512 bytes a turn and wait for them."""
    place: Expr = ("+", ("*", at, 128), "tx")
    barrier = Barrier("barrier", sites=site(3))
    fetch = Load("ld", (), (Access("X", "read", (place,)),), sites=site(3))
    return kernel(blocks, Loop("serial", "k", 0, turns, (fetch, barrier), sites=site(3)))


def test_who_asks_for_what_is_under_way_waits_as_long() -> None:
    """Blocks that start together wait for DRAM at each new row, whoever asked for it first."""
    own: Expr = ("+", ("*", "bx", 64), "k")
    # 64 turns, of an idle memory.
    waited = 64 * with_loaded_latency(H200, 0).dram.latency_s
    assert waited < seconds(walk(132, "k")) < 1.25 * waited
    # Later blocks find in L2 what the first ones have brought.
    later = 132 * 256
    assert seconds(walk(later, "k")) < 0.8 * seconds(walk(later, own))


def test_the_port_of_an_sm_bounds_what_its_block_loads() -> None:
    turns = 1000
    facts = kernel(1, Loop("serial", "k", 0, turns, (copy("X", "s"),), sites=site(3)))
    assert seconds(facts) > turns * 8192 * 4 / (64 * H200.clock_hz)


def test_a_copy_into_registers_is_straight_code() -> None:
    copies = kernel(1, copy("s", "r"), copy("r", "q"), copy("r", "s"), copy("X", "r"))
    assert [is_thread_code(leaf) for leaf in leaves(copies)] == [True, True, False, False]


def test_a_pipeline_mixes_what_its_turns_compute() -> None:
    """Special functions and additions of two tile loops take the time of the busier unit."""

    def tile(operation: str, target: str) -> Loop:
        arith = (Arith(operation, "float32", 1),)
        accesses = (Access(target, "read", ("i",)), Access(target, "write", ("i",)))
        statement = Store(target, arith, accesses, "block", sites=site(4))
        return Loop("parallel", "i", 0, 8192, (statement,), sites=site(4))

    def turns(*parts: Node) -> float:
        body = (copy("X", "s", ("*", "k", 8192)), *parts)
        loop = Loop("pipelined", "k", 0, 1000, body, sites=site(3))
        return seconds(kernel(1, replace(loop, annotations={"num_stages": 3})))

    # Few enough that the instructions around an exponent do not make the issue slots the busiest.
    exponent, sums = tile("exp2", "r"), [tile("add", "q")] * 2
    both = turns(exponent, *sums)
    assert both < 0.9 * (turns(exponent) + turns(*sums))
    assert both == pytest.approx(max(turns(exponent), turns(*sums)), rel=0.2)


def test_a_place_of_shared_memory_that_one_thread_has_keeps_no_loads_apart() -> None:
    """A running sum in shared memory: each thread adds to its own, or to its neighbour's."""

    def scan(place: Expr) -> float:
        accesses = (
            Access("X", "read", (("+", ("*", "k", 128), "i"),)),
            Access("s", "read", (place,)),
            Access("s", "write", ("i",)),
        )
        one = Store("s", (Arith("add", "float32", 1),), accesses, "block")
        tile = Loop("parallel", "i", 0, 128, (replace(one, sites=site(4)),), sites=site(4))
        return seconds(kernel(1, Loop("serial", "k", 0, 64, (tile,), sites=site(3))))

    assert scan("i") < 0.3 * scan(("+", "i", 1))


def add_rows(kind: str, turns: int, operation: str = "add", overlaps: bool = False) -> float:
    """How long one block takes for so many turns that each load, compute and store in global."""
    place: Expr = ("+", ("*", "k", 128), "tx")
    accesses = (Access("X", "read", (place,)), Access("Y", "write", (place,)))
    one = Store("Y", (Arith(operation, "float32", 1),), accesses, sites=site(4))
    arrays = [replace(ARRAY, id=name, name=name, may_overlap=overlaps) for name in ("X", "Y")]
    barrier = Barrier("barrier", sites=site(5))
    loop = Loop(kind, "k", 0, turns, (one,), sites=site(3))
    return seconds(launched((loop, barrier), tuple(arrays), 1))


@pytest.mark.parametrize("kind", ["unroll", "serial"])
def test_no_load_is_moved_over_a_store_to_what_may_be_the_same_array(kind: str) -> None:
    turns, latency_s = 16, with_loaded_latency(H200, 0).dram.latency_s
    apart = add_rows(kind, turns, overlaps=True) - add_rows(kind, turns)
    assert apart == pytest.approx((turns - 1) * latency_s, rel=0.05)


@pytest.mark.parametrize("kind", ["unroll", "serial"])
def test_nothing_is_moved_over_the_branches_of_a_division(kind: str) -> None:
    """No turn's division begins before that of the turn before, nor does its load."""
    turns, latency_s = 16, with_loaded_latency(H200, 0).dram.latency_s
    apart = add_rows(kind, turns, "div") - add_rows(kind, turns, "mul")
    assert apart > (turns - 1) * latency_s


def test_a_load_waits_for_what_is_under_way_with_it() -> None:
    """Few blocks find memory idle, however much they load in turn; warps everywhere do not."""
    idle_s, loaded_s = with_loaded_latency(H200, 0).dram.latency_s, H200.dram.latency_s
    waited = {
        blocks: seconds(walk(blocks, ("+", ("*", "bx", 4096), "k"), 4096)) / 4096
        for blocks in (4, 132 * 16)
    }
    assert idle_s < waited[4] < 1.15 * idle_s
    assert waited[132 * 16] > loaded_s
