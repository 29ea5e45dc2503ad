"""Integer instructions of addresses."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.compiler.address_arithmetic import address_instructions, address_terms
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Access, Buffer, Expr

FLAT: Expr = ("+", ("*", "row", 1152), ("*", "j", 2))


@pytest.mark.parametrize(
    ("indices", "expected"),
    [
        # Rows and columns of one flat index are the index: the division is undone by the address.
        ((("//", FLAT, 1152), ("%", FLAT, 1152)), 0),
        # Of another length than the row's they are not.
        ((("//", ("+", "j", 1), 100), ("%", ("+", "j", 1), 100)), 8),
        (("row", ("%", ("+", "j", 1), 100)), 6),
        ((0, ("//", "j", 8)), 1),
        ((0, "j"), 0),
    ],
)
def test_index_instructions(indices: tuple[Expr, ...], expected: float) -> None:
    around = (EnclosingLoop("row", "grid", 64), EnclosingLoop("j", "parallel", 640))
    place = LoopContext(around, {"row": (0, 63), "j": (0, 639)}, {})
    buffers = {"A": Buffer("A", "A", "float16", (64, 1152))}
    parts = address_terms([Access("A", "read", indices)], place, buffers)
    assert address_instructions(parts, place) == expected
