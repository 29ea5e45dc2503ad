"""The protocol's rules, held by the real server process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.robust import is_in_time, kernel, marked, new_mark, until
from support.rpc import CAPABILITIES, SERVER, Client, RpcError
from tirlens.lsp import welcome

pytestmark = pytest.mark.slow


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _code(client: Client, method: str, params: Any = None) -> int:
    with pytest.raises(RpcError) as caught:
        client.request(method, params)
    return caught.value.code


def test_request_before_initialize_is_refused(client: Client) -> None:
    assert _code(client, "textDocument/hover", {}) == -32002
    assert client.initialize()["serverInfo"]["name"] == "tirlens"
    assert _code(client, "initialize", {"capabilities": {}}) == -32600


def test_a_client_of_a_later_version_is_served(client: Client, tmp_path: Path) -> None:
    symbols = {"symbol": {"symbolKind": {"valueSet": [99]}}, "inlayHint": {"refreshSupport": True}}
    tokens: dict[str, Any] = {"semanticTokens": {}}
    capabilities = {"workspace": symbols, "textDocument": tokens}
    params: dict[str, Any] = {"trace": "compact", "clientInfo": {}, "capabilities": capabilities}
    assert client.request("initialize", params)["serverInfo"]["name"] == "tirlens"
    client.notify("initialized", {})
    uri = client.open(tmp_path / "a.py", "x = 1\n")
    at = {"line": 0, "character": 0}
    place = {"start": at, "end": at}
    problem = {"range": place, "message": "", "severity": 99, "tags": [99]}
    params = {"textDocument": {"uri": uri}, "range": place}
    context = {"diagnostics": [problem], "triggerKind": 99, "only": ["refactor.later"]}
    assert client.request("textDocument/codeAction", {**params, "context": context}) == []
    changes = [{"uri": uri, "type": 99}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    assert client.command("tirlens.devices")
    assert b"invalid" not in client.stderr
    assert len(client.answers[1]) == 1


def test_unreadable_initialize_is_an_error_once(client: Client) -> None:
    assert _code(client, "initialize", {"capabilities": 3}) == -32602
    assert client.initialize()["serverInfo"]["name"] == "tirlens"
    assert client.command("tirlens.devices")
    assert b"invalid params of initialize" in client.stderr
    assert all(len(answers) == 1 for answers in client.answers.values())


def test_shutdown_with_requests_in_flight(client: Client, tmp_path: Path) -> None:
    client.initialize()
    uri = client.open(tmp_path / "a.py", "x = 1\n" * 2000)
    asked = [client.ask("textDocument/codeLens", {"textDocument": {"uri": uri}}) for _ in range(5)]
    assert client.request("shutdown") is None
    client.wait(lambda: all(identity in client.answers for identity in asked))
    assert _code(client, "textDocument/hover", {}) == -32600
    client.notify("exit")
    assert client.wait_end() == 0
    assert all(len(answers) == 1 for answers in client.answers.values())


def test_exit_without_shutdown_has_status_1(client: Client) -> None:
    client.initialize()
    client.notify("exit")
    assert client.wait_end() == 1


def test_end_of_input_ends_the_server_within_a_second(client: Client) -> None:
    client.initialize()
    client.command("tirlens.devices")
    began = time.monotonic()
    client.process.stdin.close()
    assert client.wait_end(30) == 1
    assert is_in_time(began, 1.0)


def _working(client: Client, folder: Path, python: Path, **params: Any) -> None:
    """Start an analysis that does not end by itself."""
    params = {"capabilities": CAPABILITIES, "initializationOptions": {"trusted": True}, **params}
    client.request("initialize", params)
    client.notify("initialized", {})
    settings = {"tirlens": {"python": str(python)}}
    client.notify("workspace/didChangeConfiguration", {"settings": settings})
    uri = client.open(folder / "a.py", "import time\ntime.sleep(60)\n" + kernel(1024))
    client.wait(lambda: "analyzing" in client.states(uri))


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("is_working", [False, True])
def test_ctrl_c_ends_the_server_with_130(
    client: Client, tmp_path: Path, tvm_python: Path, is_working: bool
) -> None:
    if is_working:
        _working(client, tmp_path, tvm_python)
    else:
        client.initialize()
    client.process.send_signal(signal.SIGINT)
    assert client.wait_end(10) == 130
    assert b"Traceback" not in client.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors")
@pytest.mark.parametrize("closing", ["os.close(2)", "r, w = os.pipe(); os.dup2(w, 2); os.close(r)"])
def test_a_closed_standard_error_does_not_matter(closing: str, tmp_path: Path) -> None:
    serve = "[sys.executable, '-m', 'tirlens', 'serve', '--stdio']"
    code = f"import os, sys; {closing}; os.execv(sys.executable, {serve})"
    with Client(command=("-c", code)) as client:
        client.initialize()
        client.notify("textDocument/didOpen", {"bad": 1})
        client.open(tmp_path / "a.py", "x = 1\n")
        assert client.command("tirlens.devices")
        assert client.request("shutdown") is None
        client.notify("exit")
        assert client.wait_end() == 0
        assert client.stray == []


@pytest.mark.skipif(sys.platform == "win32", reason="sleep")
@pytest.mark.parametrize("is_working", [False, True])
def test_the_server_ends_with_the_process_of_its_client(
    tmp_path: Path, tvm_python: Path, is_working: bool
) -> None:
    mark = new_mark()
    # Nobody asks for its status: it stays as a zombie.
    editor = subprocess.Popen(["sleep", "60"])
    with Client(environment=mark) as client:
        if is_working:
            _working(client, tmp_path, tvm_python, processId=editor.pid)
        else:
            client.request("initialize", {"processId": editor.pid, "capabilities": {}})
        assert client.command("tirlens.devices")
        editor.kill()
        began = time.monotonic()
        assert client.wait_end(10) == 1
        assert is_in_time(began, 2.0)
        until(lambda: not marked(mark), 2.0, "the end of all processes")
    editor.wait()


def test_a_client_in_another_container_is_served(client: Client) -> None:
    client.request("initialize", {"processId": 2**22 + 1, "capabilities": {}})
    time.sleep(0.7)
    assert client.command("tirlens.devices")


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("textDocument/hover", {"textDocument": 3}, -32602),
        ("textDocument/inlayHint", [], -32602),
        ("workspace/executeCommand", {"command": "tirlens.none"}, -32602),
        ("workspace/executeCommand", {"command": "tirlens.report", "arguments": [1]}, -32602),
        ("workspace/executeCommand", {"command": "tirlens.reanalyze", "arguments": []}, -32602),
        ("tirlens/nothing", {}, -32601),
    ],
)
def test_bad_requests(client: Client, method: str, params: Any, code: int) -> None:
    client.initialize()
    assert _code(client, method, params) == code
    assert not [name for name, _ in client.notifications if name == "window/showMessage"]


def test_garbage_is_survived_and_each_id_answered_once(client: Client) -> None:
    client.initialize()
    for body in (b"{", b"[]", b"3", b"null", b'"x"', b"\xff\xfe", b"{}", b'{"jsonrpc": "2.0"}'):
        client.send_bytes(body)
    client.send({"jsonrpc": "2.0", "id": {"no": 1}, "method": "textDocument/hover"})
    client.send({"jsonrpc": "1.0", "id": "old", "method": "shutdown"})
    client.send({"jsonrpc": "2.0", "id": "unknown answer", "result": 3})
    client.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"no": 1}})
    client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 12345}})
    client.send({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": None})
    assert client.command("tirlens.devices")
    assert client.answers["old"][0]["error"]["code"] == -32600
    assert "unknown answer" not in client.answers
    assert len(client.answers[None]) == 9
    assert all(len(found) == 1 for key, found in client.answers.items() if key is not None)


def test_first_requests_wait_for_no_import_of_the_model() -> None:
    """What the model needs takes longer to import than the first lenses may take."""
    code = (
        "import sys, tirlens.lsp.handlers, tirlens.lsp.convert, tirlens.session.view;"
        "print(*[name for name in ('numpy', 'tirlens.model', 'tirlens.pipeline')"
        " if name in sys.modules])"
    )
    environment = {**os.environ, "PYTHONPATH": str(SERVER)}
    found = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert found.stdout.split() == []


@pytest.mark.parametrize("encoding", welcome.ENCODINGS)
def test_welcome_says_what_pygls_would(encoding: str) -> None:
    from pygls.protocol import default_converter

    from tirlens.lsp import clicks, commands
    from tirlens.lsp.handlers import create_server

    server = create_server()
    sent: list[Any] = []
    server.protocol._send_data = sent.append  # type: ignore[method-assign]
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": ["utf-7", encoding]}}
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    body = json.dumps(
        {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params}
    ).encode()
    server.protocol.receive(body)
    reply = default_converter().unstructure(sent[0])
    found = welcome.answer(body)
    assert found is not None
    assert json.loads(found[1].partition(b"\r\n\r\n")[2]) == json.loads(json.dumps(reply))
    assert (*commands.TABLE, *clicks.TABLE) == welcome.COMMANDS


def test_documents_stay_exact_over_the_wire(client: Client, tmp_path: Path) -> None:
    """The lens is where the `def` is, after edits on lines with every kind of line end."""
    client.initialize(encoding="utf-8")
    head = "from tvm.script import tirx as T\r\n# \u2028\f😋x\n"
    kernel = "@T.prim_func\ndef k(A: T.Buffer((8,), 'float32')):\n    A[0] = 0\n"
    uri = client.open(tmp_path / "a.py", head + kernel)
    assert list(client.lenses(uri)) == [3]
    at = {"line": 1, "character": len("# \u2028\f😋".encode())}
    client.edit(uri, 2, {"range": {"start": at, "end": at}, "text": "\r\n#"})
    past = {"line": 2, "character": 999}
    client.edit(uri, 3, {"range": {"start": past, "end": past}, "text": "\r"})
    # The carriage return joined the line feed behind it into one line end.
    assert list(client.lenses(uri)) == [4]
    client.edit(uri, 4, {"range": {"start": past, "end": past}, "text": "\r#"})
    assert list(client.lenses(uri)) == [5]
