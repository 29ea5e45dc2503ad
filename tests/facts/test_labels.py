"""The words for what a framework's own code or a long expression stands for."""

from __future__ import annotations

import pytest

from facts.test_kernels import TILELANG, facts_of
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_worker.facts import Branch, Expr
from tirlens_worker.frameworks.symbolic.expression_text import text


@pytest.mark.parametrize(
    ("expr", "words"),
    [
        (("%", ("+", ("*", "w", 132), "bx"), 8), "(w * 132 + bx) % 8"),
        (("-", "a", ("-", "b", "c")), "a - (b - c)"),
        (("-", ("-", "a", "b"), "c"), "a - b - c"),
        (("<", ("truncdiv", "n", 8), ("max", ("+", "a", 1), 2)), "n // 8 < max(a + 1, 2)"),
        (("==", ("<", "a", "b"), True), "(a < b) == True"),
        (("and", ("or", "a", "b"), ("not", ("<", "c", 1))), "(a or b) and not(c < 1)"),
        (("//", ("-", ("+", "n", 128), 1), 128), "ceildiv(n, 128)"),
        (("//", ("-", ("+", "n", 64), 1), 128), "(n + 64 - 1) // 128"),
        (("load", "A", ("+", "i", 1), 0), "A[i + 1, 0]"),
        (("opaque", "a value"), "a value"),
        (("+", "x" * 60, "y" * 60), "x" * 60 + " + " + "y" * 14 + "..."),
    ],
)
def test_an_expression_reads_as_python_would_write_it(expr: Expr, words: str) -> None:
    assert text(expr) == words


@pytest.mark.slow
def test_a_branch_is_named_as_its_author_wrote_it() -> None:
    (facts,) = facts_of(TILELANG, "labelled_tilelang")
    labels = [node.label for node in walk_nodes(facts.body) if isinstance(node, Branch)]
    assert labels == ["if the tile exists", "if ids[by % 8] > 0 and by < 100", "elif by > 3"]
