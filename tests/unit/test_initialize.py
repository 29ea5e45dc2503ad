"""`initialize` with whatever a client of another version of the protocol may send."""

from __future__ import annotations

import enum
import inspect
import json
import re
import typing
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st
from lsprotocol import types

from support.properties import examples
from support.robust import Recorder
from tirlens.lsp import welcome
from tirlens.lsp.handlers import create_server

UNKNOWN = st.sampled_from(["compact", 99, -1, True, None, {}, [], [None], 1.5, {"new": {"a": [1]}}])


def _nested(path: str, value: Any) -> Any:
    for name in reversed(path.split(".")):
        value = {name: value}
    return value


# Each was answered, and every request after it was refused.
VARIANTS: dict[str, dict[str, Any]] = {
    "trace": {"trace": "compact"},
    "client without a name": {"clientInfo": {}},
    "process": {"processId": "none"},
    "root": {"rootUri": "file://[bad"},
    "folders": {"workspaceFolders": [{"uri": 3}]},
    "locale": {"locale": 7},
    "options": {"initializationOptions": json.loads("[" * 400 + "]" * 400)},
    **{
        f"{path} {value!r}": {"capabilities": _nested(path, value)}
        for path, value in {
            "workspace.symbol.symbolKind.valueSet": [99],
            "workspace.workspaceEdit.resourceOperations": ["teleport"],
            "workspace.workspaceEdit.failureHandling": "soon",
            "textDocument.documentSymbol.tagSupport": {"valueSet": [99]},
            "textDocument.publishDiagnostics.tagSupport": {"valueSet": [99]},
            "textDocument.completion.completionItem.tagSupport": {},
            "textDocument.semanticTokens": {"formats": ["absolute"]},
            "textDocument.semanticTokens.requests": {},
            "textDocument.foldingRange.foldingRangeKind": {"valueSet": 3},
            "general.markdown": {},
            "notebookDocument": {},
            "window.workDoneProgress": "yes",
        }.items()
    },
}


def _camel(name: str) -> str:
    return re.sub(r"_([a-z])", lambda found: found.group(1).upper(), name.rstrip("_"))


def _values(kind: Any) -> st.SearchStrategy[Any]:
    """JSON of a type of the protocol, with values in it that the protocol does not define."""
    parts = [part for part in typing.get_args(kind) if part is not type(None)]
    origin = typing.get_origin(kind)
    if origin is typing.Union:
        return st.one_of(*map(_values, parts))
    if origin is not None and issubclass(origin, typing.Mapping):
        return st.dictionaries(st.text(max_size=3), _values(parts[1]), max_size=2)
    if origin is not None:
        return st.lists(_values(parts[0]) | UNKNOWN, max_size=3)
    if inspect.isclass(kind) and attrs.has(kind):
        return _objects(kind)
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return st.sampled_from([item.value for item in kind]) | UNKNOWN
    plain: dict[Any, st.SearchStrategy[Any]] = {
        bool: st.booleans(),
        str: st.text(max_size=5),
        int: st.integers(0, 99),
    }
    return plain.get(kind, UNKNOWN)


@st.composite
def _objects(draw: st.DrawFn, kind: type) -> dict[str, Any]:
    found: dict[str, Any] = {"later": 1} if draw(st.integers(0, 20)) == 20 else {}
    for field in attrs.fields(kind):
        choice = draw(st.integers(0, 30))
        if choice > 3:
            found[_camel(field.name)] = draw(_values(field.type))
        elif choice == 3:
            found[_camel(field.name)] = draw(UNKNOWN)
    return found


def _initialize(params: dict[str, Any]) -> None:
    """The server answers once, as its fast path does, and handles what comes after."""
    params = {"processId": None, "rootUri": None, "capabilities": {}, **params}
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": params})
    server = create_server()
    recorder = Recorder()
    server.protocol.set_writer(recorder)
    server.protocol.receive(body.encode())
    quick = welcome.answer(body.encode())
    assert quick is not None
    assert recorder.sent == [json.loads(quick[1].partition(b"\r\n\r\n")[2])]
    command: dict[str, Any] = {"command": "tirlens.manageTrust", "arguments": []}
    message = {"jsonrpc": "2.0", "id": 2, "method": "workspace/executeCommand", "params": command}
    server.protocol.receive(json.dumps(message).encode())
    assert recorder.sent[-1] == {"jsonrpc": "2.0", "id": 2, "result": None}


@pytest.mark.parametrize("params", VARIANTS.values(), ids=VARIANTS)
def test_values_of_another_version_are_tolerated(params: dict[str, Any]) -> None:
    _initialize(params)


@pytest.mark.slow
@examples(30)
@given(_objects(types.InitializeParams))
def test_whatever_the_meta_model_allows_and_more(params: dict[str, Any]) -> None:
    if not isinstance(params.get("capabilities"), dict):
        params["capabilities"] = {}
    _initialize(params)
