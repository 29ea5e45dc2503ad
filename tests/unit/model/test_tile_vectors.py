"""The statements of one tile loop have one vector length, the shortest of theirs."""

from __future__ import annotations

import pytest

from support.kernels import launched, modelled
from tirlens.hardware import load
from tirlens_worker.facts import Access, Buffer, KernelFacts, Loop, Node, Store

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
