"""``tirlens serve --tcp``: one client on a port of this machine."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO

import pytest

from support.rpc import SERVER

pytestmark = pytest.mark.slow


@pytest.fixture
def served() -> Iterator[tuple[subprocess.Popen[bytes], socket.socket]]:
    """A server on a free port, and a connection to it."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tirlens", "serve", "--tcp", "127.0.0.1:0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(SERVER)},
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline().decode()
        found = re.search(r"listening on 127\.0\.0\.1:(\d+)", said)
        assert found is not None, said
        with socket.create_connection(("127.0.0.1", int(found[1])), timeout=30) as connection:
            yield process, connection
    finally:
        process.kill()
        process.wait()


def _send(stream: BinaryIO, message: Any) -> None:
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    stream.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
    stream.flush()


def _receive(stream: BinaryIO, identity: int) -> Any:
    """The answer to the request `identity`; what else comes is passed over."""
    while True:
        length = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        assert line, "the connection has ended"
        message = json.loads(stream.read(length))
        if message.get("id") == identity and "method" not in message:
            return message


TEXT = (
    "from tvm.script import tirx as T\n@T.prim_func\ndef f(A: T.Buffer((8,), 'int8')):\n    pass\n"
)


def test_a_session_over_tcp(served: tuple[subprocess.Popen[bytes], socket.socket]) -> None:
    process, connection = served
    stream = connection.makefile("rwb")
    parameters = {"processId": None, "rootUri": None, "capabilities": {}}
    _send(stream, {"id": 1, "method": "initialize", "params": parameters})
    assert _receive(stream, 1)["result"]["serverInfo"]["name"] == "tirlens"
    _send(stream, {"method": "initialized", "params": {}})
    document = {"uri": "file:///a.py", "languageId": "python", "version": 1, "text": TEXT}
    _send(stream, {"method": "textDocument/didOpen", "params": {"textDocument": document}})
    where = {"textDocument": {"uri": "file:///a.py"}}
    _send(stream, {"id": 2, "method": "textDocument/codeLens", "params": where})
    (lens,) = _receive(stream, 2)["result"]
    assert lens["command"]["title"].startswith("untrusted")
    _send(stream, {"id": 3, "method": "shutdown"})
    assert _receive(stream, 3)["result"] is None
    _send(stream, {"method": "exit"})
    assert process.wait(5) == 0
    assert process.stdout is not None
    assert process.stdout.read() == b"", "nothing is said on standard output"


def test_the_server_ends_with_the_connection(
    served: tuple[subprocess.Popen[bytes], socket.socket],
) -> None:
    process, connection = served
    connection.shutdown(socket.SHUT_RDWR)
    assert process.wait(5) == 1


@pytest.mark.parametrize("port", ["x", "127.0.0.1:x", "127.0.0.1:99999", "nowhere.invalid:80"])
def test_a_port_that_cannot_be_listened_on_is_said(port: str) -> None:
    found = subprocess.run(
        [sys.executable, "-m", "tirlens", "serve", "--tcp", port],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "PYTHONPATH": str(SERVER)},
        check=False,
    )
    assert found.returncode not in (0, -6)
    assert "Traceback" not in found.stderr
    assert found.stderr.strip()
