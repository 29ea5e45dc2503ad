"""A formula equals the count at every binding."""

from __future__ import annotations

import pytest

from support.counts import count
from support.generate import kernel
from tirlens.model.counting.formulas import Formulas
from tirlens.model.counting.kernel_counts import statement_counts
from tirlens_worker.facts import Access, Arith, Branch, Buffer, Copy, Expr, Gemm, Loop, Store

BLOCK, STEP = 128, 32


def ceildiv(a: int, b: int) -> int:
    return -(-a // b)


def tiles(size: Expr, tile: int) -> Expr:
    return ("//", ("+", size, tile - 1), tile)


def tiled_gemm(m: Expr, n: Expr, k: Expr, variables: tuple[str, ...]):
    """A tilelang GEMM: tiles of 128 x 128, steps of 32, epilogue guarded element by element."""
    row, column, depth = ("*", "by", BLOCK), ("*", "bx", BLOCK), ("*", "ko", STEP)
    box = {"clipped": True, "route": "tile"}
    load = Copy(
        "copy",
        accesses=(
            Access("A", "read", (row, depth), (BLOCK, STEP), **box),
            Access("B", "read", (depth, column), (STEP, BLOCK), **box),
        ),
        per="block",
    )
    gemm = Gemm(
        "gemm",
        arith=(Arith("mma", "float16", BLOCK * BLOCK * STEP, accumulator="float32"),),
        per="block",
    )
    store = Copy(
        "copy",
        accesses=(Access("C", "write", (row, column), (BLOCK, BLOCK), **box),),
        per="block",
    )
    body = (Loop("pipelined", "ko", 0, tiles(k, STEP), (load, gemm)), store)
    body = (Loop("block", "tx", 0, 128, body),)
    for name, size in (("by", m), ("bx", n)):
        body = (Loop("grid", name, 0, tiles(size, BLOCK), body),)
    shapes = {"A": (m, k), "B": (k, n), "C": (m, n)}
    buffers = tuple(Buffer(name, name, "float16", shape) for name, shape in shapes.items())
    return kernel(body, buffers, variables)


def naive_gemm(m: Expr, n: Expr, k: Expr, variables: tuple[str, ...]):
    """A SIMT GEMM whose threads guard their element."""
    index = {"i": ("+", ("*", "by", 16), "ty"), "j": ("+", ("*", "bx", 16), "tx")}
    fma = Store(
        "store",
        arith=(Arith("fma", "float32"),),
        accesses=(Access("A", "read", (index["i"], "k")), Access("B", "read", ("k", index["j"]))),
    )
    body = (Loop("serial", "k", 0, k, (fma,)),)
    guard = ("and", ("<", index["i"], m), ("<", index["j"], n))
    body = (Branch(guard, body),)
    loops = [("tx", 16, "block"), ("ty", 16, "block")]
    loops += [("by", tiles(m, 16), "grid"), ("bx", tiles(n, 16), "grid")]
    for name, extent, kind in loops:
        body = (Loop(kind, name, 0, extent, body),)
    shapes = {"A": (m, k), "B": (k, n)}
    buffers = tuple(Buffer(name, name, "float32", shape) for name, shape in shapes.items())
    return kernel(body, buffers, variables)


def flop(facts, bindings) -> int:
    return sum(
        2 * item.total
        for leaf in statement_counts(count(facts, bindings).root)
        for item in leaf.arith
    )


def global_bytes(facts, bindings) -> int:
    return sum(
        item.bytes
        for leaf in statement_counts(count(facts, bindings).root)
        for item in leaf.accesses
    )


@pytest.mark.parametrize(
    ("size", "expected"), [(8192, 2 * 8192**3), (65536, 2 * 65536**3), (1024, 2**31)]
)
def test_gemm_is_twice_m_n_k(size, expected):
    assert flop(tiled_gemm(size, size, size, ()), {}) == expected
    assert flop(naive_gemm(size, size, size, ()), {}) == expected


def test_formula_of_a_guarded_gemm_is_the_textbook_one():
    assert Formulas(naive_gemm("M", "N", "K", ("M", "N", "K"))).flop() == "2*M*N*K"


def test_formula_of_a_tiled_gemm_shows_the_padding():
    facts = tiled_gemm("M", 4096, 4096, ("M",))
    assert Formulas(facts).flop() == f"{2 * 128 * 4096 * 4096}*ceildiv(M, 128)"


@pytest.mark.parametrize("make", [tiled_gemm, naive_gemm])
@pytest.mark.parametrize("shape", [(1, 1, 1), (128, 256, 64), (1000, 1001, 77), (0, 5, 9)])
def test_formula_equals_the_count(make, shape):
    bindings = dict(zip("MNK", shape, strict=True))
    facts = make("M", "N", "K", ("M", "N", "K"))
    names = {**bindings, "ceildiv": ceildiv}
    assert eval(Formulas(facts).flop(), names) == flop(facts, bindings)
    assert eval(Formulas(facts).global_bytes(), names) == global_bytes(facts, bindings)


def test_no_formula_without_shape_variables():
    assert Formulas(tiled_gemm(128, 128, 128, ())).flop() is None


def test_a_bound_that_never_holds_back_is_left_out():
    add = Store("s", arith=(Arith("add", "float32"),))
    inner = Loop("serial", "k", 0, ("min", ("+", "bx", 1), ("*", "n", 2)), (add,))
    facts = kernel((Loop("grid", "bx", 0, "n", (inner,)),), variables=("n",))
    assert Formulas(facts).flop() == "(n*(n + 1) // 2)"
    total = [
        item.total for leaf in statement_counts(count(facts, {"n": 5}).root) for item in leaf.arith
    ]
    assert total == [15]


@pytest.mark.parametrize(("start", "step"), [(0, 2), (3, 1), (2, 3)])
def test_the_start_and_the_step_of_a_loop_are_in_a_formula(start, step):
    """The inner loop runs over the values of the outer one: ``sum(start + step * i for i)``."""
    add = Store("s", arith=(Arith("add", "float32"),))
    inner = Loop("serial", "k", 0, "i", (add,))
    outer = Loop("serial", "i", start, "n", (inner,), step=step)
    facts = kernel((outer,), variables=("n",))
    expected = sum(start + step * i for i in range(7))
    assert eval(Formulas(facts).flop(), {"n": 7}) == expected
    (total,) = (
        item.total for leaf in statement_counts(count(facts, {"n": 7}).root) for item in leaf.arith
    )
    assert total == expected


def test_no_formula_where_a_condition_depends_on_data():
    add = Store("s", arith=(Arith("add", "float32"),))
    body = (Branch(("<", ("load", "A", "i"), "n"), (add,)),)
    facts = kernel((Loop("grid", "i", 0, "n", body),), variables=("n",))
    assert Formulas(facts).flop() is None
