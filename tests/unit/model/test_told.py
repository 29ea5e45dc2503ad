"""A branch on a length that data decide, where a loop over it is bound by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze, workload_of
from tirlens.model.counting.data_substitution import bind_data_extents
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Call,
    Expr,
    KernelFacts,
    Launch,
    Let,
    Loop,
    Node,
    Span,
    Store,
)

LENGTH: Expr = ("-", ("load", "ends", 1), ("load", "ends", 0))
CHUNKS: Expr = ("//", ("+", LENGTH, 63), 64)


def condition(extent: Expr, asked: Expr, bindings: dict[str, int], side: str | None = None) -> Expr:
    """The condition of a branch on `asked` with its loop, in a `side` of another branch."""
    branch = Branch(asked, (Call("work"),))
    loop: Node = Loop("serial", "turn", 0, extent, (branch,))
    if side:
        loop = replace(Branch(("<", "tx", 9), ()), **{side: (loop,)})
    facts = KernelFacts(
        name="kernel",
        definition="kernel",
        span=Span(1, 0, 1, 0),
        framework="tvm",
        framework_version="",
        call="kernel",
        call_source="module-level",
        launch=Launch(),
        buffers=(),
        variables=(),
        body=(Let("chunks", CHUNKS), loop),
    )
    found = bind_data_extents(facts, bindings).body[1]
    if side:
        (found,) = getattr(found, side)
    assert isinstance(found, Loop)
    inside = found.body[0]
    assert isinstance(inside, Branch)
    return inside.condition


@pytest.mark.parametrize(
    ("extent", "asked", "known"),
    [
        (CHUNKS, ("<", ("+", "turn", 4), CHUNKS), ("<", ("+", "turn", 4), 10)),
        ("chunks", ("<", ("+", "turn", 4), "chunks"), ("<", ("+", "turn", 4), 10)),
        (("-", ("*", CHUNKS, 2), 10), ("<", "turn", CHUNKS), ("<", "turn", 10)),
        (
            CHUNKS,
            ("<", "turn", ("//", ("-", ("+", LENGTH, 64), 1), 64)),
            ("<", "turn", 10),
        ),
    ],
)
def test_a_branch_knows_the_length_that_a_loop_tells(
    extent: Expr, asked: Expr, known: Expr
) -> None:
    for side in (None, "then", "orelse"):
        assert condition(extent, asked, {"turn": 10}, side) == known


def test_another_length_stays_unknown() -> None:
    other = ("<", "turn", ("load", "lengths", 0))
    assert condition(CHUNKS, other, {"turn": 10}) == other
    # No whole number of chunks makes ten iterations of three for each.
    asked = ("<", "turn", CHUNKS)
    assert condition(("*", CHUNKS, 3), asked, {"turn": 10}) == asked
    assert condition(CHUNKS, ("<", "turn", CHUNKS), {}) == ("<", "turn", CHUNKS)


def guarded_steps() -> KernelFacts:
    """A loop over chunks of a length that data decide, all but the last four with work."""
    work = Store("y[tx] = x * 2", (Arith("mul", "float32"),), (Access("y", "write", ("tx",)),))
    branch = Branch(("<", ("+", "turn", 4), "chunks"), (work,))
    buffers = (
        Buffer("ends", "ends", "int32", (2,), is_parameter=True),
        Buffer("y", "y", "float32", (128,), is_parameter=True),
    )
    body = (Let("chunks", CHUNKS), Loop("serial", "turn", 0, "chunks", (branch,)))
    return launched(body, buffers, blocks=64, threads=128)


def test_a_workload_of_many_devices_knows_the_length_too() -> None:
    facts, device = guarded_steps(), load("h100-sxm")
    known = workload_of(facts, {"turn": 10})
    assert known is not None
    for turns in (10, 20):
        fresh = analyze(facts, device, {"turn": turns})
        assert fresh.flop == 64 * 128 * (turns - 4)
        assert analyze(facts, device, {"turn": turns}, known) == fresh
