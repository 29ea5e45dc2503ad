"""The statements of one tile loop have one vector length, the shortest of theirs."""

from __future__ import annotations

import pytest

from support.kernels import launched, modelled
from tirlens.hardware import load
from tirlens_worker.facts import Access, Buffer, Expr, KernelFacts, Loop, Node, Store

H100 = load("h100-sxm")
THREADS, ELEMENTS = 128, 1024
TYPES = ("float32", "float16", "int8")


def copied(number: int, dtype: str, variable: str) -> tuple[Store, tuple[Buffer, ...]]:
    """A statement that copies an element of a global array to another."""
    names = (f"x{number}", f"y{number}")
    index = ("+", ("*", "bx", ELEMENTS), variable)
    accesses = (Access(names[0], "read", (index,)), Access(names[1], "write", (index,)))
    buffers = tuple(Buffer(name, name, dtype, (8 * ELEMENTS,), "global") for name in names)
    return Store(f"{names[1]} = {names[0]}", (), accesses, "block"), buffers


def tile_loop(*dtypes: str, is_nested: bool = False) -> KernelFacts:
    """A tile loop with a statement of each type, each in a loop of its own if `is_nested`."""
    body: list[Node] = []
    buffers: list[Buffer] = []
    for number, dtype in enumerate(dtypes):
        statement, arrays = copied(number, dtype, f"j{number}" if is_nested else "i")
        inner = Loop("parallel", f"j{number}", 0, ELEMENTS, (statement,))
        body.append(inner if is_nested else statement)
        buffers += arrays
    extent = 1 if is_nested else ELEMENTS
    loop = Loop("parallel", "i", 0, extent, tuple(body))
    return launched((loop,), tuple(buffers), 8, THREADS)


def vectors(facts: KernelFacts) -> list[int]:
    kernel = modelled(facts, H100)
    return [kernel.context.compiled.instructions[leaf].mapping.vector for leaf in kernel.leaves]


@pytest.mark.parametrize(("dtype", "vector"), [("float32", 4), ("float16", 8), ("int8", 8)])
def test_a_statement_alone_has_16_bytes_or_what_a_thread_has_of_the_tile(
    dtype: str, vector: int
) -> None:
    assert vectors(tile_loop(dtype)) == [vector]


@pytest.mark.parametrize("is_nested", [False, True])
@pytest.mark.parametrize("first", TYPES)
@pytest.mark.parametrize("second", TYPES)
def test_statements_of_one_loop_have_the_shortest(first: str, second: str, is_nested: bool) -> None:
    shortest = min(vectors(tile_loop(first)) + vectors(tile_loop(second)))
    assert vectors(tile_loop(first, second, is_nested=is_nested)) == [shortest] * 2


@pytest.mark.parametrize(
    ("index", "vector"),
    [
        ("i", 8),
        (("+", "i", ("*", "bx", ELEMENTS)), 8),
        # Rows that data choose are aligned, and starts within a row are not known to be.
        (("+", "i", ("load", "starts", "bx")), 1),
        (("select", ("<", "i", 512), "i", 0), 1),
        # Elements apart, and in the other direction.
        (("*", "i", 2), 1),
        (("-", ELEMENTS - 1, "i"), 1),
        (("+", "i", 1), 1),
        (("+", "i", 4), 4),
        (("//", "i", 8), 8),
    ],
)
def test_the_vector_of_an_index(index: Expr, vector: int) -> None:
    """Of halves: a vector is contiguous and aligned, or one element for all."""
    accesses = (Access("x", "read", (index,)), Access("y", "write", ("i",)))
    buffers = (
        Buffer("starts", "starts", "int32", (8,), "global"),
        Buffer("x", "x", "float16", (16 * ELEMENTS,), "global"),
        Buffer("y", "y", "float16", (ELEMENTS,), "global"),
    )
    statement = Store("y = x", (), accesses, "block")
    loop = Loop("parallel", "i", 0, ELEMENTS, (statement,))
    assert vectors(launched((loop,), buffers, 8, THREADS)) == [vector]


@pytest.mark.parametrize("row", [0, "bx", ("load", "starts", "bx")])
def test_a_row_that_data_choose_is_aligned(row: Expr) -> None:
    accesses = (Access("x", "read", (row, "i")), Access("y", "write", ("i",)))
    buffers = (
        Buffer("starts", "starts", "int32", (8,), "global"),
        Buffer("x", "x", "float16", (16, ELEMENTS), "global"),
        Buffer("y", "y", "float16", (ELEMENTS,), "global"),
    )
    loop = Loop("parallel", "i", 0, ELEMENTS, (Store("y = x", (), accesses, "block"),))
    assert vectors(launched((loop,), buffers, 8, THREADS)) == [8]
