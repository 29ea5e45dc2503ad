"""A JSON-RPC client of a language server, for tests and benchmarks."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

SERVER = Path(__file__).parents[2] / "server"

CAPABILITIES: dict[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "workspace": {
        "inlayHint": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
    },
    "textDocument": {"publishDiagnostics": {"versionSupport": True}},
}


class RpcError(Exception):
    """The server answered with an error."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class Client:
    """A server process and what it has said so far."""

    def __init__(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        command: Sequence[str] = ("-m", "tirlens", "serve", "--stdio"),
        program: Sequence[str] = (sys.executable,),
    ) -> None:
        paths = [str(SERVER), os.environ.get("PYTHONPATH", "")]
        self.process = subprocess.Popen(
            [*program, *command, *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(filter(None, paths)),
                **(environment or {}),
            },
        )
        self.notifications: list[tuple[str, Any]] = []
        self.requests: list[str] = []
        self.asked: list[tuple[str, Any]] = []
        """The requests of the server with their parameters."""
        self.replies: dict[str, Any] = {}
        """What the server's requests are answered with, by method; null by default."""
        self.answers: dict[Any, list[dict[str, Any]]] = {}
        self.stderr = b""
        self.stray: list[bytes] = []
        """Lines between messages that are no header: there must be none."""
        self._changed = threading.Condition()
        self._next_id = 0
        self._sending = threading.Lock()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        threading.Thread(target=self._drain, daemon=True).start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def send_bytes(self, body: bytes) -> None:
        assert self.process.stdin is not None
        with self._sending:
            self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
            self.process.stdin.flush()

    def send(self, message: Any) -> None:
        self.send_bytes(json.dumps(message).encode())

    def notify(self, method: str, params: Any = None) -> None:
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def ask(self, method: str, params: Any = None) -> int:
        """Send a request and return its id without waiting."""
        self._next_id += 1
        self.send({"jsonrpc": "2.0", "id": self._next_id, "method": method, "params": params})
        return self._next_id

    def answer(self, identity: Any, timeout_s: float = 30.0) -> Any:
        """The result of the request `identity`.

        Raises:
            RpcError: the server answered with an error.
        """
        self.wait(lambda: identity in self.answers, timeout_s)
        message = self.answers[identity][0]
        if "error" in message:
            raise RpcError(message["error"]["code"], message["error"]["message"])
        return message.get("result")

    def request(self, method: str, params: Any = None, timeout_s: float = 30.0) -> Any:
        return self.answer(self.ask(method, params), timeout_s)

    def wait(self, condition: Callable[[], bool], timeout_s: float = 30.0) -> None:
        """Wait until `condition` holds, which is looked at after each message."""
        with self._changed:
            if not self._changed.wait_for(condition, timeout_s):
                raise TimeoutError(f"waited {timeout_s} s; the server said {self.stderr[-2000:]!r}")

    def wait_for_answers(self, identities: Sequence[Any], timeout_s: float) -> None:
        """Wait until each of the requests has been answered."""
        deadline = time.monotonic() + timeout_s
        # To look for all of them at each message would take the square of their number.
        for identity in identities:
            left_s = max(0.0, deadline - time.monotonic())
            self.wait(lambda identity=identity: identity in self.answers, left_s)

    def wait_end(self, timeout_s: float = 30.0) -> int:
        return self.process.wait(timeout_s)

    def initialize(self, *, encoding: str = "utf-16", **options: Any) -> Any:
        capabilities = {**CAPABILITIES, "general": {"positionEncodings": [encoding]}}
        result = self.request(
            "initialize",
            {
                "processId": os.getpid(),
                "rootUri": None,
                "capabilities": capabilities,
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        return result

    # Documents

    def open(self, path: Path, text: str | None = None, version: int = 1) -> str:
        uri = path.as_uri()
        content = path.read_text(encoding="utf-8") if text is None else text
        item = {"uri": uri, "languageId": "python", "version": version, "text": content}
        self.notify("textDocument/didOpen", {"textDocument": item})
        return uri

    def replace(self, uri: str, version: int, text: str) -> None:
        self.edit(uri, version, {"text": text})

    def edit(self, uri: str, version: int, *changes: Any) -> None:
        document = {"uri": uri, "version": version}
        params = {"textDocument": document, "contentChanges": list(changes)}
        self.notify("textDocument/didChange", params)

    def save(self, uri: str) -> None:
        self.notify("textDocument/didSave", {"textDocument": {"uri": uri}})

    def states(self, uri: str) -> list[str]:
        """The states that `tirlens/status` has told of `uri`."""
        found = [params for method, params in self.notifications if method == "tirlens/status"]
        return [params["state"] for params in found if params["uri"] == uri]

    def diagnostics(self, uri: str) -> list[Any]:
        """What was published last for `uri`."""
        found = [
            params["diagnostics"]
            for method, params in self.notifications
            if method == "textDocument/publishDiagnostics" and params["uri"] == uri
        ]
        return found[-1] if found else []

    def wait_ready(self, uri: str, times: int = 1, timeout_s: float = 90.0) -> None:
        """Wait until `uri` has been said to be ready `times` times."""
        self.wait(lambda: self.states(uri).count("ready") >= times, timeout_s)

    def hints(self, uri: str, lines: int = 10_000) -> list[tuple[int, str]]:
        """The inlay hints as (0-based line, label)."""
        end = {"line": lines, "character": 0}
        whole = {"start": {"line": 0, "character": 0}, "end": end}
        params = {"textDocument": {"uri": uri}, "range": whole}
        found = self.request("textDocument/inlayHint", params)
        return [(item["position"]["line"], item["label"]) for item in found]

    def lenses(self, uri: str) -> dict[int, list[str]]:
        """The titles of the lenses by 0-based line."""
        found = self.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        by_line: dict[int, list[str]] = {}
        for item in found:
            titles = by_line.setdefault(item["range"]["start"]["line"], [])
            titles.append(item["command"]["title"])
        return by_line

    def hover(self, uri: str, line: int, column: int = 0) -> str | None:
        at = {"line": line, "character": column}
        found = self.request("textDocument/hover", {"textDocument": {"uri": uri}, "position": at})
        return found["contents"]["value"] if found else None

    def command(self, name: str, *arguments: Any) -> Any:
        params = {"command": name, "arguments": list(arguments)}
        return self.request("workspace/executeCommand", params)

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            length = 0
            while (line := stream.readline()) not in (b"\r\n", b""):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
                elif name.lower() != b"content-type":
                    self.stray.append(line)
            if not line:
                return
            message = json.loads(stream.read(length))
            if "method" in message and "id" in message:
                self.requests.append(message["method"])
                self.asked.append((message["method"], message.get("params")))
                result = self.replies.get(message["method"])
                # Its input may be closed by now.
                with contextlib.suppress(OSError, ValueError):
                    self.send({"jsonrpc": "2.0", "id": message["id"], "result": result})
            with self._changed:
                if "method" not in message:
                    self.answers.setdefault(message.get("id"), []).append(message)
                elif "id" not in message:
                    self.notifications.append((message["method"], message["params"]))
                self._changed.notify_all()

    def _drain(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.stderr = (self.stderr + line)[-20_000:]


def elapsed_ms(action: Callable[[], Any]) -> float:
    """How long `action` took, in milliseconds."""
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1e3
