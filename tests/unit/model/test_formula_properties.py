"""A formula, where one is shown, equals the count at every size."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.counts import count
from support.generate import kernel, kernels
from support.properties import examples
from tirlens.model.counting.formulas import Formulas
from tirlens.model.counting.kernel_counts import statement_counts
from tirlens.model.counting.operation_classes import sum_operations
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
    Store,
)

SIZES = (0, 1, 2, 3, 5, 8, 13, 64, 100)


def ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def flop_at(facts: KernelFacts, n: int) -> int:
    found = statement_counts(count(facts, {"n": n}).root)
    return sum(
        sum_operations([(item.arith, item.total) for item in leaf.arith]).flop for leaf in found
    )


def bytes_at(facts: KernelFacts, n: int) -> int:
    return sum(
        (item.bytes or 0) * (2 if item.access.mode == "atomic" else 1)
        for leaf in statement_counts(count(facts, {"n": n}).root)
        for item in leaf.accesses
        if item.buffer.scope == "global"
    )


def agree(facts: KernelFacts, sizes: tuple[int, ...] = SIZES) -> None:
    formulas = Formulas(facts)
    flop, moved = formulas.flop(), formulas.global_bytes()
    for n in sizes:
        names = {"n": n, "ceildiv": ceildiv}
        if flop is not None:
            assert eval(flop, names) == flop_at(facts, n), (flop, n)
        if moved is not None:
            assert eval(moved, names) == bytes_at(facts, n), (moved, n)


@examples(50)
@given(kernels())
def test_of_any_kernel(case: tuple[KernelFacts, dict[str, int]]) -> None:
    agree(case[0], (0, 1, 2, 5))


def tiles(size: Expr, tile: int) -> Expr:
    return ("//", ("+", size, tile - 1), tile)


@st.composite
def tiled(draw: st.DrawFn) -> KernelFacts:
    """Nests as kernels have them: tiles with tails, triangles, causal bounds, clipped copies."""
    size: Expr = draw(st.sampled_from(["n", ("+", "n", 3), ("*", "n", 4), 48]))
    tile, step = draw(st.sampled_from([1, 4, 8, 16])), draw(st.sampled_from([1, 2, 4, 16]))
    row: Expr = ("+", ("*", "b", tile), "t")
    bound: Expr = draw(
        st.sampled_from(
            [
                tiles(size, step),
                ("+", "b", 1),
                ("-", tiles(size, tile), "b"),
                ("min", tiles(size, step), tiles(("*", ("+", "b", 1), tile), step)),
                5,
            ]
        )
    )
    box = {"clipped": True, "route": "tile"}
    copy = Access("A", "read", (("*", "b", tile), ("*", "k", step)), (tile, step), **box)
    work = Gemm("g", (Arith("mma", "float16", tile * step),), (copy,), per="block")
    body: tuple[Node, ...] = (Loop("serial", "k", 0, bound, (work,)),)
    one = Store("s", (Arith("add", "float32"),), (Access("B", "write", (row,)),))
    element: Node = Branch(("<", row, size), (one,)) if draw(st.booleans()) else one
    body = (*body, Loop("block", "t", 0, tile, (element,)))
    buffers = (Buffer("A", "A", "float16", (size, size)), Buffer("B", "B", "float32", (size,)))
    return kernel((Loop("grid", "b", 0, tiles(size, tile), body),), buffers, ("n",))


@examples(50)
@given(tiled())
def test_of_tiled_kernels(facts: KernelFacts) -> None:
    agree(facts)


def nest(*loops: tuple[str, Expr], guard: Expr | None = None) -> KernelFacts:
    body: tuple[Node, ...] = (Store("s", (Arith("add", "float32"),)),)
    if guard is not None:
        body = (Branch(guard, body),)
    for name, extent in reversed(loops):
        body = (Loop("grid", name, 0, extent, body),)
    return kernel(body, (), ("n",))


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        (nest(("i", "n"), ("j", ("+", "i", 1))), "(n*(n + 1) // 2)"),
        (nest(("i", "n"), ("j", "i"), ("k", 3)), "3*(n*(n - 1) // 2)"),
        (nest(("i", "n"), ("j", ("-", "n", "i"))), "(n*(n + 1) // 2)"),
        (
            nest(("b", tiles("n", 64)), ("k", ("min", tiles("n", 64), ("+", "b", 1)))),
            "(ceildiv(n, 64)*(ceildiv(n, 64) + 1) // 2)",
        ),
        (
            nest(("b", tiles("n", 128)), ("k", ("min", tiles("n", 64), ("+", ("*", "b", 2), 2)))),
            "sum(min(ceildiv(n, 64), b*2 + 2) for b in range(ceildiv(n, 128)))",
        ),
    ],
)
def test_triangles_are_closed_and_causal_bounds_are_sums(facts: KernelFacts, text: str) -> None:
    agree(facts)
    assert Formulas(facts).flop() == text
