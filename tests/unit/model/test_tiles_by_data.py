"""A persistent kernel whose number of tiles is data: its roles end at the same tile."""

from __future__ import annotations

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Branch,
    Buffer,
    Copy,
    Expr,
    Gemm,
    Loop,
    Node,
    Signal,
    Statement,
)

SMS, TURNS, STAGES, TILE, STEPS = 132, 13, 2, 64, 64
# What the output has room for.
TILES = 8
SLOT = ("%", ("+", ("*", "w", STEPS), "k"), STAGES)
INSIDE: Expr = ("<", ("+", ("*", "w", SMS), "bx"), ("load", "total", 0))


def told(kind: str, barrier: str, parity: int | None = None) -> Statement:
    return Barrier(kind, signals=(Signal(kind, barrier, SLOT, STAGES, 128, parity),))


def time_s(turns: int, *, guarded: bool) -> float:
    """Of a product whose producer asks in each step whether there is a tile, and the others once.

    Unguarded, all of its `turns` are tiles.
    """

    def if_any(*body: Node) -> tuple[Node, ...]:
        return (Branch(INSIDE, body),) if guarded else body

    brings = Copy(
        "bring",
        per="block",
        accesses=(
            Access("A", "read", (("*", "bx", TILE), ("*", "k", TILE)), (TILE, TILE), route="tma"),
            Access("a", "write", (SLOT, 0, 0), (1, TILE, TILE), route="tma"),
        ),
        signals=(Signal("bring", "full", SLOT, STAGES, 128),),
    )
    product = Gemm(
        "product",
        (Arith("mma", "float16", TILE**3, accumulator="float32", shape=(TILE, TILE, TILE)),),
        (
            Access("a", "read", (SLOT, 0, 0), (1, TILE, TILE)),
            Access("c", "update", (0, 0), (TILE, TILE)),
        ),
        "block",
    )
    place: Expr = ("*", ("+", ("*", "w", SMS), "bx"), TILE)
    result = Copy(
        "result",
        per="block",
        accesses=(
            Access("c", "read", (0, 0), (TILE, TILE)),
            Access("C", "write", (place, 0), (TILE, TILE)),
        ),
    )
    fills = if_any(told("wait", "empty", 1), brings, told("arrive", "full"))
    uses = (told("wait", "full", 0), product, told("arrive", "empty"))
    producer = Loop("serial", "w", 0, turns, (Loop("serial", "k", 0, STEPS, fills),))
    tile = if_any(Loop("serial", "k", 0, STEPS, uses), result)
    consumer = Loop("serial", "w", 0, turns, tile)
    facts = launched(
        (Branch(("<", "tx", 128), (producer,), (consumer,)),),
        (
            Buffer("A", "A", "float16", (SMS * TILE, STEPS * TILE)),
            Buffer("C", "C", "float32", (SMS * TILES * TILE, TILE)),
            Buffer("total", "total", "int32", (1,)),
            Buffer("a", "a", "float16", (STAGES, TILE, TILE), "shared.dyn"),
            Buffer("c", "c", "float32", (TILE, TILE), "local.fragment"),
        ),
        SMS,
        256,
    )
    report = analyze(facts, load("h200"))
    assert report.time_s is not None
    return report.time_s


@pytest.mark.parametrize("turns", [TILES, TILES + 1, TURNS])
def test_the_tiles_that_there_are_not_cost_little(turns: int) -> None:
    assert time_s(turns, guarded=True) == pytest.approx(time_s(TILES, guarded=False), rel=0.05)
