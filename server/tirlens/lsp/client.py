"""What the server tells the client by itself: diagnostics, refreshes, progress, status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from lsprotocol import types
from pygls.capabilities import get_capability

if TYPE_CHECKING:
    from pygls.lsp.server import LanguageServer

    from tirlens.ide.text import Encoding
    from tirlens.session import Document, Status

logger = logging.getLogger(__name__)

STATUS = "tirlens/status"
_PROGRESS_DELAY_S = 0.3


@dataclass
class _Progress:
    token: str
    shown: bool = False
    message: str = ""
    percentage: int | None = None
    task: asyncio.Task[None] | None = None


class Client:
    """The session's listener, in the protocol's words."""

    def __init__(self, server: LanguageServer) -> None:
        self._server = server
        self._progress: dict[str, _Progress] = {}
        self._tokens = 0

    @property
    def encoding(self) -> Encoding:
        """The unit of columns that client and server have agreed on."""
        kind = self._server.server_capabilities.position_encoding
        return cast("Encoding", getattr(kind, "value", kind) or "utf-16")

    # Listener

    def analysed(self, document: Document, *, hints: bool, lenses: bool) -> None:
        """Publish the problems of a file, and have hints and lenses asked for that differ now."""
        self._publish(document)
        self._redraw(hints, lenses)

    def redraw(self) -> None:
        """Have all hints and lenses asked for again."""
        self._redraw(hints=True, lenses=True)

    def read(self, document: Document) -> None:
        """Publish the problems that a file's text alone tells."""
        self._publish(document)

    def status(self, status: Status) -> None:
        """Send ``tirlens/status``; an analysis that begins shows its progress."""
        frameworks = status.frameworks or {}
        payload = {
            "uri": status.uri,
            "state": status.state,
            "device": status.device or "",
            "interpreter": status.interpreter,
            "interpreter_why": status.why or None,
            "framework": ", ".join(f"{key} {value}" for key, value in frameworks.items()) or None,
            "message": status.message or None,
        }
        self._server.protocol.notify(STATUS, payload)
        if status.state == "analyzing":
            self._begin(status.uri)

    def progress(self, uri: str, message: str | None, done: int, total: int) -> None:
        """Show that `done` of `total` kernels are analysed; the end where `message` is None."""
        if message is None:
            self._end(uri)
            return
        progress = self._progress.get(uri)
        if progress is None:
            return
        progress.message = message
        progress.percentage = 100 * done // total if total else None
        if progress.shown:
            report = types.WorkDoneProgressReport(message=message, percentage=progress.percentage)
            self._send_progress(progress.token, report)

    # Others

    def watch_files(self) -> None:
        """Ask to be told of Python files that change, be it outside of the editor."""
        if not self._can("workspace.did_change_watched_files.dynamic_registration"):
            return
        watchers = [types.FileSystemWatcher(glob_pattern="**/*.py")]
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        registration = types.Registration(id=method, method=method, register_options=options)
        params = types.RegistrationParams(registrations=[registration])
        self._server.protocol.send_request(types.CLIENT_REGISTER_CAPABILITY, params)

    def closed(self, uri: str) -> None:
        """Take back what was shown of a file that is closed."""
        self._end(uri)
        params = types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
        self._server.text_document_publish_diagnostics(params)

    def progress_of(self, token: str | int) -> str | None:
        """The file whose progress `token` is."""
        return next((uri for uri, item in self._progress.items() if item.token == token), None)

    def report_settings(self, problems: Sequence[str]) -> None:
        """Say what is wrong with the settings, in the client's log."""
        for problem in problems:
            params = types.LogMessageParams(type=types.MessageType.Warning, message=problem)
            self._server.window_log_message(params)

    def _publish(self, document: Document) -> None:
        from tirlens.lsp import convert
        from tirlens.session import view

        lines, encoding = document.lines, self.encoding
        items = [
            convert.diagnostic(lines, item, encoding) for item in view.file_diagnostics(document)
        ]
        params = types.PublishDiagnosticsParams(
            uri=document.uri, diagnostics=items, version=document.version
        )
        self._server.text_document_publish_diagnostics(params)

    def _can(self, capability: str) -> bool:
        return get_capability(self._server.client_capabilities, capability, False) is True

    def _redraw(self, hints: bool, lenses: bool) -> None:
        if hints:
            self._refresh("workspace.inlay_hint", types.WORKSPACE_INLAY_HINT_REFRESH)
        if lenses:
            self._refresh("workspace.code_lens", types.WORKSPACE_CODE_LENS_REFRESH)

    def _refresh(self, capability: str, method: str) -> None:
        if self._can(f"{capability}.refresh_support"):
            self._server.protocol.send_request(method)

    def _begin(self, uri: str) -> None:
        if uri in self._progress or not self._can("window.work_done_progress"):
            return
        self._tokens += 1
        progress = self._progress[uri] = _Progress(f"tirlens/{self._tokens}")
        progress.task = asyncio.ensure_future(self._show(uri, progress))

    async def _show(self, uri: str, progress: _Progress) -> None:
        """Begin the progress once it has been long enough to be worth a place on the screen."""
        await asyncio.sleep(_PROGRESS_DELAY_S)
        create = types.WorkDoneProgressCreateParams(token=progress.token)
        try:
            await self._server.protocol.send_request_async(
                types.WINDOW_WORK_DONE_PROGRESS_CREATE, create
            )
        except Exception:
            logger.info("The client declined to show progress")
            return
        if self._progress.get(uri) is not progress:
            return
        progress.shown = True
        begin = types.WorkDoneProgressBegin(
            title="TIRLens: analysing " + uri.rpartition("/")[2],
            cancellable=True,
            message=progress.message or None,
            percentage=progress.percentage,
        )
        self._send_progress(progress.token, begin)

    def _end(self, uri: str) -> None:
        progress = self._progress.pop(uri, None)
        if progress is None:
            return
        if progress.shown:
            self._send_progress(progress.token, types.WorkDoneProgressEnd())

    def _send_progress(self, token: str, value: Any) -> None:
        self._server.protocol.notify(types.PROGRESS, types.ProgressParams(token, value))
