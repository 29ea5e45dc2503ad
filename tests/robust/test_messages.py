"""Requirement 6: malformed and mis-ordered messages; each id is answered exactly once."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest

from support.robust import amount
from support.rpc import Client

pytestmark = [pytest.mark.slow, pytest.mark.timeout(amount(300, 1200))]
URI = "file:///nowhere/a.py"
_AT = {"line": 0, "character": 0}
_RANGE = {"start": _AT, "end": {"line": 3, "character": 5}}
_DOCUMENT = {"textDocument": {"uri": URI}}
REQUESTS: dict[str, Any] = {
    "textDocument/hover": {**_DOCUMENT, "position": _AT},
    "textDocument/inlayHint": {**_DOCUMENT, "range": _RANGE},
    "textDocument/codeLens": _DOCUMENT,
    "textDocument/documentSymbol": _DOCUMENT,
    "textDocument/codeAction": {**_DOCUMENT, "range": _RANGE, "context": {"diagnostics": []}},
    "workspace/executeCommand": {"command": "tirlens.calls", "arguments": [URI, None]},
    "initialize": {"processId": None, "rootUri": None, "capabilities": {}},
    "tirlens/none": {},
    "$/none": [],
}
NOTIFICATIONS: dict[str, Any] = {
    "textDocument/didOpen": {
        "textDocument": {"uri": URI, "languageId": "python", "version": 1, "text": "x = 1\n"}
    },
    "textDocument/didChange": {
        "textDocument": {"uri": URI, "version": 2},
        "contentChanges": [{"range": _RANGE, "text": "y"}, {"text": "def f(:\n"}],
    },
    "textDocument/didSave": _DOCUMENT,
    "textDocument/didClose": _DOCUMENT,
    "workspace/didChangeConfiguration": {"settings": {"tirlens": {"device": "h100-sxm"}}},
    "window/workDoneProgress/cancel": {"token": 1},
    "$/cancelRequest": {"id": 3},
    "$/setTrace": {"value": "off"},
    "initialized": {},
}
_ODD: list[Any] = [
    None, True, -1, 2**40, 1.5, "", "\0", "\ud800", "漢" * 40, [], {}, [[]], {"uri": None},
    "x" * 5000, "file:///%00", "untitled:Untitled-1", "../..", {"line": -1, "character": -1},
]  # fmt: skip


def mutate(source: random.Random, value: Any) -> Any:
    """`value` with something in it replaced, removed or added."""
    roll = source.random()
    if roll < 0.3 or not isinstance(value, (dict, list)) or not value:
        return source.choice(_ODD)
    if isinstance(value, list):
        copy: Any = list(value)
        at: Any = source.randrange(len(copy))
    else:
        copy = dict(value)
        at = source.choice(list(copy))
    if roll < 0.5:
        del copy[at]
    else:
        copy[at] = mutate(source, copy[at])
    return copy


class Storm:
    """Sends one odd message after the other and remembers which ids must be answered."""

    def __init__(self, client: Client, seed: int) -> None:
        self.client = client
        self.source = random.Random(seed)
        self.expected: list[Any] = []

    def message(self, number: int) -> None:
        source = self.source
        roll = source.random()
        if roll < 0.08:
            self.client.send_bytes(self._garbage())
        elif roll < 0.12:
            kind = source.choice(["result", "error"])
            identity = source.choice([number, f"s{number}", None, {}, 1.5])
            self.client.send({"jsonrpc": "2.0", "id": identity, kind: source.choice(_ODD)})
        elif roll < 0.5:
            method = source.choice(list(NOTIFICATIONS))
            self.client.send(self._body(method, NOTIFICATIONS[method]))
        else:
            method = source.choice(list(REQUESTS))
            body = self._body(method, REQUESTS[method])
            body["id"] = source.choice([1_000_000 + number, f"id {number} ✓"])
            if source.random() < 0.05:
                body["jsonrpc"] = source.choice(["1.0", None, 2])
            self.expected.append(body["id"])
            self.client.send(body)
            if source.random() < 0.1:
                params = {"id": body["id"]}
                self.client.send({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": params})

    def _body(self, method: str, params: Any) -> dict[str, Any]:
        body: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if self.source.random() < 0.7:
            body["params"] = mutate(self.source, params)
        elif self.source.random() < 0.1:
            del body["params"]
        return body

    def _garbage(self) -> bytes:
        good = json.dumps(self._body("textDocument/hover", REQUESTS["textDocument/hover"])).encode()
        return self.source.choice(
            [
                self.source.randbytes(self.source.randrange(60)),
                good[: self.source.randrange(len(good))],
                b"[" * 5000,
                b"[1, 2]",
                b'{"jsonrpc": "2.0", "id": NaN, "method": 3}',
                b"",
            ]
        )


def _answered(client: Client, expected: list[Any]) -> None:
    client.wait_for_answers(expected, amount(30, 300))
    counts = {identity: len(client.answers[identity]) for identity in expected}
    assert {identity: count for identity, count in counts.items() if count != 1} == {}


@pytest.mark.parametrize("seed", range(3))
def test_06_malformed_messages_are_survived_and_each_id_answered_once(seed: int) -> None:
    with Client() as client:
        storm = Storm(client, seed)
        # Before `initialize` every request is refused, each once.
        early = [client.ask("textDocument/hover", {}) for _ in range(20)]
        client.initialize()
        for number in range(amount(1000, 33_400)):
            storm.message(number)
        _answered(client, [*early, *storm.expected])
        assert client.command("tirlens.devices"), "the server is alive"
        shown = {name for name, _ in client.notifications} | set(client.requests)
        assert shown.isdisjoint({"window/showMessage", "window/showMessageRequest"})
        assert client.stray == []
        # After `shutdown` every request is refused, each once.
        assert client.request("shutdown") is None
        late = [client.ask("textDocument/codeLens", _DOCUMENT) for _ in range(20)]
        _answered(client, late)
        assert {client.answers[identity][0]["error"]["code"] for identity in late} == {-32600}
        client.notify("exit")
        assert client.wait_end() == 0


@pytest.mark.parametrize(
    "answer", [{"result": None}, {"error": 7}, {"error": {"code": 1, "message": "no"}}]
)
def test_06_an_answer_with_the_id_of_an_own_request_is_dropped(answer: dict[str, Any]) -> None:
    with Client() as client:
        client.initialize()
        for _ in range(20):
            # Both are read before the request, which is handled in a task, has been answered.
            identity = client.ask("textDocument/documentSymbol", _DOCUMENT)
            client.send({"jsonrpc": "2.0", "id": identity, **answer})
            _answered(client, [identity])
        assert client.command("tirlens.devices"), "the server is alive"


def test_06_stray_bytes_between_messages_do_not_end_the_session() -> None:
    with Client() as client:
        client.initialize()
        assert client.process.stdin is not None
        for stray in (b"\r\n", b"hello\r\n", b"\xff\xfe\x00\n", b"X-Header: 1\r\n", b"\n" * 50):
            client.process.stdin.write(stray)
            client.process.stdin.flush()
            assert client.command("tirlens.devices")
