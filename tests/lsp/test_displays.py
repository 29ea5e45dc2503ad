"""What is displayed in documents and in cells: hints, lenses, hovers, symbols, actions."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from support.lsp_session import SCALE_FACTS, SCALE_TEXT, ClientHere, run
from tirlens.advice import Question
from tirlens.model.report import Advice
from tirlens.pipeline import report_cache
from tirlens.pipeline.span_shift import LineShift, shift_spans

LINES = SCALE_TEXT.splitlines()


def at(line: int, character: int = 0) -> dict[str, int]:
    return {"line": line, "character": character}


async def hints(client: ClientHere, uri: str, first: int = 0, last: int = 9999) -> dict[int, str]:
    """Labels by 0-based line; each hint is at the end of its line."""
    params = {"textDocument": {"uri": uri}, "range": {"start": at(first), "end": at(last)}}
    found = await client.request("textDocument/inlayHint", params)
    return {each["position"]["line"]: each["label"] for each in found}


async def lenses(client: ClientHere, uri: str) -> list[dict[str, Any]]:
    return await client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})


async def actions(client: ClientHere, uri: str, line: int, **context: Any) -> list[dict[str, Any]]:
    params = {"textDocument": {"uri": uri}, "range": {"start": at(line), "end": at(line)}}
    params["context"] = {"diagnostics": [], **context}
    return await client.request("textDocument/codeAction", params)


async def hover(client: ClientHere, uri: str, line: int, character: int = 8) -> Any:
    params = {"textDocument": {"uri": uri}, "position": at(line, character)}
    return await client.request("textDocument/hover", params)


def test_hints_are_at_the_ends_of_the_lines_that_are_asked_for(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        params = {"textDocument": {"uri": uri}, "range": {"start": at(0), "end": at(99)}}
        found = await client.request("textDocument/inlayHint", params)
        assert found
        for each in found:
            line = each["position"]["line"]
            assert each["position"]["character"] == len(LINES[line])
            assert each["paddingLeft"] is True
        whole = await hints(client, uri)
        assert "1 MFLOP" in whole[5]
        for line, label in whole.items():
            assert await hints(client, uri, line, line) == {line: label}
        assert await hints(client, uri, 0, min(whole) - 1) == {}
        assert await hints(client, uri, max(whole) + 1, 9999) == {}
        assert await hints(client, "file:///unknown.py") == {}

    run(scenario)


def test_lenses_are_at_the_kernel_and_lead_to_their_commands(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        found = await lenses(client, uri)
        assert {each["range"]["start"]["line"] for each in found} == {4}
        columns = [each["range"]["start"]["character"] for each in found]
        assert columns == sorted(set(columns))
        by_command = {each["command"]["command"]: each["command"] for each in found}
        assert by_command["tirlens.showReport"]["arguments"] == [uri, "scale"]
        assert by_command["tirlens.chooseDevice"]["title"] == "h100-sxm"
        assert await lenses(client, "file:///unknown.py") == []

    run(scenario)


@pytest.mark.parametrize(("setting", "displayed"), [({"codeLens": False}, False), ({}, True)])
def test_lenses_are_displayed_as_the_settings_say(
    tmp_path: Path, setting: dict[str, Any], displayed: bool
) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        assert bool(await lenses(client, uri)) == displayed
        assert await hints(client, uri)

    run(scenario, settings=setting)


def test_an_untrusted_workspace_has_one_lens_and_runs_nothing(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.until(lambda: client.states(uri))
        (lens,) = await lenses(client, uri)
        assert lens["command"]["command"] == "tirlens.manageTrust"
        titles = [each["title"] for each in await actions(client, uri, 5)]
        assert titles == [
            "TIRLens: Say how this workspace is trusted",
            "TIRLens: Display more or less",
        ]
        assert client.states(uri) == ["untrusted"]
        # Trust is given by the editor while the server runs.
        client.notify("workspace/didChangeConfiguration", {"settings": {"trusted": True}})
        await client.until(lambda: client.states(uri)[-1] == "no-framework")

    run(scenario, trusted=False)


@pytest.mark.parametrize("trusted", [False, "true", 1, None])
def test_only_true_is_trust(tmp_path: Path, trusted: Any) -> None:
    async def scenario(client: ClientHere) -> None:
        assert not client.server.session.configuration.trusted

    run(scenario, trusted=trusted)


def test_a_workspace_is_trusted_by_the_option_of_the_server(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        assert client.server.session.configuration.trusted
        client.notify("workspace/didChangeConfiguration", {"settings": {"trusted": False}})
        assert client.server.session.configuration.trusted

    run(scenario, trusted=False, trust_workspace=True)


def test_a_hover_marks_the_line_that_it_is_about(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        found = await hover(client, uri, 7)
        assert "1.05 MFLOP" in found["contents"]["value"]
        assert found["contents"]["kind"] == "markdown"
        assert found["range"]["start"]["line"] == found["range"]["end"]["line"] == 7
        assert found["range"]["end"]["character"] == len(LINES[7])
        assert await hover(client, uri, 1, 0) is None
        assert await hover(client, "file:///unknown.py", 7) is None

    run(scenario)


def test_symbols_are_the_kernels_with_their_extent(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        (found,) = await client.request(
            "textDocument/documentSymbol", {"textDocument": {"uri": uri}}
        )
        assert (found["name"], found["kind"], found["detail"]) == ("scale", 12, "kernel")
        assert found["selectionRange"]["start"] == found["selectionRange"]["end"]
        assert found["selectionRange"]["start"]["line"] == 4
        assert found["range"]["start"]["line"] <= 4
        assert found["range"]["end"]["line"] == 7
        params = {"textDocument": {"uri": "file:///unknown.py"}}
        assert await client.request("textDocument/documentSymbol", params) == []

    run(scenario, trusted=False)


def test_actions_do_what_lenses_do(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        found = {each["command"]["command"]: each for each in await actions(client, uri, 7)}
        assert found["tirlens.goToHottestLine"]["command"]["arguments"] == [uri, 7]
        assert found["tirlens.showReport"]["command"]["arguments"] == [uri, "scale"]
        assert found["tirlens.showReport"]["title"] == "TIRLens: Open the report of scale"
        assert {each["kind"] for each in found.values()} == {"source.tirlens"}
        assert "tirlens.unpin" not in found
        # A light bulb is shown where there is something to write.
        assert await actions(client, uri, 7, triggerKind=2) == []
        assert await actions(client, uri, 0) == []
        assert await actions(client, "file:///unknown.py", 0) == []

    run(scenario)


@pytest.mark.parametrize("standing", ["", "# tirlens: make(512)\n"])
def test_a_call_is_written_above_the_kernel_in_place_of_one_that_stands_there(
    tmp_path: Path, standing: str
) -> None:
    head, _, rest = SCALE_TEXT.partition("@T.prim_func\n")
    body = "".join(f"    {line}\n" for line in f"@T.prim_func\n{rest}".splitlines())
    text = f"{head}{standing}def make(n):\n{body}    return scale\n\n\nmake(256)\n"

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", text)
        await client.until(lambda: client.states(uri))
        found = await actions(client, uri, text[: text.index("def scale")].count("\n"))
        written = {each["title"]: each["edit"]["changes"][uri] for each in found if "edit" in each}
        (edit,) = next(edits for title, edits in written.items() if "make(256)" in title)
        assert edit["newText"].strip() == "# tirlens: make(256)"
        start, end = edit["range"]["start"], edit["range"]["end"]
        assert start["character"] == end["character"] == 0
        assert end["line"] - start["line"] == bool(standing)
        lines = text.splitlines(keepends=True)
        lines[start["line"] : end["line"]] = [edit["newText"]]
        assert "# tirlens: make(256)\ndef make(n):" in "".join(lines)
        assert "make(512)" not in "".join(lines)
        calls = await client.command("tirlens.calls", uri, "make")
        assert calls["insert"]["line"] == start["line"]
        assert calls["insert"]["replaces"] == bool(standing)
        assert "make(256)" in {choice["directive"] for choice in calls["choices"]}

    run(scenario)


# Cells


CELLS = {"cell:one": "# a first cell\nx = 1\n", "cell:two": SCALE_TEXT}


async def notebook(client: ClientHere, folder: Path) -> str:
    """A notebook whose second Python cell has the kernel, with its figures."""
    uri = (folder / "a.ipynb").as_uri()
    cells = [{"kind": 1, "document": "cell:prose"}]
    cells += [{"kind": 2, "document": name} for name in CELLS]
    items = [{"uri": "cell:prose", "languageId": "markdown", "version": 1, "text": "prose"}]
    items += [
        {"uri": name, "languageId": "python", "version": 1, "text": text}
        for name, text in CELLS.items()
    ]
    document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
    params = {"notebookDocument": document, "cellTextDocuments": items}
    client.notify("notebookDocument/didOpen", params)
    opened = client.server.document("cell:two")
    assert opened is not None
    above = opened.text[: opened.text.index("from tvm")].count("\n")
    await client.give(uri, shift_spans(SCALE_FACTS, [LineShift(1, 8, above)]))
    client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": uri}})
    await client.until(lambda: "no-framework" in client.states(uri))
    return uri


def test_cells_have_their_own_lines(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await notebook(client, tmp_path)
        assert "1 MFLOP" in (await hints(client, "cell:two"))[5]
        assert await hints(client, "cell:one") == {}
        assert {each["range"]["start"]["line"] for each in await lenses(client, "cell:two")} == {4}
        assert await lenses(client, "cell:one") == []
        assert (await hover(client, "cell:two", 7))["range"]["start"]["line"] == 7
        assert await hover(client, "cell:one", 1, 0) is None
        (symbol,) = await client.request(
            "textDocument/documentSymbol", {"textDocument": {"uri": "cell:two"}}
        )
        assert symbol["selectionRange"]["start"]["line"] == 4
        found = {each["command"]["command"]: each for each in await actions(client, "cell:two", 7)}
        assert found["tirlens.goToHottestLine"]["command"]["arguments"] == ["cell:two", 7]
        assert found["tirlens.showReport"]["command"]["arguments"] == [uri, "scale"]
        hottest = await client.command("tirlens.hottestLine", "cell:two", 5)
        assert (hottest["uri"], hottest["line"]) == ("cell:two", 7)

    run(scenario)


def test_cells_are_edited_moved_and_closed(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await notebook(client, tmp_path)

        def change(version: int, **cells: Any) -> str:
            params = {"notebookDocument": {"uri": uri, "version": version}}
            client.notify("notebookDocument/didChange", {**params, "change": {"cells": cells}})
            document = client.server.document(uri)
            assert document is not None and document.version == version
            return document.text

        def edit(name: str, *changes: Any) -> dict[str, Any]:
            return {"document": {"uri": name, "version": 2}, "changes": list(changes)}

        place = {"range": {"start": at(1, 4), "end": at(1, 5)}, "text": "2"}
        text = change(2, textContent=[edit("cell:one", place)])
        assert text.startswith("# a first cell\nx = 2\n")
        assert "from tvm" in text
        text = change(3, textContent=[edit("cell:one", {"text": "y = 3\n"})])
        assert text.startswith("y = 3\n") and "x = 2" not in text
        # Prose is not part of the text, whatever is written there.
        assert change(4, textContent=[edit("cell:prose", {"text": "z = 4\n"})]) == text
        # A cell is moved to the end, and one is inserted between.
        new = {"uri": "cell:new", "languageId": "python", "version": 1, "text": "new = 5\n"}
        moved = [{"kind": 2, "document": "cell:new"}, {"kind": 2, "document": "cell:one"}]
        array = {
            "start": 1,
            "deleteCount": 2,
            "cells": [{"kind": 2, "document": "cell:two"}, *moved],
        }
        text = change(5, structure={"array": array, "didOpen": [new]})
        order = [text.index(word) for word in ("from tvm", "new = 5", "y = 3")]
        assert order == sorted(order)
        assert client.server.document("cell:new") is not None
        client.notify(
            "notebookDocument/didClose",
            {"notebookDocument": {"uri": uri}, "cellTextDocuments": []},
        )
        assert all(client.server.document(name) is None for name in (*CELLS, "cell:new", uri))

    run(scenario)


def test_hints_do_not_wait_for_advice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, may_end = threading.Event(), threading.Event()

    def advise(question: Question) -> tuple[Advice, ...]:
        begun.set()
        assert may_end.wait(60)
        return (Advice("tail-wave", question.facts.span, "warning", "too few", "ten blocks", 1e-3),)

    monkeypatch.setattr(report_cache, "advise", advise)

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        await client.give(uri, SCALE_FACTS)
        client.save(uri)
        assert await asyncio.to_thread(begun.wait, 60)
        try:
            assert client.sent_requests("workspace/inlayHint/refresh") == [None]
            assert "1 MFLOP" in (await hints(client, uri))[5]
            assert client.sent_requests("workspace/codeLens/refresh") == []
        finally:
            may_end.set()
        await client.until(lambda: "no-framework" in client.states(uri))
        assert client.sent_requests("workspace/inlayHint/refresh") == [None]
        assert client.sent_requests("workspace/codeLens/refresh") == [None]
        assert "ten blocks" in " ".join(
            each["command"]["title"] for each in await lenses(client, uri)
        )

    run(scenario)


def test_a_lens_never_loses_its_advice_where_the_text_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client asks for lenses when it likes, also while kernels are evaluated again."""
    lenses_asked: list[str] = []

    async def scenario(client: ClientHere) -> None:
        def advise(question: Question) -> tuple[Advice, ...]:
            span = question.facts.span
            return (Advice("tail-wave", span, "warning", "too few", "ten blocks", 1e-3),)

        monkeypatch.setattr(report_cache, "advise", advise)
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        analyses: Any = client.server.session.analyses
        evaluate = analyses._run_model

        async def run_model(job: Any, result: Any) -> Any:
            found = await evaluate(job, result)
            titles = [each["command"]["title"] for each in await lenses(client, uri)]
            lenses_asked.append(" ".join(titles))
            return found

        monkeypatch.setattr(analyses, "_run_model", run_model)
        await client.saved(uri)
        assert lenses_asked and all("ten blocks" in text for text in lenses_asked)

    run(scenario)
