"""Straight code: the chain that a thread waits along, and which loads start together."""

from __future__ import annotations

import pytest

from support.kernels import launched, leaves, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.block.dependency_chains import longest_chain_s
from tirlens.model.gpu.block.exposed_latency import chain_clocks
from tirlens.model.tree.timed_node import TimedNode
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Call,
    Evaluate,
    Expr,
    Load,
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


def seconds(*body: Node) -> float:
    report = analyze(launched(body, BUFFERS, 1), B200)
    assert report.time_s is not None, report.message
    return report.time_s


def add(reads: Expr, writes: Expr) -> Statement:
    accesses = (Access("r", "read", (reads,)), Access("r", "write", (writes,)))
    return Call("add", (Arith("add", "float32", 1),), accesses, sites=site(3))


def named() -> Statement:
    return Evaluate("let", (), (Access("X", "read", ("tx",)),), sites=site(3))


@pytest.mark.parametrize(
    "body, links",
    [
        ([add(0, 0), add(0, 0), add(0, 0)], 3),
        ([add(0, 1), add(2, 3), add(4, 5)], 1),
        ([add(0, 1), add(1, 2), add(3, 4)], 2),
        # A new value in a register needs nothing of the old one.
        ([add(0, 1), add(1, 2), add(3, 1), add(1, 4)], 2),
        # A place that is not known may be any.
        ([add(0, 1), add("tx", 2), add(2, 3)], 3),
        ([add(0, "tx"), add(1, 2)], 2),
        # What a load names is for what stands behind it, not for what stood before.
        ([named(), add(0, 1)], 2),
        ([add(0, 1), named()], 1),
        ([named(), add(0, 1), add(2, 3)], 2),
    ],
)
def test_the_longest_chain(body: list[Statement], links: int) -> None:
    parts = [TimedNode(leaf, 1.0) for leaf in leaves(launched(tuple(body), BUFFERS))]
    assert longest_chain_s(parts, lambda part: part.own_s) == links


def test_the_steps_of_an_element_are_all_of_its_instructions() -> None:
    def steps(*arith: Arith) -> float:
        written = (Access("Y", "write", ("tx",)),)
        (leaf,) = leaves(launched((Store("Y", arith, written, sites=site(3)),), BUFFERS))
        return chain_clocks(leaf)

    one = steps(Arith("mul", "float32", 1))
    assert steps(Arith("mul", "float32", 3)) == 3 * one
    assert steps(Arith("mul", "float32", 3), Arith("exp2", "float32", 1)) > 3 * one


def test_copies_that_do_not_need_each_other_take_no_longer_than_a_loop_of_them() -> None:
    apart = seconds(*(add(number, 32 + number) for number in range(32)))
    chain = seconds(*(add(number, number + 1) for number in range(32)))
    assert apart < 0.999 * chain


def fetch(buffer: str, at: Expr, register: int) -> Statement:
    accesses = (Access(buffer, "read", (("+", "tx", at),)), Access("r", "write", (register,)))
    return Load(f"T.ptx.ld({buffer})", (), accesses, sites=site(3))


def put(at: int) -> Statement:
    accesses = (Access("r", "read", (0,)), Access("Y", "write", (("+", "tx", at),)))
    return Store("T.ptx.st(Y)", (), accesses, sites=site(4))


def test_loads_start_together_with_those_of_a_short_branch_and_not_behind_a_store() -> None:
    first, second = fetch("X", 0, 0), fetch("X", 4096, 1)
    alone = seconds(first)
    branch = Branch(("!=", "bx", 1), (second,), (), sites=site(3))
    assert seconds(first, branch) == pytest.approx(alone, rel=0.01)
    latency_s = B200.l2.latency_s / 4
    assert seconds(first, put(8192), second) > seconds(first, second, put(8192)) + latency_s


def test_turns_that_store_keep_their_loads_apart() -> None:
    load_one = fetch("X", ("*", "i", 4096), 0)
    turns = Loop("unroll", "i", 0, 4, (load_one, put(8192)), sites=site(3))
    apart = Loop("unroll", "i", 0, 4, (load_one,), sites=site(3))
    assert seconds(turns) > seconds(apart, put(8192)) + 2 * B200.l2.latency_s / 4
