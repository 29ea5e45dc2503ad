"""Loads and stores that LLVM leaves of a loop nest, counted by hand for cores with AVX2.

A vector has eight floats.  Sixteen registers hold vectors, two of which are operands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from support.kernels import workload
from tirlens.model.cpu.compiler import Nest, compile_loops
from tirlens.model.cpu.compiler.access_elimination import is_spilled, remaining_accesses
from tirlens.model.cpu.compiler.vector_width import width_of
from tirlens.model.cpu.compiler.vectorization import needs_overlap_checks
from tirlens_worker.facts import Branch, Expr, KernelFacts, Loop

from .test_cpu import DEVICE, facts, loop, store


def nests(made: KernelFacts) -> tuple[Nest, ...]:
    """The loop nests of a kernel."""
    counted = workload(made)
    return compile_loops(counted.tree, counted.buffers, counted.shapes, DEVICE).nests


def owned(made: KernelFacts, name: str, scope: str = "global") -> KernelFacts:
    """`made` with an array of its own: on the stack if its scope is ``global``."""
    buffers = (
        replace(one, is_parameter=False, scope=scope) if one.name == name else one
        for one in made.buffers
    )
    return replace(made, buffers=tuple(buffers))


def update(
    out: tuple[Expr, ...],
    one: tuple[Expr, ...],
    other: tuple[Expr, ...],
    loops: Sequence[Loop],
    *shapes: tuple[int, ...],
) -> KernelFacts:
    """``C[out] += A[one] * B[other]``."""
    leaf = store({"A": one, "B": other, "C": out}, ("C", out), "mul", "add")
    return facts(dict(zip("ABC", shapes, strict=True)), loops, leaf)


def product(order: str, extents: dict[str, int]) -> KernelFacts:
    i, j, k = (extents[name] for name in "ijk")
    loops = [loop(name, extents[name]) for name in order]
    return update(("i", "j"), ("i", "k"), ("k", "j"), loops, (i, k), (k, j), (i, j))


def unrolled_sums(copies: int) -> KernelFacts:
    """Eight times 64 steps, each of which adds to as many sums as a vector loop is unrolled."""
    loops = [loop("i", 8), loop("k", 64), loop("f", copies, "unroll")]
    shapes = (8, 64), (64, copies), (8, copies)
    return update(("i", "f"), ("i", "k"), ("k", "f"), loops, *shapes)


def vector_sums(copies: int, *factor: Expr, lanes: int = 8) -> KernelFacts:
    """64 steps, each of which adds to `copies` vectors of sums."""
    loops = [loop("k", 64), loop("f", copies, "unroll"), loop("v", lanes, "vectorized")]
    shapes = (64, lanes)[: len(factor)], (64, copies, lanes), (copies, lanes)
    return update(("f", "v"), factor, ("k", "f", "v"), loops, *shapes)


def rows(
    copies: int, one: tuple[Expr, ...], out: tuple[Expr, ...], *shapes: tuple[int, ...]
) -> KernelFacts:
    """``C[out] = A[one] * B[f, j]`` of 64 vectorized columns and unrolled rows."""
    leaf = store({"A": one, "B": ("f", "j")}, ("C", out), "mul")
    arrays = {"A": shapes[0], "B": (copies, 64), "C": shapes[1]}
    return facts(arrays, [loop("j", 64), loop("f", copies, "unroll")], leaf)


def selected_rows() -> KernelFacts:
    """A sum over nine columns of 100 rows that data select, which prevents vectors."""
    leaf = store({"A": (("load", "I", "i"), "p"), "C": ("i",)}, ("C", ("i",)), "add")
    arrays = {"I": (100,), "A": (500, 9), "C": (100,)}
    return facts(arrays, [loop("i", 100), loop("p", 9, "unroll")], leaf)


def masked_columns() -> KernelFacts:
    """``C[i, j] = A[i] * B[i, j]`` of 16 rows, in 60 of 64 iterations."""
    leaf = store({"A": ("i",), "B": ("i", "j")}, ("C", ("i", "j")), "mul")
    made = facts({"A": (16,), "B": (16, 64), "C": (16, 64)}, [], leaf)
    columns = replace(loop("j", 64), body=(Branch(("<", "j", 60), (leaf,)),))
    return replace(made, body=(replace(loop("i", 16), body=(columns,)),))


def straight_sum() -> KernelFacts:
    leaf = store({"A": ("p",), "C": (0,)}, ("C", (0,)), "add")
    return facts({"A": (9,), "C": (1,)}, [loop("p", 9, "unroll")], leaf)


SHARED = rows(4, ("j",), ("f", "j"), (64,), (4, 64))
SCATTERED = rows(4, (("*", "j", 16),), ("j", "f"), (1024,), (64, 64))
GATHERED = rows(4, (("*", "j", 16),), ("f", "j"), (1024,), (4, 64))


@pytest.mark.parametrize(
    ("made", "elements", "reads", "writes"),
    [
        # Rows of 64 as eight vectors; an element of A is loaded once a row.
        (product("ikj", {"i": 16, "j": 64, "k": 32}), 8, (512, 4096, 4096), (4096,)),
        # A sum in a register, which is stored in each step: C may overlap with A or B.
        (product("ijk", {"i": 8, "j": 16, "k": 64}), 1, (8192, 8192, 0), (8192,)),
        # Sums on the stack are stored after the loop, those in another array of the kernel are not.
        (owned(product("ijk", {"i": 8, "j": 16, "k": 64}), "C"), 1, (8192, 8192, 0), (128,)),
        (
            owned(product("ijk", {"i": 8, "j": 16, "k": 64}), "C", "local"),
            1,
            (8192, 8192, 0),
            (8192,),
        ),
        # The four copies share an element of A where no store in between can change it.
        (unrolled_sums(4), 1, (2048, 2048, 0), (2048,)),
        (owned(unrolled_sums(4), "C"), 1, (512, 2048, 0), (32,)),
        # Fourteen registers hold the sums, and one more does not fit: all are loaded and stored.
        # An element of A that all lanes multiply with is one load, as is a vector.
        (owned(vector_sums(14, "k", "v"), "C"), 8, (64, 896, 0), (14,)),
        (owned(vector_sums(14, "k"), "C"), 8, (64, 896, 0), (14,)),
        (owned(vector_sums(15, "k", "v"), "C"), 8, (960, 960, 960), (960,)),
        # Seven vectors of sixteen are in fourteen registers, too.
        (owned(vector_sums(7, "k", "v", lanes=16), "C"), 16, (64, 448, 0), (7,)),
        (owned(vector_sums(8, "k", "v", lanes=16), "C"), 16, (512, 512, 512), (512,)),
        # Nine copies load their sum once, and store it each time: C may overlap with A.
        (selected_rows(), 1, (900, 100), (900,)),
        # Four rows share the vectors of A, but not gathers, which may read what was scattered.
        (SHARED, 8, (8, 32), (32,)),
        (GATHERED, 8, (8, 32), (32,)),
        (SCATTERED, 8, (32, 32), (32,)),
        # Sixteen values are kept in registers for the whole loop, seventeen are loaded each time.
        (rows(16, ("f",), ("f", "j"), (16,), (16, 64)), 8, (16, 128), (128,)),
        (rows(17, ("f",), ("f", "j"), (17,), (17, 64)), 8, (136, 136), (136,)),
        (rows(17, (0,), ("f", "j"), (1,), (17, 64)), 8, (1, 136), (136,)),
        # The load of an invariant element is masked with the condition, and not hoisted.
        (masked_columns(), 8, (128, 128), (128,)),
        # Straight code stores a sum once, unless the next element may be where the sum is.
        (straight_sum(), 1, (9, 0), (9,)),
        (owned(straight_sum(), "A"), 1, (9, 0), (1,)),
    ],
)
def test_accesses(
    made: KernelFacts, elements: int, reads: tuple[int, ...], writes: tuple[int, ...]
) -> None:
    (nest,) = nests(made)
    (statement,) = nest.statements
    width = width_of(statement, nest, DEVICE)
    spilled = is_spilled(statement, nest, width, DEVICE)

    def counts(addresses: Sequence[object]) -> tuple[float, ...]:
        return tuple(
            remaining_accesses(address, statement, nest, width, spilled)
            for address in statement.addresses
            if address in addresses
        )

    assert width.elements == elements
    assert counts(statement.reads) == pytest.approx(reads)
    assert counts(statement.writes) == pytest.approx(writes)


@pytest.mark.parametrize(
    ("made", "is_checked"),
    [
        (product("ikj", {"i": 16, "j": 64, "k": 32}), True),
        (facts({"A": (640,)}, [loop("i", 640)], store({"A": ("i",)}, ("A", ("i",)), "mul")), False),
        # Only the array of the kernel is stored to, which is on the stack.
        (owned(straight_sum(), "C"), False),
    ],
)
def test_arrays_are_checked_for_overlap(made: KernelFacts, is_checked: bool) -> None:
    (nest,) = nests(made)
    assert needs_overlap_checks(nest.statements) == is_checked


@pytest.mark.parametrize("second", ["i", "k"])
def test_an_array_is_as_large_as_the_loops_around_its_uses_need(second: str) -> None:
    """Rows of T are stored and read in one loop over rows, or each in one of its own.

    TVM keeps the row of 64 floats of the former (``CompactBufferAllocation``).
    """
    stored = store({"A": ("i", "j")}, ("T", ("i", "j")), "mul")
    used = store({"T": (second, "l")}, ("B", (second, "l")), "mul")
    shape = (99, 64)
    made = owned(facts(dict.fromkeys("ATB", shape), [], stored), "T")
    columns = [replace(loop("j", 64), body=(stored,)), replace(loop("l", 64), body=(used,))]
    rows_of = [loop("i", 99), loop(second, 99)]
    body = (
        (replace(rows_of[0], body=tuple(columns)),)
        if second == "i"
        else tuple(replace(row, body=(one,)) for row, one in zip(rows_of, columns, strict=True))
    )
    found = nests(replace(made, body=body))
    sizes = {
        address.buffer: address.array_bytes
        for nest in found
        for statement in nest.statements
        for address in statement.addresses
    }
    whole = 99 * 64 * 4
    assert sizes == {"A": whole, "B": whole, "T": 64 * 4 if second == "i" else whole}
