"""The rules of the protocol that hold for every message, and the way through a pair of streams."""

from __future__ import annotations

import asyncio
import io
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, BinaryIO, cast

import pytest
from lsprotocol import types
from pygls.protocol import default_converter

from support.lsp_session import ClientHere, run
from support.rpc import CAPABILITIES, RpcError
from tirlens.lsp import clicks, client_process, commands, generated_code, tuning, welcome
from tirlens.lsp.handlers import create_server
from tirlens.lsp.protocol import frame
from tirlens.lsp.serve import serve_client
from tirlens.lsp.transport import Transport, read_message
from tirlens.version import __version__


async def code(client: ClientHere, method: str, params: Any = None) -> int:
    with pytest.raises(RpcError) as caught:
        await client.request(method, params)
    return caught.value.code


def body(method: str, params: Any = None, identity: Any = None) -> bytes:
    message = {"jsonrpc": "2.0", "method": method}
    if identity is not None:
        message["id"] = identity
    return json.dumps(message if params is None else {**message, "params": params}).encode()


# Order


def test_requests_before_initialize_and_after_shutdown_are_refused() -> None:
    async def scenario() -> None:
        client = ClientHere({}, trust_workspace=False)
        assert await code(client, "textDocument/hover", {}) == -32002
        client.notify("textDocument/didClose", {"textDocument": {"uri": "file:///a.py"}})
        assert not client.server.has_session
        assert await code(client, "initialize", {"capabilities": 3}) == -32602
        result = await client.request("initialize", {"capabilities": {}})
        assert result["serverInfo"] == {"name": "tirlens", "version": __version__}
        assert await code(client, "initialize", {"capabilities": {}}) == -32600
        assert await client.command("tirlens.devices")
        protocol = client.server.protocol
        assert not protocol.shut_down
        assert await client.request("shutdown") is None
        assert protocol.shut_down
        assert await code(client, "textDocument/hover", {}) == -32600
        assert protocol.exit_status is None
        client.notify("exit", None)
        assert protocol.exit_status == 0

    asyncio.run(scenario())


def test_exit_without_shutdown_is_a_failure() -> None:
    async def scenario(client: ClientHere) -> None:
        client.notify("exit", None)
        assert client.server.protocol.exit_status == 1

    run(scenario)


def test_requests_in_flight_are_answered_once_at_shutdown(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", "x = 1\n" * 2000)
        for number in range(5):
            params = {"textDocument": {"uri": uri}}
            client.send_bytes(body("textDocument/codeLens", params, f"lens {number}"))
        assert await client.request("shutdown") is None
        await client.until(lambda: all(f"lens {number}" in client.replies for number in range(5)))

    run(scenario)


# What a client may send


@pytest.mark.parametrize(
    ("method", "params", "expected"),
    [
        ("textDocument/hover", {"textDocument": 3}, -32602),
        ("textDocument/inlayHint", [], -32602),
        ("workspace/executeCommand", {"command": "tirlens.none"}, -32602),
        ("workspace/executeCommand", {"command": "tirlens.report", "arguments": [1]}, -32602),
        ("workspace/executeCommand", {"command": "tirlens.reanalyze", "arguments": []}, -32602),
        ("tirlens/nothing", {}, -32601),
    ],
)
def test_bad_requests(method: str, params: Any, expected: int) -> None:
    async def scenario(client: ClientHere) -> None:
        assert await code(client, method, params) == expected
        assert client.messages() == []

    run(scenario)


def test_garbage_is_survived_and_each_id_answered_once() -> None:
    async def scenario(client: ClientHere) -> None:
        def refusals() -> list[int]:
            sent = [message for message in kept if message.get("id") is None and "error" in message]
            return [message["error"]["code"] for message in sent]

        kept: list[Any] = []
        write = client.write

        def keep(data: bytes) -> None:
            kept.append(json.loads(data.partition(b"\r\n\r\n")[2]))
            write(data)

        client.write = keep  # type: ignore[method-assign]
        for bad in (b"{", b"\xff\xfe", b"[" * 100_000):
            client.send_bytes(bad)
        assert refusals() == [-32700] * 3
        for bad in (b"[]", b"3", b"null", b'"x"', b"{}", b'{"jsonrpc": "2.0"}'):
            client.send_bytes(bad)
        assert refusals()[3:] == [-32600] * 6
        client.send({"jsonrpc": "2.0", "id": {"no": 1}, "method": "textDocument/hover"})
        client.send({"jsonrpc": "2.0", "id": True, "method": "textDocument/hover"})
        client.send({"jsonrpc": "2.0", "id": "\ud800", "method": "textDocument/hover"})
        assert refusals()[9:] == [-32600] * 3
        client.send({"jsonrpc": "1.0", "id": "old", "method": "shutdown"})
        assert client.replies["old"]["error"]["code"] == -32600
        client.send({"jsonrpc": "2.0", "id": "no method", "method": 3})
        assert client.replies["no method"]["error"]["code"] == -32600
        count = len(kept)
        # Notifications and answers have no answer.
        client.send({"jsonrpc": "2.0", "id": "unknown answer", "result": 3})
        client.send({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {"no": 1}})
        client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 12345}})
        client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": [1]}})
        client.send({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": None})
        assert len(kept) == count
        assert await client.command("tirlens.devices")

    run(scenario)


def test_an_answer_with_the_id_of_a_request_of_the_client_is_dropped(tmp_path: Path) -> None:
    async def scenario(client: ClientHere) -> None:
        uri = client.open(tmp_path / "a.py", "x = 1\n" * 2000)
        params = {"textDocument": {"uri": uri}}
        client.send_bytes(body("textDocument/codeLens", params, "mine"))
        client.send({"jsonrpc": "2.0", "id": "mine", "result": None})
        await client.until(lambda: "mine" in client.replies)
        assert client.replies["mine"]["result"] == []

    run(scenario)


def test_an_answer_that_cannot_be_read_is_an_error_of_the_request() -> None:
    params = types.ApplyWorkspaceEditParams(edit=types.WorkspaceEdit())

    async def scenario(client: ClientHere) -> None:
        client.answers["workspace/applyEdit"] = 3
        with pytest.raises(Exception, match=r".+"):
            await asyncio.wait_for(client.server.workspace_apply_edit_async(params), 10)
        client.answers["workspace/applyEdit"] = {"applied": True}
        assert (await client.server.workspace_apply_edit_async(params)).applied

    run(scenario)


def test_a_failing_handler_is_an_internal_error_of_its_request() -> None:
    async def scenario(client: ClientHere) -> None:
        def fail(_: Any) -> None:
            raise ZeroDivisionError("no figure")

        client.server.feature("tirlens/fails")(fail)
        assert await code(client, "tirlens/fails", {}) == -32603
        client.notify("tirlens/fails", {})
        assert await client.command("tirlens.devices")

    run(scenario)


def test_a_client_of_a_later_version_is_served(tmp_path: Path) -> None:
    symbols = {"symbol": {"symbolKind": {"valueSet": [99]}}, "inlayHint": {"refreshSupport": True}}

    async def scenario(client: ClientHere) -> None:
        assert client.server.client.refreshes_hints
        uri = client.open(tmp_path / "a.py", "x = 1\n")
        at = {"line": 0, "character": 0}
        problem = {"range": {"start": at, "end": at}, "message": "", "severity": 99, "tags": [99]}
        params = {"textDocument": {"uri": uri}, "range": {"start": at, "end": at}}
        context = {"diagnostics": [problem], "triggerKind": 99, "only": ["refactor.later"]}
        assert await client.request("textDocument/codeAction", {**params, "context": context}) == []
        changes = [{"uri": uri, "type": 99}]
        client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
        assert await client.command("tirlens.devices")

    run(scenario, capabilities={"workspace": symbols, "textDocument": {"semanticTokens": {}}})


# The first answer


@pytest.mark.parametrize("encoding", welcome.ENCODINGS)
def test_welcome_says_what_pygls_would(encoding: str) -> None:
    server = create_server()
    sent: list[Any] = []
    server.protocol._send_data = sent.append  # type: ignore[method-assign]
    capabilities = {**CAPABILITIES, "general": {"positionEncodings": ["utf-7", encoding]}}
    params = {"processId": None, "rootUri": None, "capabilities": capabilities}
    request = body("initialize", params, 1)
    server.protocol.receive(request)
    reply = default_converter().unstructure(sent[0])
    found = welcome.answer(request)
    assert found is not None
    assert json.loads(found[1].partition(b"\r\n\r\n")[2]) == json.loads(json.dumps(reply))
    assert (
        *commands.TABLE,
        *generated_code.TABLE,
        *clicks.TABLE,
        *tuning.TABLE,
    ) == welcome.COMMANDS


@pytest.mark.parametrize(
    "request_",
    [
        b"{",
        b"[]",
        body("shutdown", {"capabilities": {}}, 1),
        body("initialize", {"capabilities": {}}),
        body("initialize", {"capabilities": 3}, 1),
        body("initialize", [], 1),
        body("initialize", {"capabilities": {}}, True),
        body("initialize", {"capabilities": {}}, 1).replace(b'"2.0"', b'"1.0"'),
    ],
)
def test_what_is_odd_is_left_to_the_rules_of_the_protocol(request_: bytes) -> None:
    assert welcome.answer(request_) is None


@pytest.mark.parametrize(
    ("general", "encoding"),
    [
        (None, "utf-16"),
        ({}, "utf-16"),
        ({"positionEncodings": "utf-8"}, "utf-16"),
        ({"positionEncodings": ["utf-7"]}, "utf-16"),
        ({"positionEncodings": [3, "utf-32", "utf-8"]}, "utf-32"),
    ],
)
def test_the_first_known_encoding_is_chosen(general: Any, encoding: str) -> None:
    found = welcome.answer(body("initialize", {"capabilities": {"general": general}}, "a"))
    assert found is not None and found[0] == "a"
    reply = json.loads(found[1].partition(b"\r\n\r\n")[2])
    assert reply["id"] == "a"
    assert reply["result"]["capabilities"]["positionEncoding"] == encoding


# Streams


@pytest.mark.parametrize(
    ("stream", "messages"),
    [
        (b"", []),
        (b"Content-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"content-length:2\r\nContent-Type: x\r\n\r\n{}Content-Length: 1\r\n\r\n3", [b"{}", b"3"]),
        # A stray line, an empty one before any header, and a header that is replaced.
        (b"stray\r\n\r\nContent-Length: 9\r\nContent-Length: 2\r\n\r\n{}", [b"{}"]),
        (b"Content-Length: 3\r\n\r\n{}", []),
        (b"Content-Length: 2\r\n", []),
        (b"Content-Length: 268435457\r\n\r\n{}", []),
        (b"Content-Length: -2\r\n\r\nContent-Length: 0\r\n\r\n", [b""]),
    ],
)
def test_messages_of_a_stream(stream: bytes, messages: list[bytes]) -> None:
    incoming = io.BytesIO(stream)
    found: list[bytes] = []
    while (message := read_message(incoming)) is not None:
        found.append(message)
    assert found == messages


def test_the_length_of_a_message_counts_bytes() -> None:
    text = "\N{GRINNING FACE}\ud800"
    assert (
        read_message(io.BytesIO(frame({"text": text}))) == '{"text": "\N{GRINNING FACE}?"}'.encode()
    )


def served(*messages: bytes, ends: bool) -> tuple[int, list[dict[str, Any]]]:
    """The exit status of a server for these messages over pipes, and what it wrote."""
    read_end, write_end = os.pipe()
    out_read, out_write = os.pipe()
    transport = Transport(
        os.fdopen(read_end, "rb"), cast("BinaryIO", os.fdopen(out_write, "wb", 0))
    )
    found: list[dict[str, Any]] = []

    def read_all() -> None:
        with os.fdopen(out_read, "rb") as stream:
            while (message := read_message(stream)) is not None:
                found.append(json.loads(message))

    reader = threading.Thread(target=read_all)
    reader.start()
    with os.fdopen(write_end, "wb", 0) as incoming:
        for message in messages:
            incoming.write(b"Content-Length: %d\r\n\r\n%b" % (len(message), message))
        if ends:
            incoming.close()
        loop = asyncio.new_event_loop()
        status = loop.run_until_complete(serve_client(transport, False, is_local=True))
    for thread in threading.enumerate():
        if thread.name == "reader":
            thread.join()
    loop.close()
    transport.close()
    transport._outgoing.close()
    reader.join()
    return status, found


HELLO = body("initialize", {"capabilities": {}, "processId": os.getpid()}, 1)


@pytest.mark.parametrize(
    ("messages", "ends", "status", "answered"),
    [
        ((), True, 1, []),
        ((HELLO,), True, 1, [1]),
        ((HELLO, body("shutdown", None, 2)), True, 0, [1, 2]),
        ((HELLO, body("shutdown", None, 2), body("exit")), False, 0, [1, 2]),
        ((HELLO, body("exit")), False, 1, [1]),
        ((body("shutdown", None, 2), HELLO, body("exit")), False, 1, [2, 1]),
    ],
)
def test_a_session_over_pipes(
    messages: tuple[bytes, ...], ends: bool, status: int, answered: list[int]
) -> None:
    found = served(*messages, ends=ends)
    assert found[0] == status
    assert [message["id"] for message in found[1]] == answered


def test_the_end_of_the_process_of_the_client_is_noticed() -> None:
    ended = threading.Event()
    # Nobody asks for its status: it stays as a zombie.
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    client_process.watch(editor.pid, ended.set)
    assert not ended.wait(0.1)
    editor.kill()
    assert ended.wait(30)
    editor.communicate()


@pytest.mark.skipif(sys.platform == "win32", reason="process ids")
def test_a_process_that_is_not_there_is_not_watched() -> None:
    ended = threading.Event()
    client_process.watch(2**22 + 1, ended.set)
    assert not ended.wait(0.1)


@pytest.mark.skipif(sys.platform == "win32", reason="process ids")
def test_a_process_that_has_ended_is_not_alive() -> None:
    editor = subprocess.Popen([sys.executable, "-c", ""])
    editor.wait()
    assert not client_process._is_alive(editor.pid)  # pyright: ignore[reportPrivateUsage]
    assert client_process._is_alive(os.getpid())  # pyright: ignore[reportPrivateUsage]


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
def test_a_process_of_another_user_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whether it has ended is known without the permission to send it a signal."""
    editor = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)

    def refuse(process_id: int, number: int) -> None:
        raise PermissionError(f"{process_id} {number}")

    monkeypatch.setattr(os, "kill", refuse)
    ended = threading.Event()
    client_process.watch(editor.pid, ended.set)
    monkeypatch.undo()
    assert not ended.wait(0.1)
    editor.kill()
    assert ended.wait(30)
    editor.communicate()
