"""The protocol's rules, held by the real server process."""

from __future__ import annotations

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

pytestmark = pytest.mark.slow


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _code(client: Client, method: str, params: Any = None) -> int:
    with pytest.raises(RpcError) as caught:
        client.request(method, params)
    return caught.value.code


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
    assert client.process.stdin is not None
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
