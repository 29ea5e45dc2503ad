"""Positions of the protocol, the lines of cells and files, and the parameters that are read."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from lsprotocol import types

from support.lsp_session import SCALE_FACTS, SCALE_TEXT, ClientHere, run
from support.robust import kernel
from support.rpc import CAPABILITIES
from tirlens.advice import Question
from tirlens.ide.document_text import Encoding
from tirlens.lsp import client_process, convert
from tirlens.lsp.notebooks import Part
from tirlens.lsp.parameters import read_parameters
from tirlens.model.report import Advice
from tirlens.pipeline import report_cache
from tirlens.pipeline.span_shift import LineShift, shift_spans
from tirlens.session import code_generation, events
from tirlens.source.edits import Replacement
from tirlens_worker.facts import Span

from .test_displays import actions, at

ROWS = ("ab", "c\N{GRINNING FACE}d", "")


@pytest.mark.parametrize(
    ("line", "column", "encoding", "expected"),
    [
        (1, 0, "utf-16", (0, 0)),
        (1, 1, "utf-16", (0, 1)),
        (2, 2, "utf-8", (1, 5)),
        (2, 2, "utf-16", (1, 3)),
        (2, 3, "utf-32", (1, 3)),
        (3, 0, "utf-16", (2, 0)),
        # Behind the last line.
        (4, 7, "utf-16", (2, 0)),
        (9, 0, "utf-16", (2, 0)),
    ],
)
def test_places_of_a_text_in_the_protocol(
    line: int, column: int, encoding: Encoding, expected: tuple[int, int]
) -> None:
    found = convert.position(ROWS, line, column, encoding)
    assert (found.line, found.character) == expected
    if line <= len(ROWS):
        assert convert.place(ROWS, found, encoding) == (line, column)


def test_a_position_behind_the_text_is_its_end() -> None:
    assert convert.place(ROWS, types.Position(3, 5), "utf-16") == (3, 0)
    assert convert.place(ROWS[:2], types.Position(2, 0), "utf-16") == (2, 3)
    behind = convert.position(ROWS[:2], 3, 0, "utf-16")
    assert (behind.line, behind.character) == (1, 4)
    whole = convert.range_of(ROWS, Span(1, 1, 2, 2), "utf-8")
    assert (whole.start, whole.end) == (types.Position(0, 1), types.Position(1, 5))


@pytest.mark.parametrize(
    ("uri", "root", "path"),
    [
        ("file:///folder/a.py", "/root", "/folder/a.py"),
        ("file:///folder/a.py", None, "/folder/a.py"),
        ("untitled:a.py", "/root", "/root/a.py"),
        ("untitled:a.py", None, "a.py"),
    ],
)
def test_a_text_that_is_no_file_is_in_the_root(uri: str, root: str | None, path: str) -> None:
    assert convert.path_below(uri, root) == Path(path)


# Parameters


@pytest.mark.parametrize(
    ("given", "read"),
    [
        (1, 1),
        (2**31 - 1, 2**31 - 1),
        (0, None),
        (-1, None),
        (2**31, None),
        (True, None),
        ("5", None),
        (None, None),
    ],
)
def test_the_process_of_a_client_is_a_number_of_one(given: Any, read: int | None) -> None:
    found = read_parameters("initialize", {"processId": given, "capabilities": {}})
    assert found["processId"] == read


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"window": {"workDoneProgress": True}}, {"window": {"workDoneProgress": True}}),
        ({"window": {"workDoneProgress": False}}, {"window": {"workDoneProgress": False}}),
        ({"window": {"workDoneProgress": 1}}, {}),
        ({"window": {"showDocument": {"support": "yes", "more": True}}}, {}),
        (
            {"window": {"showDocument": {"support": True}, "other": True}},
            {"window": {"showDocument": {"support": True}}},
        ),
        ({"window": True, "later": {"workDoneProgress": True}}, {}),
        (
            {"general": {"positionEncodings": ["utf-8", 3, "later"]}},
            {"general": {"positionEncodings": ["utf-8", "later"]}},
        ),
        ({"general": {"positionEncodings": True}}, {}),
    ],
)
def test_capabilities_of_a_wrong_type_are_not_read(given: Any, read: Any) -> None:
    found = read_parameters("initialize", {"capabilities": given})["capabilities"]
    assert found.pop("notebookDocument") == {"synchronization": {}}
    assert found == read


@pytest.mark.parametrize(
    ("given", "read"),
    [
        ({"triggerKind": 2}, {"triggerKind": 2}),
        ({"triggerKind": 1}, {}),
        ({"triggerKind": 2.0}, {}),
        ({"triggerKind": 3, "only": ["quickfix"]}, {}),
        (None, {}),
    ],
)
def test_of_the_context_of_actions_who_asks_is_read(given: Any, read: Any) -> None:
    found = read_parameters("textDocument/codeAction", {"context": given, "range": 1})
    assert found == {"context": {"diagnostics": [], **read}, "range": 1}


def test_a_changed_file_is_read_again_whatever_has_happened() -> None:
    changes = [{"uri": "a", "type": 9}, 3, {"uri": "b"}]
    found = read_parameters("workspace/didChangeWatchedFiles", {"changes": changes})
    assert found == {"changes": [{"uri": "a", "type": 2}, {"uri": "b", "type": 2}]}
    for odd in ({"changes": 3}, {}, 3, None):
        assert read_parameters("workspace/didChangeWatchedFiles", odd) == odd
    assert read_parameters("textDocument/hover", {"changes": changes}) == {"changes": changes}


@pytest.mark.parametrize("process", [7, None])
@pytest.mark.parametrize("is_local", [True, False])
def test_the_process_of_a_local_client_is_watched(
    monkeypatch: pytest.MonkeyPatch, process: int | None, is_local: bool
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(client_process, "watch", lambda *arguments: seen.append(arguments))

    async def scenario() -> None:
        client = ClientHere({}, trust_workspace=False)
        on_end = client.server.on_client_end = (lambda: None) if is_local else None
        await client.request("initialize", {"processId": process, "capabilities": {}})
        assert seen == ([(process, on_end)] if is_local and process else [])

    asyncio.run(scenario())


@pytest.mark.parametrize("descriptor", [0, 7])
@pytest.mark.skipif(not hasattr(client_process.select, "poll"), reason="descriptors of processes")
def test_a_descriptor_of_a_process_is_waited_for(
    monkeypatch: pytest.MonkeyPatch, descriptor: int
) -> None:
    seen: list[int] = []
    poll = SimpleNamespace(register=lambda one, _: seen.append(one), poll=list)
    monkeypatch.setattr(client_process.sys, "platform", "linux")
    monkeypatch.setattr(client_process.os, "pidfd_open", lambda _: descriptor, raising=False)
    monkeypatch.setattr(client_process.select, "poll", lambda: poll)
    wait = client_process._posix_wait(client_process.os.getpid())
    assert wait is not None
    wait()
    assert seen == [descriptor]


# Status


def test_a_status_has_null_for_what_is_not_known() -> None:
    async def scenario(client: ClientHere) -> None:
        send = client.server.client.send
        send(events.Status("file:///a.py", "ready"))
        versions = {"tvm": "0.25", "tilelang": "0.1.15"}
        whole = events.Status("file:///a.py", "error", "why not", "/python", "venv", versions, "t4")
        send(whole)
        bare, full = client.sent("tirlens/status")
        known = {"uri": "file:///a.py", "state": "ready", "device": ""}
        names = ("interpreter", "interpreter_why", "framework", "message")
        assert bare == {**known, **dict.fromkeys(names)}
        known = {"uri": "file:///a.py", "state": "error", "device": "t4"}
        values = ("/python", "venv", "tvm 0.25, tilelang 0.1.15", "why not")
        assert full == {**known, **dict(zip(names, values, strict=True))}

    run(scenario)


def test_the_time_of_a_server_is_counted_from_its_start() -> None:
    before = time.monotonic()

    async def scenario(client: ClientHere) -> None:
        found = await client.command("tirlens.debugInformation")
        assert 0 < found["uptime_s"] <= time.monotonic() - before

    run(scenario)


@pytest.mark.parametrize("shown", ["inlayHint", "codeLens", "documentSymbol"])
def test_a_text_that_is_closed_before_it_is_read_has_an_answer(tmp_path: Path, shown: str) -> None:
    """A client that does not ask for hints again waits for them."""

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        params = {"textDocument": {"uri": uri}, "range": {"start": at(0), "end": at(9)}}
        asked = asyncio.ensure_future(client.request(f"textDocument/{shown}", params))
        for _ in range(3):
            # Until the request is received, and its handler waits.
            await asyncio.sleep(0)
        client.close_document(uri)
        assert isinstance(await asked, list)

    workspace = {**CAPABILITIES["workspace"], "inlayHint": {"refreshSupport": False}}
    run(
        scenario,
        capabilities={**CAPABILITIES, "workspace": workspace},
        trusted=shown == "inlayHint",
    )


def test_the_tools_of_a_file_are_asked_for_before_it_is_read(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", SCALE_TEXT)
        document = client.server.document(uri)
        assert document is not None and document.reading is None
        known = await client.command("tirlens.missingTools")
        assert await client.command("tirlens.missingTools", uri) == known
        assert await client.command("tirlens.missingTools", "file:///none.py") == known

    run(scenario, trusted=False)


# Files with two kernels, and cells

OTHER_TEXT = kernel(1 << 22, "other").partition("\n\n\n")[2]
TWO_TEXT = f"{SCALE_TEXT}\n\n{OTHER_TEXT}"
BELOW = TWO_TEXT.count("\n") - SCALE_TEXT.count("\n")
OTHER_FACTS = shift_spans(
    replace(SCALE_FACTS, name="other", definition="other", call="other"), [LineShift(1, 9, BELOW)]
)


def test_the_hottest_line_is_that_of_the_kernel_at_a_line(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", TWO_TEXT, SCALE_FACTS, OTHER_FACTS)
        last = SCALE_TEXT.count("\n") - 1
        for line, name in [(last - 3, "scale"), (last, "scale"), (last + BELOW, "other")]:
            found = await client.command("tirlens.hottestLine", uri, line)
            assert found["kernel"] == name
            assert found["line"] == last + BELOW * (name == "other")
        marked = {each["line"] for each in await client.command("tirlens.heat", uri)}
        assert {last, last + BELOW} <= marked

    run(scenario, settings={"gutterHeat": True})


def in_function(text: str) -> str:
    head, _, rest = text.partition("@T.prim_func\n")
    body = "".join(f"    {line}\n" for line in f"@T.prim_func\n{rest}".splitlines())
    return f"{head}def make(n):\n{body}    return scale\n\n\nmake(256)\n"


def open_cells(client: ClientHere, folder: Path, *texts: str) -> str:
    """A notebook with these cells, ``cell:0`` and so on; its URI."""
    uri = (folder / "a.ipynb").as_uri()
    cells = [{"kind": 2, "document": f"cell:{number}"} for number in range(len(texts))]
    items = [
        {"uri": f"cell:{number}", "languageId": "python", "version": 1, "text": text}
        for number, text in enumerate(texts)
    ]
    document = {"uri": uri, "notebookType": "jupyter-notebook", "version": 1, "cells": cells}
    params = {"notebookDocument": document, "cellTextDocuments": items}
    client.notify("notebookDocument/didOpen", params)
    return uri


def test_calls_in_cells_are_at_the_lines_of_their_cell(tmp_path: Path) -> None:
    text = in_function(SCALE_TEXT)
    head = text.splitlines().index("def make(n):")

    async def scenario(client: ClientHere) -> None:
        uri = open_cells(client, tmp_path, "# above\nx = 1\n", text)
        await client.until(lambda: client.states(uri))
        inside = text[: text.index("def scale")].count("\n")
        found = [each for each in await actions(client, "cell:1", inside) if "edit" in each]
        assert found
        for each in found:
            ((place, (edit,)),) = each["edit"]["changes"].items()
            assert place == "cell:1"
            assert edit["range"] == {"start": at(head), "end": at(head)}
        calls = await client.command("tirlens.calls", "cell:1", "make")
        assert (calls["insert"]["uri"], calls["insert"]["line"]) == ("cell:1", head)

    run(scenario)


def test_fixed_shapes_and_code_of_a_cell_are_found_by_its_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[Any, ...]] = []

    async def generate(session: Any, document: Any, kernel: Any, languages: Any) -> None:
        asked.append((document.uri, kernel, tuple(languages)))

    monkeypatch.setattr(code_generation, "generated_code", generate)

    async def scenario(client: ClientHere) -> None:
        uri = open_cells(client, tmp_path, "# above\nx = 1\n", SCALE_TEXT)
        document = client.server.document("cell:1")
        assert document is not None
        above = document.text[: document.text.index("from tvm")].count("\n")
        await client.give(uri, shift_spans(SCALE_FACTS, [LineShift(1, 8, above)]))
        client.notify("notebookDocument/didSave", {"notebookDocument": {"uri": uri}})
        await client.until(lambda: "no-framework" in client.states(uri))
        await client.command("tirlens.chooseCall", "cell:1", "scale")
        (said,) = client.messages()
        assert said.startswith("TIRLens: The shapes of scale are fixed by its source, line 5: ")
        for kernel_, language in ((5, "tir"), ("scale", "sass"), (None, "none"), (5.0, "cuda")):
            assert (
                await client.command("tirlens.generatedCode", "cell:1", kernel_, language) is None
            )
        assert await client.command("tirlens.generatedCode", "file:///none.py", 5, "tir") is None
        assert asked[:2] == [(uri, 5 + above, ("tir",)), (uri, "scale", ("sass",))]
        assert asked[2][1] is None and len(asked[2][2]) > 1
        assert [each[1] for each in asked[3:]] == [None]

    run(scenario)


def test_a_kernel_in_one_line_is_a_symbol(tmp_path: Path) -> None:
    """The selection is the head, which may be the last line of the kernel."""
    text = f'{SCALE_TEXT.partition("@")[0]}@T.prim_func\ndef one(A: T.Buffer((8,), "int8")): pass\n'

    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", text)
        params = {"textDocument": {"uri": uri}}
        (found,) = await client.request("textDocument/documentSymbol", params)
        last = text.count("\n") - 1
        assert found["selectionRange"]["start"]["line"] == last
        assert found["range"]["start"]["line"] == last - 1
        assert found["range"]["end"]["line"] == last

    run(scenario, trusted=False)


# Advice that can be written

STATEMENT = SCALE_TEXT.count("\n")
"""The last line, from 1."""


@pytest.mark.parametrize(
    ("span", "text", "changed"),
    [
        # Of a replaced line, and of two of which one stays, the one that is another one.
        (Span(STATEMENT, 12, STATEMENT, 13), "B", {STATEMENT}),
        (Span(STATEMENT - 1, 8, STATEMENT, 13), None, {STATEMENT}),
        # Lines that become fewer or more are all others.
        (Span(STATEMENT - 1, 0, STATEMENT, 0), "", {STATEMENT - 1, STATEMENT}),
        (Span(STATEMENT, 0, STATEMENT, 0), "\n", {STATEMENT}),
    ],
)
@pytest.mark.parametrize("saving_s", [2e-6, None])
def test_a_light_bulb_is_at_the_lines_that_advice_changes(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    span: Span,
    text: str | None,
    changed: set[int],
    saving_s: float | None,
) -> None:
    rows = SCALE_TEXT.splitlines()
    if text is None:
        text = f"{rows[STATEMENT - 2][8:]}\n{' ' * 12}B"
    edit = Replacement(span, text, "another array")

    def advise(question: Question) -> tuple[Advice, ...]:
        own = question.facts.span
        advice = Advice("rule", own, "hint", "why", "arrays", saving_s, edit=edit, is_tried=True)
        return (
            advice,
            replace(advice, rule="bare", edit=None),
            replace(advice, rule="untried", is_tried=False),
        )

    monkeypatch.setattr(report_cache, "advise", advise)

    async def scenario(client: ClientHere) -> None:
        uri = await client.analysed(tmp_path / "a.py", SCALE_TEXT, SCALE_FACTS)
        head = SCALE_TEXT[: SCALE_TEXT.index("def scale")].count("\n") + 1
        saving = ", saves about 2 us" if saving_s else ""
        for line in range(head, STATEMENT + 1):
            automatic = await actions(client, uri, line - 1, triggerKind=2)
            assert len(automatic) == (line in changed), line
            found = [each for each in await actions(client, uri, line - 1) if "edit" in each]
            assert found[0]["title"] == f"TIRLens: another array{saving}"
            ((change,),) = found[0]["edit"]["changes"].values()
            assert change["newText"] == text
            assert change["range"]["start"] == at(span.line - 1, span.column)
            assert change["range"]["end"] == at(span.end_line - 1, span.end_column)
        own = SCALE_FACTS.span.line
        written = await client.command("tirlens.adviceEdit", uri, "rule", own)
        assert written["range"] == [
            [span.line - 1, span.column],
            [span.end_line - 1, span.end_column],
        ]
        assert (written["newText"], written["title"]) == (text, "another array")
        for rule, line in (("rule", own + 1), ("other", own), ("untried", own), ("rule", "5")):
            assert await client.command("tirlens.adviceEdit", uri, rule, line) is None
        assert await client.command("tirlens.adviceEdit", "file:///none.py", "rule", own) is None

    run(scenario)


@pytest.mark.parametrize(
    ("line", "end_line", "expected"),
    [(11, 11, (1, 1)), (12, 14, (2, 4)), (9, 12, (-1, 2)), (5, 9, (-5, 1)), (10, 10, (0, 1))],
)
def test_lines_of_a_document_in_a_cell_below_ten_others(
    line: int, end_line: int, expected: tuple[int, int]
) -> None:
    document: Any = SimpleNamespace(uri="file:///a.ipynb")
    part = Part(document, "cell:1", 1, 10, ("x = 1", "y = 2"))
    found = part.span(Span(line, 3, end_line, 5))
    assert (found.line, found.end_line) == expected
    assert (found.column, found.end_column) == (3, 5)
    assert [number for number in range(15) if part.has(number)] == [11, 12]
