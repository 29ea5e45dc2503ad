"""Elements of a thread's part of a tile that one access of shared memory moves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import instructions, launched, leaves
from tirlens_worker.facts import Access, Buffer, Expr, Loop, Node, Store

SIDE = 128


def transposed(
    index: tuple[Expr, Expr], dtype: str = "float32", columns: int = SIDE, guard: Expr | None = None
) -> tuple[Node, tuple[Buffer, ...]]:
    """``g[i, j] = s[index]`` over the elements of a tile of 128 x 128."""
    store = Store(
        "store",
        (),
        (
            Access("s", "read", index, guard=guard),
            Access("g", "write", ("i", "j")),
        ),
        per="block",
    )
    body: Node = Loop("parallel", "j", 0, SIDE, (store,))
    tile = Loop("parallel", "i", 0, SIDE, (body,))
    buffers = (
        Buffer("s", "s", dtype, (SIDE, columns), "shared.dyn"),
        Buffer("g", "g", dtype, (SIDE, SIDE), is_parameter=True),
    )
    return tile, buffers


@pytest.mark.parametrize(
    ("index", "dtype", "columns", "guard", "threads", "vector", "wavefronts"),
    [
        # Thread j reads the elements of row j one after the other: 32 LDS.128 for 128 of them, each
        # with 8 lanes in the same four banks in each of four phases.
        (("j", "i"), "float32", 128, None, 128, 4, 32),
        # No more than four elements, of halves, too: two words in the same banks for all 32 lanes.
        (("j", "i"), "float16", 128, None, 128, 4, 32),
        # Rows that are padded by one element are not aligned, by two to two.
        (("j", "i"), "float32", 129, None, 128, 1, 1),
        (("j", "i"), "float32", 130, None, 128, 2, 2),
        # Two rows of threads: every second element.
        (("j", "i"), "float32", 128, None, 256, 1, 32),
        # A condition makes a branch for each element.
        (("j", "i"), "float32", 128, ("<", "i", "n"), 128, 1, 32),
    ],
)
def test_elements_that_one_access_moves(
    index: tuple[Expr, Expr],
    dtype: str,
    columns: int,
    guard: Expr | None,
    threads: int,
    vector: int,
    wavefronts: int,
) -> None:
    tile, buffers = transposed(index, dtype, columns, guard)
    facts = replace(launched((tile,), buffers, threads=threads), framework="tilelang")
    (leaf,) = leaves(facts)
    request = instructions(facts)[leaf.number].mapping.requests[0]
    assert request is not None
    assert (request.vector, request.wavefronts) == (vector, wavefronts)
