"""Diagnostics are published at their lines, and cleared when what they are about is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.lsp_session import SCALE_FACTS, SCALE_TEXT, ClientHere, run
from tirlens.pipeline.span_shift import LineShift, shift_spans

BROKEN = SCALE_TEXT + "def f(:\n"


def whole(text: str) -> dict[str, Any]:
    return {"text": text}


def test_diagnostics_of_a_text_are_cleared_when_it_is_mended(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", BROKEN)
        await client.until(lambda: client.published(uri))
        (found,) = client.published(uri)[-1]
        assert found["range"]["start"]["line"] == SCALE_TEXT.count("\n")
        assert (found["severity"], found["code"], found["source"]) == (1, "syntax", "tirlens")
        client.edit(uri, 2, whole(SCALE_TEXT))
        client.save(uri)
        await client.until(lambda: client.published(uri)[-1] == [])

    run(scenario, trusted=False)


WITHOUT_KERNEL = "import tilelang.language as T\n\n\ndef scale(x):\n    return T.float32(2) * x\n"


def test_a_file_without_a_kernel_says_what_was_looked_for(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", WITHOUT_KERNEL)
        await client.until(lambda: client.published(uri) and client.published(uri)[-1])
        (found,) = client.published(uri)[-1]
        assert (found["severity"], found["code"]) == (4, "no-kernel")
        assert found["range"]["start"] == {"line": 0, "character": 0}
        assert "it uses tilelang, but has no function under a decorator" in found["message"]
        client.edit(uri, 2, whole("x = 1\n"))
        client.save(uri)
        await client.until(lambda: client.published(uri)[-1] == [])

    run(scenario, trusted=False)


def test_a_file_that_cannot_be_read_whole_is_not_said_to_have_no_kernel(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT.replace("):\n", ")\n"))
        await client.until(lambda: client.published(uri) and client.published(uri)[-1])
        assert [found["code"] for found in client.published(uri)[-1]] == ["syntax"]

    run(scenario, trusted=False)


def test_diagnostics_are_cleared_when_the_file_is_closed(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", BROKEN)
        other = client.open(tmp_path / "b.py", BROKEN)
        await client.until(lambda: client.published(uri) and client.published(other))
        client.close_document(uri)
        assert client.published(uri)[-1] == []
        assert len(client.published(other)[-1]) == 1

    run(scenario, trusted=False)


def test_a_closed_file_is_published_no_more(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", BROKEN)
        client.close_document(uri)
        await client.settle()
        assert client.published(uri) == [[]]

    run(scenario, trusted=False)


def test_an_interpreter_without_the_framework_is_one_warning_at_its_import(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.until(lambda: "no-framework" in client.states(uri))
        (found,) = client.published(uri)[-1]
        assert (found["code"], found["severity"]) == ("interpreter", 2)
        assert found["range"]["start"] == {"line": 0, "character": 0}
        # With an answer the warning goes.
        await client.give(uri, SCALE_FACTS)
        client.save(uri)
        await client.until(lambda: client.published(uri)[-1] == [])

    run(scenario)


@pytest.mark.parametrize(("encoding", "character"), [("utf-8", 8), ("utf-16", 6), ("utf-32", 5)])
def test_columns_are_in_the_unit_of_the_client(
    tmp_path: Path, encoding: str, character: int
) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", 'x="\N{GRINNING FACE}"def\n')
        await client.until(lambda: client.published(uri))
        (found,) = client.published(uri)[-1]
        assert found["range"]["start"]["character"] == character

    run(scenario, capabilities={"general": {"positionEncodings": [encoding]}}, trusted=False)


def test_a_budget_that_is_exceeded_is_a_warning_until_it_is_met(tmp_path: Path) -> None:
    def budgeted(time: str) -> str:
        return SCALE_TEXT.replace("@T.prim_func", f"# tirlens: max-time={time}\n@T.prim_func")

    async def scenario(client: ClientHere) -> None:
        facts = shift_spans(SCALE_FACTS, [LineShift(4, 8, 1)])
        uri = await client.analysed(tmp_path / "a.py", budgeted("1ns"), facts)
        (found,) = client.published(uri)[-1]
        assert (found["code"], found["severity"]) == ("over-budget", 2)
        version = client.sent("textDocument/publishDiagnostics")[-1]["version"]
        assert version == 1
        client.edit(uri, 2, whole(budgeted("1s")))
        client.save(uri)
        await client.until(lambda: client.published(uri)[-1] == [])

    run(scenario)


def test_diagnostics_of_cells_are_in_their_cells_and_go_with_them(tmp_path: Path) -> None:
    notebook = (tmp_path / "a.ipynb").as_uri()
    good, bad, prose = (f"vscode-notebook-cell:{name}" for name in ("good", "bad", "prose"))
    texts = {good: (1, "x = 1\ny = 2\n"), bad: (3, "z = 1\ndef f(:\n")}

    async def scenario(client: ClientHere) -> None:
        cells = [{"kind": 1, "document": prose}]
        cells += [{"kind": 2, "document": uri} for uri in (good, bad)]
        items = [{"uri": prose, "languageId": "markdown", "version": 1, "text": "# prose"}]
        items += [
            {"uri": uri, "languageId": "python", "version": version, "text": text}
            for uri, (version, text) in texts.items()
        ]
        document = {"uri": notebook, "notebookType": "jupyter-notebook", "version": 1}
        params = {"notebookDocument": {**document, "cells": cells}, "cellTextDocuments": items}
        client.notify("notebookDocument/didOpen", params)
        await client.until(lambda: client.published(bad))
        assert client.published(good)[-1] == []
        (found,) = client.published(bad)[-1]
        assert found["range"]["start"]["line"] == 1
        by_cell = client.sent("textDocument/publishDiagnostics")
        assert {each["uri"]: each["version"] for each in by_cell} == {good: 1, bad: 3}

        # Without the bad cell.
        change = {"structure": {"array": {"start": 2, "deleteCount": 1}}}
        change = {"notebookDocument": {"uri": notebook, "version": 2}, "change": {"cells": change}}
        client.notify("notebookDocument/didChange", change)
        assert client.published(bad)[-1] == []
        document = client.server.document(good)
        assert document is not None and document.text.rstrip() == texts[good][1].rstrip()
        assert client.server.document(bad) is None

        client.notify(
            "notebookDocument/didClose",
            {"notebookDocument": {"uri": notebook}, "cellTextDocuments": []},
        )
        assert client.published(good)[-1] == []
        assert client.server.document(good) is None

    run(scenario, trusted=False)
