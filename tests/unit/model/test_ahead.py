"""Which copies of a pipelined loop run ahead: what tilelang 0.1.15 lowers to cp.async with buffers.

``A_shared[i, j] = A[i, j]`` in a loop of three stages has three buffers, under an ``if`` too;
``T.if_then_else(guard, A[i, j], 0)`` has one, and its threads wait for their loads.
"""

from __future__ import annotations

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Expr,
    Gemm,
    KernelFacts,
    Loop,
    Node,
    Statement,
    Store,
)

TILE = 64
STAGES = 3
GUARD: Expr = ("<", "i", 60)


def facts(copy: Node) -> KernelFacts:
    rows = Loop("parallel", "i", 0, TILE, (Loop("parallel", "j", 0, TILE, (copy,)),))
    box = (TILE, TILE)
    product = Gemm(
        "T.gemm",
        (Arith("mma", "float16", TILE**3, accumulator="float32", shape=(TILE, TILE, TILE)),),
        (
            Access("s", "read", (0, 0), box, route="mma"),
            Access("c", "read", (0, 0), box, route="mma"),
            Access("c", "write", (0, 0), box, route="mma"),
        ),
        "block",
    )
    loop = Loop("pipelined", "k", 0, 32, (rows, product), annotations={"num_stages": STAGES})
    buffers = (
        Buffer("a", "a", "float16", (TILE, 32 * TILE)),
        Buffer("s", "s", "float16", box, "shared.dyn"),
        Buffer("c", "c", "float32", box, "local.fragment"),
    )
    return launched((loop,), buffers)


def element(guard: Expr | None) -> Statement:
    column = ("+", ("*", "k", TILE), "j")
    read = Access("a", "read", ("i", column), guard=guard)
    return Store("s[...]", (), (read, Access("s", "write", ("i", "j"))), "block")


@pytest.mark.parametrize(
    "copy, buffers",
    [(element(None), STAGES), (Branch(GUARD, (element(None),)), STAGES), (element(GUARD), 1)],
    ids=["plain", "if", "if_then_else"],
)
def test_buffers_of_an_element_copy(copy: Node, buffers: int) -> None:
    report = analyze(facts(copy), load("h200"))
    assert report.shared_bytes_per_block == buffers * TILE * TILE * 2


def test_a_guarded_element_is_waited_for() -> None:
    plain, guarded = (analyze(facts(element(guard)), load("h200")) for guard in (None, GUARD))
    assert plain.time_s is not None and guarded.time_s is not None
    # Each of 32 turns waits for memory, a third of a microsecond at the least.
    assert guarded.time_s - plain.time_s > 32 * 0.15e-6
