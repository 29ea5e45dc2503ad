"""The oracle against answers worked out by hand."""

from __future__ import annotations

import pytest

from support.interpreter import DataDependentError, Tally, bits, evaluate, run
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Copy,
    KernelFacts,
    Launch,
    Let,
    Loop,
    Map,
    Node,
    Span,
    Store,
    Variable,
)


def kernel(*body: Node, buffers: tuple[Buffer, ...] = ()) -> KernelFacts:
    return KernelFacts(
        name="main",
        definition="main",
        span=Span(1, 0, 1, 0),
        framework="tvm",
        framework_version="0",
        call="main",
        call_source="module-level",
        variables=(Variable("N"),),
        buffers=buffers,
        launch=Launch(),
        body=body,
    )


def loop(kind: str, var: str, extent: object, *body: Node) -> Loop:
    return Loop(kind=kind, var=var, start=0, extent=extent, body=body)  # type: ignore[arg-type]


A = Buffer("A", "A", "float16", ("N",), is_parameter=True)


def test_a_tile_copy_moves_only_what_is_inside() -> None:
    copy = Copy(
        "",
        accesses=(Access("A", "read", (("*", "b", 8),), (8,), clipped=True),),
        per="block",
    )
    facts = kernel(
        loop("grid", "b", ("//", ("+", "N", 7), 8), loop("block", "t", 32, copy)), buffers=(A,)
    )
    tally = run(facts, {"N": 21})
    assert tally.bytes(facts, "read") == 21 * 2
    assert len(tally.touched["A"]) == 21
    assert tally.executions[0, 0, 0] == 3
    assert tally.reached[0, 0, 0] == 3 * 32


@pytest.mark.parametrize(("per", "executions"), [("thread", 64 * 5), ("warp", 2 * 5), ("block", 5)])
def test_who_executes(per: str, executions: int) -> None:
    work = Map("", arith=(Arith("add", "float32", count=4),), per=per)
    facts = kernel(loop("block", "t", 64, loop("serial", "k", 5, work)))
    tally = run(facts, {})
    assert tally.executions[0, 0, 0] == executions
    assert tally.operations["add", "float32"] == 4 * executions


def test_a_block_wide_statement_behind_a_thread_condition_runs_once() -> None:
    work = Map("", arith=(Arith("add", "float32"),), per="block")
    facts = kernel(loop("block", "t", 64, Branch(("<", "t", 3), (work,))))
    assert run(facts, {}).operations["add", "float32"] == 1


def test_lets_guards_and_the_other_side_of_a_branch() -> None:
    work = Store("", arith=(Arith("exp", "float32", guard=("==", ("%", "v", 2), 0)),))
    other = Store("", arith=(Arith("mul", "float32", count="i"),))
    facts = kernel(
        loop("serial", "i", 7, Let("v", ("+", "i", 1)), Branch(("<", "v", 5), (work,), (other,)))
    )
    tally = run(facts, {})
    assert tally.operations == {("exp", "float32"): 2, ("mul", "float32"): 4 + 5 + 6}
    assert tally.executions[0, 1, 0] == 4
    assert tally.executions[0, 1, 1] == 3


def test_data_is_asked_for_and_not_invented() -> None:
    work = Store("", arith=(Arith("add", "float32"),))
    facts = kernel(Branch((">", ("load", "A", 0), 0), (work,)), buffers=(A,))
    with pytest.raises(DataDependentError):
        run(facts, {"N": 4})
    assert run(facts, {"N": 4}, unknown=1).operations["add", "float32"] == 1


def test_a_gather_issues_bytes_at_addresses_nobody_knows() -> None:
    gather = Store("", accesses=(Access("A", "read", (("load", "A", 0),), lanes=4),))
    facts = kernel(gather, buffers=(A,))
    tally: Tally = run(facts, {"N": 4})
    assert tally.bytes(facts, "read") == 8
    assert not tally.touched["A"]


@pytest.mark.parametrize(
    ("expr", "value"),
    [
        (("//", -7, 2), -4),
        (("truncdiv", -7, 2), -3),
        (("truncmod", -7, 2), -1),
        (("%", -7, 2), 1),
        (("select", ("<", "x", 4), 1, ("//", 1, 0)), 1),
        (("and", ("<", "x", 0), ("==", ("//", 1, 0), 0)), False),
        (("cast", "int32", ("/", 7.0, 2.0)), 3),
        (("min", 3, ("^", 6, 5)), 3),
    ],
)
def test_expressions(expr: object, value: object) -> None:
    assert evaluate(expr, {"x": 3}) == value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("dtype", "width"),
    [("float16", 16), ("int4", 4), ("float32x4", 128), ("float8_e4m3fn", 8), ("bool", 8)],
)
def test_widths(dtype: str, width: int) -> None:
    assert bits(dtype) == width
