"""Dependency chains of straight-line code, and interleaved instructions."""

from __future__ import annotations

import pytest

from support.kernels import instructions, launched, leaves, site, workload
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.block.dependency_chains import is_thread_code, longest_chain_s
from tirlens.model.gpu.block.exposed_latency import chain_clocks
from tirlens.model.gpu.block.memory_parallelism import (
    address_arrays,
    is_straight_line,
    loaded_arrays,
)
from tirlens.model.tree.timed_node import TimedNode
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Call,
    Copy,
    Evaluate,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Statement,
    Store,
)

B200 = load("b200")


BUFFERS = (
    Buffer("X", "X", "float32", (1 << 20,), "global", is_parameter=True),
    Buffer("Y", "Y", "float32", (1 << 20,), "global", is_parameter=True),
    Buffer("r", "r", "float32", (64,), "local"),
)


def block_time_s(*body: Node) -> float:
    report = analyze(launched(body, BUFFERS, 1), B200)
    assert report.time_s is not None, report.message
    return report.time_s


def add(reads: Expr, writes: Expr) -> Statement:
    accesses = (Access("r", "read", (reads,)), Access("r", "write", (writes,)))
    return Call("add", (Arith("add", "float32", 1),), accesses, sites=site(3))


def evaluate_load() -> Statement:
    return Evaluate("let", (), (Access("X", "read", ("tx",)),), sites=site(3))


def load_to(target: str, index: Expr) -> Statement:
    accesses = (Access("X", "read", ("tx",)), Access(target, "write", (index,)))
    return Evaluate("load", (), accesses, sites=site(3))


STORE_LOADED = Store("Y", (), (Access("X", "read", ("tx",)), Access("Y", "write", ("tx",))))


@pytest.mark.parametrize(
    "body, links",
    [
        ([add(0, 0), add(0, 0), add(0, 0)], 3),
        ([add(0, 1), add(2, 3), add(4, 5)], 1),
        ([add(0, 1), add(1, 2), add(3, 4)], 2),
        # A new value in a register does not depend on the old one.
        ([add(0, 1), add(1, 2), add(3, 1), add(1, 4)], 2),
        # An index that is not constant may be any.
        ([add(0, 1), add("tx", 2), add(2, 3)], 3),
        ([add(0, "tx"), add(1, 2)], 2),
        # The code after a load without a register depends on it, the code before does not.
        ([evaluate_load(), add(0, 1)], 2),
        ([add(0, 1), evaluate_load()], 1),
        ([evaluate_load(), add(0, 1), add(2, 3)], 2),
        # What is loaded to a register, or stored, is no operand of other code.
        ([load_to("r", 5), add(0, 1)], 1),
        ([load_to("r", 5), add(5, 1)], 2),
        ([STORE_LOADED, add(0, 1)], 1),
    ],
)
def test_longest_chain(body: list[Statement], links: int) -> None:
    parts = [TimedNode(leaf, 1.0) for leaf in leaves(launched(tuple(body), BUFFERS))]
    assert longest_chain_s(parts, lambda part: part.own_s) == links


@pytest.mark.parametrize(
    ("node", "is_straight"),
    [
        # A branch of up to twenty instructions is predicated: here a load, and sums.
        (Branch(("<", "tx", 64), (load_to("r", 1), *[add(0, 1)] * 19)), True),
        (Branch(("<", "tx", 64), (load_to("r", 1), *[add(0, 1)] * 20)), False),
        (Branch(("<", "tx", 64), (load_to("r", 1),), tuple([add(0, 1)] * 20)), False),
        (Branch(("<", ("load", "X", "tx"), 64), (add(0, 1),)), False),
        # An unrolled loop has the instructions of all iterations.
        (Branch(("<", "tx", 64), (Loop("unroll", "k", 0, 5, (add(0, 1),) * 4),)), True),
        (Branch(("<", "tx", 64), (Loop("unroll", "k", 0, 7, (add(0, 1),) * 3),)), False),
        (Loop("unroll", "k", 0, 100, (add(0, 1),)), True),
        (Loop("unroll", "k", 0, 100, (Loop("serial", "j", 0, 900, (add(0, 1),)),)), False),
        (Loop("serial", "k", 0, 900, (add(0, 1),)), False),
        # The compiler unrolls a short one.
        (Loop("serial", "k", 0, 2, (add(0, 1),)), True),
    ],
)
def test_code_without_a_jump(node: Node, is_straight: bool) -> None:
    counted = workload(launched((node,), BUFFERS))
    (grid,) = counted.tree
    (inner,) = grid.children[0].children
    assert is_straight_line(inner, counted.instructions) == is_straight


def test_arrays_of_loads_and_of_their_addresses() -> None:
    """An address that is stored to holds up no load."""
    accesses = (
        Access("X", "read", (("load", "Y", "tx"),)),
        Access("Y", "write", (("load", "X", "tx"),)),
        Access("r", "read", (("load", "r", 0),)),
    )
    (leaf,) = leaves(launched((Evaluate("", (), accesses),), BUFFERS))
    assert address_arrays(leaf) == {"Y"}
    assert loaded_arrays(leaf) == {"X"}


def test_chain_clocks_add_up_over_the_instructions_of_an_element() -> None:
    def steps(*arith: Arith) -> float:
        written = (Access("Y", "write", ("tx",)),)
        kernel = launched((Store("Y", arith, written, sites=site(3)),), BUFFERS)
        (leaf,), (row,) = leaves(kernel), instructions(kernel)
        return chain_clocks(leaf, row, load("h200").microarchitecture)

    one = steps(Arith("mul", "float32", 1))
    assert steps(Arith("mul", "float32", 3)) == 3 * one
    assert steps(Arith("mul", "float32", 3), Arith("exp2", "float32", 1)) > 3 * one


def test_independent_instructions_are_faster_than_a_dependency_chain() -> None:
    apart = block_time_s(*(add(number, 32 + number) for number in range(32)))
    chain = block_time_s(*(add(number, number + 1) for number in range(32)))
    assert apart < 0.999 * chain


ARRAY = Buffer("X", "X", "float32", (1 << 26,), "global", is_parameter=True)


SHARED_TILE = Buffer("s", "s", "float32", (8192,), "shared.dyn")


FRAGMENT = Buffer("r", "r", "float32", (8192,), "local.fragment")


OTHER_FRAGMENT = Buffer("q", "q", "float32", (8192,), "local.fragment")


def launch(blocks: int, *body: Node) -> KernelFacts:
    return launched(body, (ARRAY, SHARED_TILE, FRAGMENT, OTHER_FRAGMENT), blocks)


def tile_copy(source: str, target: str, at: Expr = 0, length: int = 8192) -> Statement:
    accesses = (
        Access(source, "read", (at,), (length,), route="tile"),
        Access(target, "write", (0,), (length,), route="tile"),
    )
    return Copy(f"T.tile_copy({source}, {target})", (), accesses, "block", sites=site(3))


def test_copies_between_registers_and_shared_memory_are_thread_code() -> None:
    copies = launch(
        1, tile_copy("s", "r"), tile_copy("r", "q"), tile_copy("r", "s"), tile_copy("X", "r")
    )
    assert [is_thread_code(leaf) for leaf in leaves(copies)] == [True, True, False, False]
