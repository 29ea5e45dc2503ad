"""An open file that changes on disk is analysed again, although its editor has nothing to save."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.robust import kernel, until
from support.rpc import Client

pytestmark = pytest.mark.slow


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _report_change(client: Client, path: Path) -> None:
    changes = [{"uri": path.as_uri(), "type": 2}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})


def _flop(client: Client, uri: str) -> int | None:
    report = client.command("tirlens.report", uri, None)
    kernels = report["json"]["kernels"] if report else []
    return kernels[0]["flop"] if kernels else None


def _titles(client: Client, uri: str) -> list[str]:
    return [title for titles in client.lenses(uri).values() for title in titles]


def _is_stale(client: Client, uri: str) -> bool:
    return any("stale" in title for title in _titles(client, uri))


@pytest.mark.parametrize("order", ["text first", "file first", "text alone"])
def test_a_text_that_is_loaded_again_is_analysed(
    client: Client, tmp_path: Path, tvm_python: Path, order: str
) -> None:
    """Editors load the text before or after they report the file, or report no file outside of
    their folders.
    """
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "a.py"
    path.write_text(kernel(1024))
    uri = client.open(path)
    client.wait_ready(uri)
    assert _flop(client, uri) == 1024
    for version, size in enumerate((2048, 4096, 1024), 2):
        path.write_text(kernel(size))
        if order == "file first":
            _report_change(client, path)
            time.sleep(0.3)
        client.replace(uri, version, kernel(size))
        if order == "text first":
            _report_change(client, path)
        until(lambda size=size: _flop(client, uri) == size, 60, str(size))
        assert not _is_stale(client, uri)


def test_a_mended_syntax_error_is_analysed(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "a.py"
    path.write_text(kernel(1024) + "def (:\n")
    uri = client.open(path)
    client.wait_ready(uri)
    path.write_text(kernel(1024))
    client.replace(uri, 2, kernel(1024))
    until(lambda: _flop(client, uri) == 1024, 60, "mended")
    assert client.diagnostics(uri) == []
    assert not _is_stale(client, uri)


def test_an_unsaved_edit_stays_unsaved(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "a.py"
    path.write_text(kernel(1024))
    uri = client.open(path)
    client.wait_ready(uri)
    client.replace(uri, 2, kernel(2048))
    # The file changes below the edit: the editor keeps the edit, as there is something to save.
    path.write_text(kernel(4096))
    _report_change(client, path)
    time.sleep(1.0)
    assert _is_stale(client, uri)
    assert client.states(uri).count("ready") == 1
    # "Revert file": the text is the file's, which has not changed since.
    client.replace(uri, 3, kernel(4096))
    until(lambda: _flop(client, uri) == 4096, 60, "reverted")
    assert not _is_stale(client, uri)


@pytest.mark.parametrize("form", ["crlf", "bom", "latin-1"])
def test_the_files_form_does_not_matter(
    client: Client, tmp_path: Path, tvm_python: Path, form: str
) -> None:
    """Buffers have neither a byte order mark nor the file's encoding."""
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "a.py"
    path.write_text(kernel(1024))
    uri = client.open(path)
    client.wait_ready(uri)
    text = "# -*- coding: latin-1 -*-\n# Größe\n" + kernel(2048)
    content = {
        "crlf": kernel(2048).replace("\n", "\r\n").encode(),
        "bom": b"\xef\xbb\xbf" + kernel(2048).encode(),
        "latin-1": text.encode("latin-1"),
    }[form]
    path.write_bytes(content)
    client.replace(uri, 2, text if form == "latin-1" else kernel(2048))
    until(lambda: _flop(client, uri) == 2048, 60, form)


def test_a_notebook_that_changes_on_disk(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python))
    path = tmp_path / "a.ipynb"

    def store(size: int) -> None:
        cell = {"cell_type": "code", "source": kernel(size), "metadata": {}, "outputs": []}
        path.write_text(json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}))

    store(1024)
    uri, cell = path.as_uri(), "cell:1"
    client.notify(
        "notebookDocument/didOpen",
        {
            "notebookDocument": {
                "uri": uri,
                "notebookType": "jupyter-notebook",
                "version": 1,
                "cells": [{"kind": 2, "document": cell}],
            },
            "cellTextDocuments": [
                {"uri": cell, "languageId": "python", "version": 1, "text": kernel(1024)}
            ],
        },
    )
    client.wait_ready(uri)
    store(2048)
    change = {"document": {"uri": cell, "version": 2}, "changes": [{"text": kernel(2048)}]}
    client.notify(
        "notebookDocument/didChange",
        {
            "notebookDocument": {"uri": uri, "version": 2},
            "change": {"cells": {"textContent": [change]}},
        },
    )
    until(lambda: _flop(client, uri) == 2048, 60, "2048")
