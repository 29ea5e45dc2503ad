"""An idle pygls server that answers with what it was given: how fast any server could be here.

    python tests/support/echo_server.py ANSWERS.json

The file maps methods to results; notifications are taken and nothing is done.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.lsp.server import LanguageServer


def main(path: Path) -> None:
    answers: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    server = LanguageServer("echo", "1", text_document_sync_kind=types.TextDocumentSyncKind.None_)
    for method, answer in answers.items():
        response = types.METHOD_TO_TYPES[method][1]
        message = {"jsonrpc": "2.0", "id": 1, "result": answer}
        value = get_converter().structure(message, response).result

        def echo(_: Any, value: Any = value) -> Any:
            return value

        server.feature(method)(echo)
    server.start_io()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
