"""The parameters that the server reads, taken from those that a client sends.

The protocol's library rejects a whole message for one value that it does not know. A client may
send what a later version of the protocol defines, so values that the server does not read are left
out before the library sees them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

from lsprotocol import types

# What the server asks of a client's capabilities.
_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": list},
    "window": {"workDoneProgress": bool, "showDocument": {"support": bool}},
    "workspace": {
        "didChangeWatchedFiles": {"dynamicRegistration": bool},
        "inlayHint": {"refreshSupport": bool},
        "codeLens": {"refreshSupport": bool},
    },
}


def read_parameters(method: str, params: Any) -> Any:
    """The parameters of `method` without what the server does not read.

    Parameters of the wrong form are returned as they are: the library rejects them.
    """
    reader = _READERS.get(method)
    if reader is None or not isinstance(params, dict):
        return params
    return reader(cast("dict[str, Any]", params))


def _initialize(params: dict[str, Any]) -> dict[str, Any]:
    capabilities = params.get("capabilities")
    if not isinstance(capabilities, dict):
        return params
    known = _known_fields(cast("dict[str, Any]", capabilities), _CAPABILITIES)
    process = params.get("processId")
    is_process = type(process) is int and 0 < process < 2**31
    return {
        "processId": process if is_process else None,
        "rootUri": None,
        # What the server can do with notebooks is said to every client.
        "capabilities": {**known, "notebookDocument": {"synchronization": {}}},
        "initializationOptions": params.get("initializationOptions"),
    }


def _known_fields(given: object, form: Mapping[str, Any]) -> dict[str, Any]:
    """The values in `given` that have the types of `form`."""
    values = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    found: dict[str, Any] = {}
    for key, wanted in form.items():
        value = values.get(key)
        if isinstance(wanted, dict):
            if inner := _known_fields(value, cast("dict[str, Any]", wanted)):
                found[key] = inner
        elif wanted is list and isinstance(value, list):
            found[key] = [item for item in cast("list[Any]", value) if isinstance(item, str)]
        elif wanted is bool and isinstance(value, bool):
            found[key] = value
    return found


def _code_action(params: dict[str, Any]) -> dict[str, Any]:
    # Actions depend on the place and on who asks, not on the diagnostics and kinds of the request.
    kept: dict[str, Any] = {"diagnostics": []}
    context = params.get("context")
    if isinstance(context, dict):
        trigger = cast("dict[str, Any]", context).get("triggerKind")
        if trigger == types.CodeActionTriggerKind.Automatic.value and type(trigger) is int:
            kept["triggerKind"] = trigger
    return {**params, "context": kept}


def _watched_files(params: dict[str, Any]) -> dict[str, Any]:
    changes = params.get("changes")
    if not isinstance(changes, list):
        return params
    # A file is read again, whatever has happened to it.
    changed = types.FileChangeType.Changed.value
    return {
        "changes": [
            {**cast("dict[str, Any]", change), "type": changed}
            for change in cast("list[Any]", changes)
            if isinstance(change, dict)
        ]
    }


_READERS: Mapping[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    types.INITIALIZE: _initialize,
    types.TEXT_DOCUMENT_CODE_ACTION: _code_action,
    types.WORKSPACE_DID_CHANGE_WATCHED_FILES: _watched_files,
}
