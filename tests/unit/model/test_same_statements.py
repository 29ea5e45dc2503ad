"""Bodies whose statements cost the same, however their sequential loops run."""

from __future__ import annotations

import pytest

from tirlens.model.tree.same_statements import have_same_statements
from tirlens_worker.facts import Access, Branch, Loop, Node, Store, While

STATEMENT = Store("y = x", (), (Access("y", "write", ("i",)),))


def loop(kind: str, var: str = "i", tag: str = "", body: tuple[Node, ...] = (STATEMENT,)) -> Loop:
    return Loop(kind, var, 0, 8, body, tag=tag)


@pytest.mark.parametrize(
    ("kind", "other", "is_same"),
    [
        ("serial", "serial", True),
        ("serial", "pipelined", True),
        ("pipelined", "serial", True),
        # Iterations of the grid, of threads and of an unrolled loop are not sequential.
        *((kind, kind, True) for kind in ("grid", "block", "parallel", "vectorized", "unroll")),
        *(("serial", kind, False) for kind in ("grid", "block", "parallel", "unroll")),
        *((kind, "pipelined", False) for kind in ("grid", "block", "parallel", "unroll")),
        ("parallel", "unroll", False),
    ],
)
@pytest.mark.parametrize("depth", [1, 2])
def test_kinds_of_loops(kind: str, other: str, is_same: bool, depth: int) -> None:
    one, two = loop(kind), loop(other)
    if depth == 2:
        one, two = (Branch(("<", "n", 4), (STATEMENT,), (part,)) for part in (one, two))
    assert have_same_statements((one,), (two,)) == is_same


def test_variables_tags_and_kinds_of_nodes() -> None:
    assert not have_same_statements((loop("serial"),), (loop("serial", "j"),))
    x, y = loop("block", tag="threadIdx.x"), loop("block", tag="threadIdx.y")
    assert not have_same_statements((x,), (y,))
    assert not have_same_statements((loop("serial"),), (While("n < 4", (STATEMENT,)),))
    other = Store("y = z", (), (Access("y", "write", ("i",)),))
    assert not have_same_statements(
        (loop("serial", body=(STATEMENT,)),), (loop("serial", body=(other,)),)
    )
    assert have_same_statements((STATEMENT, x), (STATEMENT, loop("block", tag="threadIdx.x")))
