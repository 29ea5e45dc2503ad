"""The answer to `initialize`, before the protocol's library is even imported.

Importing lsprotocol takes longer than an editor should wait, and what the server can do is known
beforehand.  The answer is therefore written here by hand; a test holds it to what pygls says.
"""

from __future__ import annotations

import json
import re
from typing import Any, cast

from tirlens.version import __version__

OWN_ACTION = "source.tirlens"
"""The kind of the code actions that do what a lens does, for editors that show no lenses."""
ENCODINGS = ("utf-8", "utf-16", "utf-32")
COMMANDS = (
    "tirlens.setRoom",
    "tirlens.report",
    "tirlens.reportPage",
    "tirlens.adviceEdit",
    "tirlens.devices",
    "tirlens.calls",
    "tirlens.reanalyze",
    "tirlens.setDevice",
    "tirlens.setCall",
    "tirlens.show",
    "tirlens.hottestLine",
    "tirlens.heat",
    "tirlens.pinBaseline",
    "tirlens.clearBaseline",
    "tirlens.debugInformation",
    "tirlens.generatedCode",
    "tirlens.missingTools",
    "tirlens.installToolchain",
    "tirlens.toggle",
    "tirlens.goToHottestLine",
    "tirlens.pin",
    "tirlens.unpin",
    "tirlens.showReport",
    "tirlens.showGeneratedCode",
    "tirlens.chooseDevice",
    "tirlens.chooseCall",
    "tirlens.analyze",
    "tirlens.manageTrust",
    "tirlens.tuneKernel",
)

_SURROGATE = re.compile(r"[\ud800-\udfff]")


def answer(body: bytes) -> tuple[Any, bytes] | None:
    """The id of the `initialize` request in `body` and the reply to it.

    None for anything else, and for anything odd: the protocol's own rules then decide.
    """
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        return None
    if not isinstance(message, dict):
        return None
    request = cast("dict[str, Any]", message)
    identity, params = request.get("id"), request.get("params")
    plain = request.get("jsonrpc") == "2.0" and request.get("method") == "initialize"
    if not plain or not is_id(identity) or not isinstance(params, dict):
        return None
    if not isinstance(cast("dict[str, Any]", params).get("capabilities"), dict):
        return None
    result = {
        "capabilities": capabilities(_encoding(cast("dict[str, Any]", params))),
        "serverInfo": {"name": "tirlens", "version": __version__},
    }
    reply = json.dumps({"jsonrpc": "2.0", "id": identity, "result": result}).encode()
    return identity, b"Content-Length: %d\r\n\r\n" % len(reply) + reply


def is_id(value: object) -> bool:
    """Whether `value` can be the id of a request: an integer, or text that can be sent back."""
    if isinstance(value, str):
        return _SURROGATE.search(value) is None
    return type(value) is int


def capabilities(encoding: str) -> dict[str, Any]:
    """What the server can do."""
    return {
        "positionEncoding": encoding,
        "textDocumentSync": {"openClose": True, "change": 2, "save": {"includeText": False}},
        "notebookDocumentSync": {
            "notebookSelector": [
                # With its notes: they count in the numbers of the cells.
                {"notebook": {"notebookType": "jupyter-notebook"}}
            ],
            "save": True,
        },
        "hoverProvider": True,
        "documentSymbolProvider": True,
        "codeActionProvider": {"codeActionKinds": ["refactor.rewrite", OWN_ACTION]},
        "codeLensProvider": {"resolveProvider": False},
        "executeCommandProvider": {"commands": list(COMMANDS)},
        "inlayHintProvider": {"resolveProvider": False},
        "workspace": {
            "workspaceFolders": {"supported": True, "changeNotifications": True},
            "fileOperations": {},
        },
    }


def _encoding(params: dict[str, Any]) -> str:
    """The first unit of columns that the client offers and the server knows; UTF-16 otherwise."""
    general: Any = params["capabilities"].get("general")
    if not isinstance(general, dict):
        return "utf-16"
    offered: Any = cast("dict[str, Any]", general).get("positionEncodings")
    if isinstance(offered, list):
        for name in cast("list[Any]", offered):
            if name in ENCODINGS:
                return cast("str", name)
    return "utf-16"
