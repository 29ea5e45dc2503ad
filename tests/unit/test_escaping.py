"""Names of the user in Markdown, HTML, SARIF, CSV and JSON: text everywhere, syntax nowhere."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import logging
import sys
from collections.abc import Iterator
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from support.properties import examples
from support.robust import server_here, tell
from tirlens.cli import (
    change_report,
    delimited,
    html_report,
    measured_table,
    outcome,
    sarif,
    table,
)
from tirlens.cli.output import console, stream, write_json
from tirlens.cli.rows import Selection, rows
from tirlens.cli.traced_file import Traced
from tirlens.gate import Change, Limits
from tirlens.hardware import load
from tirlens.ide import hovers
from tirlens.ide.escaping import csv_cell
from tirlens.ide.terms import SITE
from tirlens.lsp import welcome
from tirlens.model.report import Advice, BreakdownEntry, CaveatNote, KernelReport
from tirlens.pipeline import FileReport, Options
from tirlens.source import SourceFile
from tirlens_worker.facts import Span
from tirlens_worker.protocol import Problem, Result

NAMES = (
    "[c](command:x)<script>",
    "`[c](command:x)`",
    "`",
    "![i](https://x/y.png)",
    "a|b\n\n# head\n---\n<img src=x onerror=alert(1)>",
    "**b** _i_ ~~s~~ &lt;script&gt; \\",
    "<command:x>",
)
AT = Span(3, 0, 3, 20)


def _kernel(name: str) -> KernelReport:
    line = BreakdownEntry(
        kind="op", label=name, span=AT, trips=1, executions=1, flop=1, global_bytes=1,
        dram_bytes=1.0, time_s=1e-6, share=0.5, bound="dram",
    )  # fmt: skip
    elsewhere = replace(AT, file=f"/x/{name}.py")
    inner = replace(line, sites=(AT, elsewhere), details=((name, name),))
    return KernelReport(
        name=name,
        definition=name,
        span=AT,
        framework="tvm",
        framework_version=name,
        call=name,
        call_source="directive",
        bindings={name: 1},
        device_id=name,
        device_name=name,
        message=name,
        time_s=2e-6,
        bound_reason=name,
        formula={"flop": name},
        loops=(replace(inner, children=(inner,)),),
        advice=(Advice("stages", AT, "warning", name, name),),
        caveats=(CaveatNote(name, AT),),
    )


def _file(path: str, *kernels: KernelReport) -> FileReport:
    return FileReport(kernels, path=path)


def _rendered(markdown: str) -> str:
    return MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown)


def _check(html: str, name: str) -> None:
    html = html.replace(f'<a href="{SITE}', f'<term href="{SITE}')
    for tag in ("script", "a ", "img", "em>", "s>", "h1"):
        assert f"<{tag}" not in html
    shown = " ".join(unescape(html).split())
    assert " ".join(name.replace("`", "'").split()) in shown.replace("`", "'")


def _everything(name: str) -> str:
    kernel = _kernel(name)
    failed = replace(kernel, status="error")
    report = _file(name, kernel, failed)
    change = Change(name, name, AT, name, kernel, kernel, ("slower",), name)
    changes = change_report.ChangeReport(name, (change,), Limits(), (name,), (), ())
    out = io.StringIO()
    change_report.write(out, changes, "markdown", False)
    costs = (hovers.node(row.cost, kernel) for row in rows(kernel, Selection()))
    return "\n\n".join(
        (
            hovers.kernel(kernel),
            hovers.kernel(failed),
            *costs,
            delimited.markdown([report], Selection()),
            out.getvalue(),
        )
    )


@pytest.mark.parametrize("name", NAMES)
def test_names_in_markdown_are_text(name: str) -> None:
    _check(_rendered(_everything(name)), name)


@examples(100)
@given(st.text(alphabet="[]()<>`*_|\\~#!&-+= \n:/ax1", min_size=1, max_size=12).filter(str.strip))
def test_any_name_in_markdown_is_text(name: str) -> None:
    found = _rendered(hovers.node(_kernel(name).loops[0], _kernel(name)))
    expected = _rendered(hovers.node(_kernel("x").loops[0], _kernel("x")))
    tags = [part.partition(">")[0] for part in found.split("<")[1:]]
    assert [tag for tag in tags if "code" not in tag] == [
        part.partition(">")[0] for part in expected.split("<")[1:] if "code" not in part
    ]


@pytest.mark.parametrize("name", NAMES)
def test_names_in_html_are_text(name: str) -> None:
    file = replace(_file(name, _kernel(name)), devices=(replace(load("h100-sxm"), id=name),))
    traced = Traced(name, "x", SourceFile(), Result(1), Options())
    page = html_report.page([file], [traced])
    # What is the script's own stands in the page of any name.
    own = html_report.page([_file("x")], [replace(traced, path="x")])
    for tag in ("<script", "<img", "<a ", "<h1"):
        assert page.count(tag) == own.count(tag)


@pytest.mark.parametrize(
    "path",
    ["a b.py", "a#b.py", "50%.py", "a?.py", "漢.py", "c:x.py", "x\udcff.py", "<s>.py", "/a b#.py"],
)
def test_file_names_in_sarif_are_percent_encoded(path: str) -> None:
    found = sarif.result("cost", "note", "", path, None)["locations"][0]
    uri = found["physicalLocation"]["artifactLocation"]["uri"]
    body = uri.removeprefix("file://")
    assert uri.isascii() and not set(body) & set(' #?<>":')
    assert unquote(body, errors="surrogateescape") == path


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r"])
def test_cells_of_csv_are_no_formulas(start: str) -> None:
    name = f"{start}cmd|' /C calc'!A1"
    out = io.StringIO()
    delimited.write_csv(out, [_file(name, _kernel(name))], Selection())
    table = list(csv.reader(io.StringIO(out.getvalue(), newline="")))
    assert len(table) == 4
    cells = [cell for row in table for cell in row]
    assert "'" + name.replace("\r", "\n") in cells or start == "\r"
    assert not [cell for cell in cells if cell.startswith(start)]
    assert csv_cell(-1.5) == -1.5


def test_measured_names_are_no_formulas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    measured: Any = None
    monkeypatch.setattr(measured_table, "row", lambda _: ("=x", "\udcff", -1.0))
    measured_table.append(tmp_path / "m.csv", [measured])
    assert (tmp_path / "m.csv").read_text().splitlines()[1] == "'=x,?,-1.0"


def test_commands_of_workflows_are_on_one_line() -> None:
    change = Change("a\r\nb,c:d.py", "k", AT, "x", None, None, ("lost",), "\r\n::error::x%")
    changes = change_report.ChangeReport("b", (change,), Limits(0.1, 0.1), (), (), ())
    out = io.StringIO()
    change_report.write(out, changes, "github", False)
    lines = [line for line in out.getvalue().splitlines() if line.startswith("::")]
    (line,) = lines
    assert line.startswith("::error file=a%0D%0Ab%2Cc%3Ad.py,line=3,title=TIRLens::")
    assert line.endswith("%0D%0A::error::x%25")


def test_json_has_no_lone_surrogates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with stream(str(tmp_path / "x.json")) as file:
        write_json(file, {"path": "x\udcff\ud83d.py", "other": "漢💥"})
    assert json.loads((tmp_path / "x.json").read_bytes()) == {"path": "x??.py", "other": "漢💥"}
    with stream(None) as file:
        file.write("x\udcff.py")
    assert capsys.readouterr().out.startswith("x")
    assert sys.stdout.errors != "strict"


@pytest.fixture
def without_log() -> Iterator[None]:
    """The log names the requests, and parallel pytest cannot send a log with lone surrogates."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("without_log")
def test_messages_have_no_lone_surrogates() -> None:
    async def session() -> list[bytes]:
        sent: list[bytes] = []
        with server_here() as server:
            server.recorder.write = sent.append
            uri = "file:///\ud800.py"
            item = {"uri": uri, "languageId": "python", "version": 1, "text": "x = '\ud800' ?\n"}
            tell(server, "textDocument/didOpen", {"textDocument": item})
            for method in ("codeLens", "documentSymbol"):
                tell(server, f"textDocument/{method}", {"textDocument": {"uri": uri}}, 2)
            tell(server, "tirlens/\ud800", {}, 3)
            params = {"command": "\ud800", "arguments": []}
            tell(server, "workspace/executeCommand", params, 4)
            tell(server, "shutdown", None, "\ud800")  # type: ignore[arg-type]
            await asyncio.sleep(0.5)
        return sent

    sent = asyncio.run(session())
    assert len(sent) >= 6
    for data in sent:
        head, _, body = data.partition(b"\r\n\r\n")
        assert int(head.rpartition(b" ")[2]) == len(body)
        assert not any("\ud800" <= sign <= "\udfff" for sign in str(json.loads(body)))
    (refused,) = [m for m in map(_body, sent) if "method" not in m and m.get("id") is None]
    assert refused["error"]["code"] == -32600


def _body(data: bytes) -> dict[str, Any]:
    return json.loads(data.partition(b"\r\n\r\n")[2])


def test_initialize_with_an_id_that_cannot_be_sent_back() -> None:
    body = {
        "jsonrpc": "2.0",
        "id": "\ud800",
        "method": "initialize",
        "params": {"capabilities": {}},
    }
    assert welcome.answer(json.dumps(body).encode()) is None


ORDERS = "a\x1b[31mb\x1b]0;title\x07c\x9b2Jd\x00e\u202ef\x7fg\rh"


def test_escape_codes_reach_no_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Names and messages of the user in tables, CSV, Markdown and on standard error."""
    kernel = replace(_kernel(ORDERS), message=ORDERS, caveats=(CaveatNote(ORDERS, AT),))
    problem = Problem("trace", ORDERS, AT)
    report = replace(_file(f"/x/{ORDERS}.py", kernel), problems=(problem,))
    out = io.StringIO()
    delimited.write_csv(out, [report], Selection())
    out.write(delimited.markdown([report], Selection()))
    table.print_reports(console(out, None), [report], Selection())
    outcome.print_problems([report])
    outcome.print_note(ORDERS)
    text = out.getvalue() + capsys.readouterr().err
    assert "[31mb" in text
    assert not any(character in text for character in "\x1b\x07\x9b\x00\u202e\x7f\r")
    # The styles of the program's own stay.
    colored = io.StringIO()
    table.print_reports(console(colored, True), [report], Selection())
    assert "\x1b[" in colored.getvalue() and "\x1b]" not in colored.getvalue()
