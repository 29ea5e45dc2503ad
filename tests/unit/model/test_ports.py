"""Which instructions fill every issue slot: products of register tiles, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from support.kernels import busy_times, instructions, launched, leaves, site
from tirlens.hardware import Device, load
from tirlens.model import analyze
from tirlens.model.gpu.compiler.register_ports import is_register_tile_product
from tirlens.model.tree.node import Leaf
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Buffer,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Store,
)

H200 = load("h200")
BUFFERS = tuple(Buffer(name, name, "float32", (64,), "local") for name in "abc")
TURNS = 1000


def kernel(
    kind: str = "unroll",
    operation: str = "fma",
    a: Expr = "i",
    b: Expr = "j",
    c: Expr = ("+", ("*", "i", 8), "j"),
) -> KernelFacts:
    """`c += a * b` over i and j, loops of this kind, again and again between barriers."""
    accesses = (
        Access("a", "read", (a,)),
        Access("b", "read", (b,)),
        Access("c", "read", (c,)),
        Access("c", "write", (c,)),
    )
    body: Node = Store("c", (Arith(operation, "float32"),), accesses, sites=site(4))
    for name in "ji":
        body = Loop(kind, name, 0, 8, (body,), sites=site(3))
    barrier = Barrier("barrier", sites=site(3))
    loop = Loop("serial", "k", 0, TURNS, (body, barrier), sites=site(2))
    return launched((loop,), BUFFERS, 10 * H200.sm_count)


def product(facts: KernelFacts) -> Leaf:
    return next(leaf for leaf in leaves(facts) if isinstance(leaf.source, Store))


def busy_s(facts: KernelFacts, device: Device) -> Mapping[str, float]:
    return busy_times(facts, device)[product(facts).number]


@pytest.mark.parametrize(
    ("facts", "keeps"),
    [
        (kernel(), True),
        # One factor of all columns is enough.
        (kernel(b=("+", ("*", "i", 8), "j")), True),
        # Each has its own, or it is no product, or each turn is by itself.
        (kernel(a=("+", ("*", "i", 8), "j"), b=("+", ("*", "i", 8), "j")), False),
        (kernel(operation="exp"), False),
        # The compiler unrolls short loops.
        (kernel(kind="serial"), True),
        (kernel(kind="pipelined"), False),
        # A sum over both loops shares its result, not its factors.
        (kernel(a=("+", ("*", "i", 8), "j"), b=("+", ("*", "j", 8), "i"), c=0), False),
    ],
)
def test_products_of_register_tiles_keep_their_factors(facts: KernelFacts, keeps: bool) -> None:
    assert (
        is_register_tile_product(
            product(facts), instructions(facts)[product(facts).number].operations
        )
        is keeps
    )


@pytest.mark.parametrize(("operation", "times"), [("fma", 1.0), ("exp", 2.0)])
def test_other_code_leaves_slots_empty_where_the_device_file_says_so(
    operation: str, times: float
) -> None:
    facts = kernel(operation=operation)
    full = replace(H200, mixed_issue_fraction=1.0)
    half = replace(H200, mixed_issue_fraction=0.5)
    busy = [busy_s(facts, device)["issue"] for device in (full, half)]
    assert busy[1] == pytest.approx(times * busy[0])


def test_between_barriers_as_well() -> None:
    def seconds(operation: str, fraction: float) -> float:
        device = replace(H200, mixed_issue_fraction=fraction)
        time_s = analyze(kernel(operation=operation), device).time_s
        assert time_s is not None
        return time_s

    assert seconds("fma", 0.5) < 1.2 * seconds("fma", 1.0)
    assert seconds("max", 0.25) > 1.5 * seconds("max", 1.0)


@pytest.mark.parametrize("threads", [1, 8])
def test_a_warp_of_few_threads_takes_the_slots_of_a_whole_one(threads: int) -> None:
    load = Access("x", "read", (("*", "k", 32),))
    total = Access("c", "write", (0,))
    body = Store("c", (Arith("exp", "float32", 8),), (load, total), sites=site(3))
    loop = Loop("serial", "k", 0, TURNS, (body,), sites=site(2))
    arrays = (*BUFFERS, Buffer("x", "x", "float32", (32 * TURNS,)))
    few, whole = (launched((loop,), arrays, 10 * H200.sm_count, size) for size in (threads, 32))
    busy, expected = (busy_s(facts, H200) for facts in (few, whole))
    assert busy["issue"] == pytest.approx(expected["issue"])
    assert busy["sfu"] == pytest.approx(expected["sfu"])


def test_a_block_of_few_threads_issues_as_fast_as_one_warp() -> None:
    """What takes the slots of a whole warp is not slowed down a second time."""
    total = Access("c", "write", (0,))
    body = Store("c", (Arith("exp", "float32", 8),), (total,), sites=site(3))
    loop = Loop("serial", "k", 0, TURNS, (body,), sites=site(2))
    facts = [launched((loop,), BUFFERS, H200.sm_count, threads) for threads in (8, 32)]
    times = [analyze(each, H200).time_s for each in facts]
    assert times[0] == pytest.approx(times[1], rel=0.02)
