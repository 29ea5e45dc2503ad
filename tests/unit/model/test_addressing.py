"""Integer instructions of addresses."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.compiler.address_arithmetic import (
    address_instructions,
    address_terms,
    selected_address_instructions,
)
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Access, AccessMode, Buffer, Expr

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


SELECTED: Expr = ("<", ("select", ("<", "j", 9), "j", 0), 300)


@pytest.mark.parametrize(
    ("mode", "guard", "expected"),
    [
        # Two comparisons and a selection of two instructions, with the address in registers of its
        # own (10), and a zero for where it is not loaded.
        ("read", SELECTED, 2 + 2 + 10 + 1),
        ("read", ("and", SELECTED, ("==", "j", 2)), 3 + 2 + 10 + 1),
        ("read", ("<", "j", 300), 0),
        ("read", None, 0),
        ("write", SELECTED, 0),
    ],
)
def test_a_selected_address_is_computed_before_its_predicate(
    mode: AccessMode, guard: Expr | None, expected: float
) -> None:
    place = LoopContext((EnclosingLoop("j", "parallel", 640),), {"j": (0, 639)}, {})
    assert selected_address_instructions(Access("A", mode, ("j",), guard=guard), place) == expected
