"""The source lines of statements, where no framework is needed to find them."""

from __future__ import annotations

import ast

import pytest

from tirlens_worker.facts import Span
from tirlens_worker.frameworks.locations import source_text
from tirlens_worker.frameworks.locations.spans import Locator
from tirlens_worker.program.document import Document
from tirlens_worker.statements import walk_statements

KERNELS = 50
PATH = "/kernels.py"
TEXT = "\ufeff" + "".join(f"def kernel_{n}():\n    store({n}); wait({n})\n" for n in range(KERNELS))


def locator(document: Document, line: int) -> Locator:
    """A locator for a kernel whose statements are all at `line`."""
    return Locator(document.source, document.path, lambda _: (Span(line, 0, line, 0, PATH),))


def test_the_text_is_parsed_and_walked_once_for_all_kernels(monkeypatch: pytest.MonkeyPatch):
    parsed, walked = [], []
    parse, walk = ast.parse, walk_statements
    monkeypatch.setattr(ast, "parse", lambda *given: parsed.append(given) or parse(*given))
    monkeypatch.setattr(
        source_text, "walk_statements", lambda tree: walked.append(tree) or walk(tree)
    )
    document = Document(PATH, TEXT)
    for number in range(KERNELS):
        assert locator(document, 2 * number + 2).sites(object())
    assert len(parsed) == 1
    assert walked == [document.tree]


def test_statements_of_one_line_are_told_apart_in_each_kernel():
    document = Document(PATH, TEXT)
    store, wait = object(), object()
    for _ in range(2):
        found = locator(document, 2)
        assert [found.sites(one) for one in (store, wait, store)] == [
            (Span(2, 4, 2, 12),),
            (Span(2, 14, 2, 21),),
            (Span(2, 4, 2, 12),),
        ]


def test_statements_that_are_left_out_are_not_parsed():
    whole = Document(PATH, TEXT)
    left_out = tuple((2 * n + 1, 2 * n + 2) for n in range(KERNELS) if n != 7)
    document = Document(PATH, TEXT, left_out)
    (kept,) = document.tree.body
    assert ast.dump(kept, include_attributes=True) == ast.dump(
        whole.tree.body[7], include_attributes=True
    )
    assert (document.text, document.lines) == (whole.text, whole.lines)
