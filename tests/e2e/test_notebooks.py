"""A notebook in the real server: its Python cells are one text, and each cell has its own lines."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.rpc import Client

pytestmark = pytest.mark.slow

IMPORTS = "%pip install apache-tvm\nfrom tvm.script import tirx as T"
NOTES = "# Scaling"
SCALE = """\
@T.prim_func
def scale(A: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""
BROKEN = """\
@T.prim_func
def broken(A: T.Buffer((undefined,), "float32")):
    A[0] = T.float32(1)
"""


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _cell(uri: str, kind: int = 2) -> dict[str, Any]:
    return {"kind": kind, "document": uri}


def _text(uri: str, text: str, language: str = "python") -> dict[str, Any]:
    return {"uri": uri, "languageId": language, "version": 1, "text": text}


def _open(client: Client, path: Path, cells: dict[str, str]) -> str:
    uri = path.as_uri()
    path.write_text("{}")
    notebook = {
        "uri": uri,
        "notebookType": "jupyter-notebook",
        "version": 1,
        "cells": [_cell(cell, 1 if cell == NOTES else 2) for cell in cells],
    }
    texts = [
        _text(cell, text, "markdown" if cell == NOTES else "python") for cell, text in cells.items()
    ]
    params = {"notebookDocument": notebook, "cellTextDocuments": texts}
    client.notify("notebookDocument/didOpen", params)
    return uri


def _change(client: Client, uri: str, version: int, **cells: Any) -> None:
    document = {"uri": uri, "version": version}
    params = {"notebookDocument": document, "change": {"cells": cells}}
    client.notify("notebookDocument/didChange", params)


def test_cells_in_order(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    result = client.initialize(trusted=True, interpreter=str(tvm_python))
    selector = result["capabilities"]["notebookDocumentSync"]["notebookSelector"]
    assert selector[0]["notebook"] == {"notebookType": "jupyter-notebook"}
    imports, kernel, last = (f"cell:{name}" for name in ("imports", "kernel", "last"))
    cells = {imports: IMPORTS, NOTES: "Some words", kernel: SCALE, last: BROKEN}
    uri = _open(client, tmp_path / "scaling.ipynb", cells)
    client.wait_ready(uri)

    # Each cell has what belongs to its own lines, and no other has it.
    lenses = client.lenses(kernel)
    assert list(lenses) == [1]
    assert lenses[1][-1] == "h100-sxm"
    assert client.lenses(imports) == {}
    assert list(client.lenses(last)) == [1]
    hints = dict(client.hints(kernel))
    assert set(hints) <= {2, 3, 4}
    assert hints
    assert client.hints(imports) == client.hints(last) == []
    hover = client.hover(kernel, 4, 14)
    assert hover is not None
    assert "FLOP" in hover
    assert client.hover(last, 0, 0) is None
    # Lines in texts are those of a cell, whose number counts notes.
    whole = client.hover(kernel, 1, 6)
    assert whole is not None
    assert "| cell 3:5 |" in whole
    [file] = client.command("tirlens.reportPage", uri, {})["files"]
    assert file["cells"] == [[1, 0], [3, 2], [4, 2 + len(SCALE.splitlines()) + 1]]
    places = {row["line"]: row["place"] for row in file["kernels"][0]["rows"]}
    assert places[7] == "cell 3:5"
    assert client.diagnostics(imports) == client.diagnostics(kernel) == []
    found = client.diagnostics(last)
    assert [item["range"]["start"]["line"] for item in found] == [1], found
    assert "undefined" in found[0]["message"]

    # The lines of one cell do not move with those of another.
    edit = {"range": _range(0, 0), "text": "# one\n# two\n"}
    content = [{"document": {"uri": imports, "version": 2}, "changes": [edit]}]
    _change(client, uri, 2, textContent=content)
    assert dict(client.hints(kernel)) == hints
    assert client.lenses(kernel) == lenses
    line = client.command("tirlens.hottestLine", kernel, 2)
    assert (line["uri"], line["line"]) == (kernel, 4)
    insert = client.command("tirlens.calls", uri, "scale")["insert"]
    assert (insert["uri"], insert["line"]) == (kernel, 0)

    # A cell is removed and another one inserted above the kernel; the notebook is saved.
    array = {"start": 3, "deleteCount": 1}
    _change(client, uri, 3, structure={"array": array, "didClose": [{"uri": last}]})
    assert client.request("textDocument/hover", _at(last)) is None
    assert client.diagnostics(last) == []
    new = "cell:new"
    array = {"start": 2, "deleteCount": 0, "cells": [_cell(new)]}
    _change(client, uri, 4, structure={"array": array, "didOpen": [_text(new, "!ls\nn = 1")]})
    half = {"text": SCALE.replace("thread_binding(32", "thread_binding(16")}
    content = [{"document": {"uri": kernel, "version": 2}, "changes": [half]}]
    _change(client, uri, 5, textContent=content)
    client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": uri}})
    client.wait_ready(uri, 2)
    assert client.diagnostics(new) == client.diagnostics(kernel) == []
    assert set(dict(client.hints(kernel))) == set(hints)
    assert client.hints(kernel) != list(hints.items())

    params = {"notebookDocument": {"uri": uri}, "cellTextDocuments": []}
    client.notify("notebookDocument/didClose", params)
    assert client.lenses(kernel) == {}


def _at(uri: str) -> dict[str, Any]:
    return {"textDocument": {"uri": uri}, "position": {"line": 0, "character": 0}}


def _range(line: int, character: int) -> dict[str, Any]:
    at = {"line": line, "character": character}
    return {"start": at, "end": at}
