"""Accesses that provably leave their array are noted at their line, and no others."""

from __future__ import annotations

import pytest

from support.kernels import site
from support.stored_facts import entries
from tirlens.hardware import load
from tirlens.ide import diagnostics
from tirlens.model import analyze
from tirlens_worker.codec import from_json
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Span,
    Statement,
    Store,
)

H100 = load("h100-sxm")
THREAD: Expr = ("+", ("*", "bx", 128), "tx")


def kernel(statement: Node, scope: str = "global") -> KernelFacts:
    body: tuple[Node, ...] = (Loop("block", "tx", 0, 128, (statement,), tag="threadIdx.x"),)
    body = (Loop("grid", "bx", 0, 8, body, tag="blockIdx.x"),)
    return KernelFacts(
        name="main",
        definition="main",
        span=Span(1, 0, 1, 5),
        framework="tvm",
        framework_version="0.27",
        call="main",
        call_source="direct",
        variables=(),
        buffers=(Buffer("A", "A", "float32", (1000, 4), scope=scope, is_parameter=True),),
        body=body,
        launch=Launch(grid=(8,), threads=(128,)),
    )


def access(row: Expr, column: Expr = 0, **options: object) -> Statement:
    read = Access("A", "read", (row, column), **options)  # type: ignore[arg-type]
    return Store("B[0] = A[row, column]", accesses=(read,), sites=site(7))


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        (access(THREAD), "A is read outside: index 1023 of axis 0, which has 1000 elements"),
        (access(("-", THREAD, 30)), "A is read outside: index -30 of axis 0"),
        (access("bx", 2, lanes=4), "A is read outside: index 5 of axis 1, which has 4 elements"),
        (access("bx", ("%", "tx", 4)), ""),
        (access("bx", 0, lanes=4), ""),
        (access(("-", 999, "tx")), ""),
        (access(THREAD, guard=("<", THREAD, 1000)), ""),
        (access(("load", "A", 0, 0)), ""),
        (access(THREAD, extents=(1, 4), clipped=True), ""),
        (Branch(("<", THREAD, 1000), (access(THREAD),), (), sites=site(6)), ""),
        (Loop("serial", "k", 0, ("-", 1000, THREAD), (access(("+", THREAD, "k")),)), ""),
    ],
)
def test_what_is_noted(statement: Node, message: str) -> None:
    report = analyze(kernel(statement), H100)
    noted = [caveat for caveat in report.caveats if "outside: index" in caveat.message]
    assert [caveat.message.startswith(message) for caveat in noted] == [True] * bool(message)
    assert all(caveat.span is not None and caveat.span.line == 7 for caveat in noted)


def test_an_array_in_registers_is_not_judged() -> None:
    report = analyze(kernel(access(THREAD), "local"), H100)
    assert not [caveat for caveat in report.caveats if "outside: index" in caveat.message]


@pytest.mark.parametrize("name", ["library_tilelang", "boards_tilelang", "tutorials_tvm"])
def test_no_measured_kernel_of_others_leaves_its_arrays(name: str) -> None:
    for item in entries(name)[::6]:
        report = analyze(from_json(KernelFacts, item), H100)
        assert not [c.message for c in report.caveats if "outside: index" in c.message]


def test_an_access_outside_is_a_warning_and_its_bytes_stay_exact() -> None:
    """The bytes inside the array, 1000 rows of one column, are counted exactly all the same."""
    report = analyze(kernel(access(THREAD)), H100)
    assert (report.compulsory_bytes, report.compulsory_is_exact) == (4000, True)
    warnings = [found for found in diagnostics.of_report(report) if found.severity == "warning"]
    assert [found.span.line for found in warnings] == [7]
