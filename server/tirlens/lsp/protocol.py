"""The protocol's rules that pygls leaves open: lifecycle, bad messages, exactly one answer each.

Requests before `initialize` are refused with -32002, after `shutdown` with -32600; parameters of
the wrong form get -32602 at once; nothing that a client sends makes a window pop up; `shutdown`
succeeds with requests in flight.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pygls.protocol import LanguageServerProtocol, lsp_method

from tirlens.lsp.parameters import read_parameters
from tirlens.lsp.welcome import is_id

logger = logging.getLogger(__name__)

PARSE_ERROR = -32700
INVALID_REQUEST = -32600
INVALID_PARAMS = -32602
INTERNAL_ERROR = -32603
NOT_INITIALIZED = -32002


@dataclass(frozen=True)
class PlainJson:
    """A result that is sent as it is, and not first looked through for the protocol's types."""

    value: Any


class Protocol(LanguageServerProtocol):
    """pygls' protocol behind a gate."""

    # Documents are kept exactly by the session; pygls' own copy would be a second, looser one.
    lsp_text_document__did_open = None  # type: ignore[assignment]
    lsp_text_document__did_change = None  # type: ignore[assignment]
    lsp_text_document__did_close = None  # type: ignore[assignment]
    lsp_notebook_document__did_open = None  # type: ignore[assignment]
    lsp_notebook_document__did_change = None  # type: ignore[assignment]
    lsp_notebook_document__did_close = None  # type: ignore[assignment]
    # The main loop ends the process, with the right status.
    lsp_exit = None  # type: ignore[assignment]

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._initialized = False
        self._unanswered: set[int | str] = set()
        self.exit_status: int | None = None
        self.answered: Any = None
        """The id of a request that has had its answer already."""

    @property
    def shut_down(self) -> bool:
        """Whether the client has asked for `shutdown`."""
        return self._shutdown

    def receive(self, body: bytes) -> None:
        """Handle one message."""
        try:
            message = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(None, PARSE_ERROR, "not JSON")
            return
        if not isinstance(message, dict):
            self._refuse(None, INVALID_REQUEST, "not a single message")
            return
        self._admit(cast("dict[str, Any]", message))

    def _admit(self, message: dict[str, Any]) -> None:
        identity = message.get("id")
        has_id = is_id(identity)
        method = message.get("method")
        if not isinstance(method, str):
            if "method" not in message and ("result" in message or "error" in message):
                self._deliver(message)
            else:
                self._refuse(identity if has_id else None, INVALID_REQUEST, "no method")
            return
        if message.get("jsonrpc") != "2.0" or ("id" in message and not has_id):
            self._refuse(identity if has_id else None, INVALID_REQUEST, "not JSON-RPC 2.0")
            return
        if method == types.EXIT:
            self.exit_status = 0 if self._shutdown else 1
            return
        reason = self._out_of_order(method)
        if reason is not None:
            if has_id:
                self._refuse(identity, *reason)
            return
        try:
            params = read_parameters(method, message.get("params"))
            structured = self.structure_message({**message, "params": params})
        except (JsonRpcException, RecursionError):
            logger.warning("invalid params of %s", method)
            if has_id:
                self._refuse(identity, INVALID_PARAMS, f"invalid params of {method}")
            return
        if method == types.INITIALIZE:
            self._initialized = True
        self._handle(structured, identity if has_id else None)

    def _handle(self, structured: Any, identity: Any) -> None:
        """Handle a message; whatever goes wrong in it, the server lives and its id is answered."""
        if structured.method == types.CANCEL_REQUEST and not is_id(structured.params.id):
            return
        if identity is not None:
            self._unanswered.add(identity)
        try:
            self.handle_message(structured)
        except Exception as error:
            logger.exception("%s failed", structured.method)
            if identity in self._unanswered:
                self._refuse(identity, INTERNAL_ERROR, f"{type(error).__name__}: {error}")

    def _out_of_order(self, method: str) -> tuple[int, str] | None:
        if self._shutdown:
            return INVALID_REQUEST, "the server is shut down"
        if method == types.INITIALIZE:
            return (INVALID_REQUEST, "already initialized") if self._initialized else None
        if not self._initialized:
            return NOT_INITIALIZED, "the server is not initialized"
        return None

    def _deliver(self, message: dict[str, Any]) -> None:
        """Hand the client's answer to who asked; an answer that cannot be read is an error."""
        identity = message.get("id")
        if not isinstance(identity, (int, str)) or identity not in self._request_futures:
            return
        # pygls keeps the client's own requests, while they are handled, under their ids there too.
        if isinstance(self._request_futures[identity], asyncio.Task):
            return
        try:
            answer: Any = self.structure_message({"jsonrpc": "2.0", **message})
            self.handle_message(answer)
        except (JsonRpcException, RecursionError) as error:
            future = self._request_futures.pop(identity, None)
            if future is not None and not future.done():
                future.set_exception(error)

    def _send_response(
        self, msg_id: Any, result: Any = None, error: types.ResponseError | None = None
    ) -> None:
        if self.answered is not None and msg_id == self.answered:
            self.answered = None
            return
        self._unanswered.discard(msg_id)
        if isinstance(result, PlainJson) and error is None:
            self._result_types.pop(msg_id, None)
            self._send_plain({"jsonrpc": "2.0", "id": msg_id, "result": result.value})
        else:
            super()._send_response(msg_id, result, error)

    def _send_plain(self, message: dict[str, Any]) -> None:
        if self.writer is not None:
            self.writer.write(frame(message))

    def _send_data(self, data: Any) -> None:
        """Send a message as UTF-8. pygls' own escapes lone surrogates, which no decoder accepts."""
        if not data or self.writer is None:
            return
        try:
            self.writer.write(frame(data, self._serialize_message))
        except (TypeError, ValueError, RecursionError):
            logger.exception("A message could not be written")

    def _refuse(self, identity: Any, code: int, message: str) -> None:
        self._send_response(identity, error=types.ResponseError(code=code, message=message))

    @lsp_method(types.SHUTDOWN)
    def lsp_shutdown(self, *args: Any) -> Any:
        """Cancel what is under way and answer; pygls' own stumbles over requests in flight."""
        for future in list(self._request_futures.values()):
            future.cancel()
        self._shutdown = True


def frame(message: Any, serialize: Callable[[Any], Any] | None = None) -> bytes:
    """A message with its header; each lone surrogate becomes ``?``.

    `serialize` gives the JSON of what is not JSON.
    """
    text = json.dumps(message, default=serialize, ensure_ascii=False)
    body = text.encode("utf-8", "replace")
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)
