"""A branch on a length that data decide, where a loop over it is bound by hand."""

from __future__ import annotations

import pytest

from tirlens.model.counting.data_substitution import bind_data_extents
from tirlens_worker.facts import Branch, Call, Expr, KernelFacts, Launch, Let, Loop, Span

LENGTH: Expr = ("-", ("load", "ends", 1), ("load", "ends", 0))
CHUNKS: Expr = ("//", ("+", LENGTH, 63), 64)


def condition(extent: Expr, asked: Expr, bindings: dict[str, int]) -> Expr:
    branch = Branch(asked, (Call("work"),))
    loop = Loop("serial", "turn", 0, extent, (branch,))
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
    assert condition(extent, asked, {"turn": 10}) == known


def test_another_length_stays_unknown() -> None:
    other = ("<", "turn", ("load", "lengths", 0))
    assert condition(CHUNKS, other, {"turn": 10}) == other
    assert condition(CHUNKS, ("<", "turn", CHUNKS), {}) == ("<", "turn", CHUNKS)
