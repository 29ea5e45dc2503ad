"""Tests of tirlens.ide.notebook_file: the text of a notebook's file, and its places."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tirlens.ide import places
from tirlens.ide.notebook_file import CellSpan, NotebookError, read_notebook
from tirlens_worker.facts import Span

CELLS: list[dict[str, Any]] = [
    {"cell_type": "markdown", "source": "# title"},
    {"cell_type": "code", "source": ["%cd ..\n", "a = 1"]},
    {"cell_type": "raw", "source": "raw"},
    {"cell_type": "code", "source": "b = 2\nc = 3\n"},
]


def _content(**metadata: Any) -> str:
    return json.dumps({"cells": CELLS, "metadata": metadata, "nbformat": 4})


def test_places_are_those_of_the_cells() -> None:
    notebook = read_notebook(_content())
    assert notebook.text == "#%cd ..\na = 1\nb = 2\nc = 3\n\n"
    spans = {
        line: notebook.in_cell(Span(line, 4, line, 7))
        for line in range(1, 1 + notebook.text.count("\n"))
    }
    assert {line: (span.cell, span.line) for line, span in spans.items()} == {  # type: ignore[attr-defined]
        1: (2, 1),
        2: (2, 2),
        3: (4, 1),
        4: (4, 2),
        5: (4, 3),
    }
    assert notebook.in_cell(Span(2, 4, 4, 1)) == CellSpan(2, 4, 4, 1, cell=2)
    elsewhere = Span(1, 0, 1, 1, "library.py")
    assert notebook.in_cell(elsewhere) is elsewhere
    assert places.place("x.ipynb", spans[4]) == "x.ipynb:cell 4:2"
    assert places.position("x.ipynb", spans[4]) == "x.ipynb:cell 4:2:5"
    assert places.position("x.py", Span(3, 0, 3, 1)) == "x.py:3:1"
    assert places.place("x.py", elsewhere) == "library.py:1"
    assert places.position("x.ipynb", None) == "x.ipynb:1:1"


@pytest.mark.parametrize("content", ["no notebook", "[]", "{}", '{"cells": [1]}', '{"cells": 1}'])
def test_what_is_no_notebook(content: str) -> None:
    with pytest.raises(NotebookError, match="is no notebook of nbformat 4"):
        read_notebook(content)


def test_a_notebook_of_another_language() -> None:
    assert read_notebook(_content(language_info={"name": "python"})).text
    with pytest.raises(NotebookError, match="of the language julia, not Python"):
        read_notebook(_content(kernelspec={"language": "julia"}))
