"""Messages to the client that it did not request: diagnostics, refreshes, progress, status."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lsprotocol import types
from pygls.capabilities import get_capability

from tirlens.captured.names import PATTERN
from tirlens.measured.matching.stored_names import FILE_NAME

if TYPE_CHECKING:
    from tirlens.ide.document_text import Encoding
    from tirlens.lsp.server import Server
    from tirlens.session import Document
    from tirlens.session.events import Event, Progress, Status

logger = logging.getLogger(__name__)

STATUS = "tirlens/status"
#: A file has other figures than before: ``{uri}``. Clients may ignore what begins with ``$/``.
CHANGED = "$/tirlens/changed"
_PROGRESS_DELAY_S = 0.3
_T = TypeVar("_T")


@dataclass
class _Progress:
    token: str
    is_displayed: bool = False
    message: str = ""
    percentage: int | None = None
    task: asyncio.Task[None] | None = None


class Client:
    """Sends the events of a session to the client."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._progress: dict[str, _Progress] = {}
        self._tokens = 0
        self._tasks: dict[object, asyncio.Task[Any]] = {}

    @property
    def encoding(self) -> Encoding:
        """The unit of columns that client and server have agreed on."""
        kind = self._server.server_capabilities.position_encoding
        return cast("Encoding", getattr(kind, "value", kind) or "utf-16")

    @property
    def refreshes_hints(self) -> bool:
        """Whether the client asks for hints again when the server requests it."""
        return self._can("workspace.inlay_hint.refresh_support")

    def send(self, event: Event) -> None:
        """Send an event of the session.

        It is sent before the replies to later requests.
        """
        # Imported here: `initialize` is answered before the session is.
        from tirlens.session import events

        match event:
            case events.Status():
                self._send_status(event)
            case events.TextRead(document):
                self._publish(document)
            case events.HintsChanged():
                self._refresh_views(hints=True, lenses=False)
            case events.ViewChanged(document, hints, lenses):
                self._publish(document)
                self._refresh_views(hints, lenses)
                self._server.protocol.notify(CHANGED, {"uri": document.uri})
            case events.DisplayChanged():
                self._refresh_views(hints=True, lenses=True)
            case events.FileClosed(uri):
                self._clear(uri)
            case events.SettingsProblems(messages):
                self.report_settings(messages)
            case events.Progress():
                self._update_progress(event)
            case events.ProgressEnded(uri):
                self._end(uri)

    def _send_status(self, status: Status) -> None:
        """Send ``tirlens/status``; begin the progress of an analysis."""
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

    def _update_progress(self, event: Progress) -> None:
        progress = self._progress.get(event.uri)
        if progress is None:
            return
        progress.message = event.message
        progress.percentage = 100 * event.done // event.total if event.total else None
        if progress.is_displayed:
            report = types.WorkDoneProgressReport(
                message=event.message, percentage=progress.percentage
            )
            self._send_progress(progress.token, report)

    def watch_files(self) -> None:
        """Register for changes of Python files, captures and measured times, also outside of the
        editor."""
        if not self._can("workspace.did_change_watched_files.dynamic_registration"):
            return
        watchers = [
            types.FileSystemWatcher(glob_pattern=pattern)
            for pattern in ("**/*.py", "**/*.ipynb", f"**/{PATTERN}", f"**/{FILE_NAME}")
        ]
        method = types.WORKSPACE_DID_CHANGE_WATCHED_FILES
        options = types.DidChangeWatchedFilesRegistrationOptions(watchers=watchers)
        registration = types.Registration(id=method, method=method, register_options=options)
        params = types.RegistrationParams(registrations=[registration])
        self._server.protocol.send_request(types.CLIENT_REGISTER_CAPABILITY, params)

    def _clear(self, uri: str) -> None:
        """Remove the progress and the diagnostics of a closed file."""
        self._end(uri)
        self.clear_diagnostics([uri])

    def clear_diagnostics(self, uris: Sequence[str]) -> None:
        """Remove the diagnostics of texts that are closed."""
        for uri in uris:
            params = types.PublishDiagnosticsParams(uri=uri, diagnostics=[])
            self._server.text_document_publish_diagnostics(params)

    def progress_of(self, token: str | int) -> str | None:
        """The file whose progress `token` is."""
        return next((uri for uri, item in self._progress.items() if item.token == token), None)

    def report_settings(self, problems: Sequence[str]) -> None:
        """Write the problems of the settings to the client's log."""
        for problem in problems:
            params = types.LogMessageParams(type=types.MessageType.Warning, message=problem)
            self._server.window_log_message(params)

    def report_to(self, token: object) -> Callable[[str], None]:
        """Reports messages to the progress `token` of the client, if it is one."""

        def report(message: str) -> None:
            if isinstance(token, (str, int)):
                self._send_progress(token, types.WorkDoneProgressReport(message=message))

        return report

    async def cancellable(self, work: Coroutine[Any, Any, _T], token: object) -> _T:
        """The result of `work`, which ends when the client cancels its progress `token`."""
        task = asyncio.ensure_future(work)
        self._tasks[token] = task
        try:
            return await task
        finally:
            del self._tasks[token]

    async def with_progress(
        self,
        title: str,
        work: Callable[[Callable[[str, int | None], None]], Coroutine[Any, Any, _T]],
    ) -> _T:
        """The result of `work`, which reports messages and percentages to a progress `title`.

        Raises:
            CancelledError: the client cancelled it.
        """
        self._tokens += 1
        token = f"tirlens/{self._tokens}"
        is_displayed = await self._create_progress(token)

        def report(message: str, percentage: int | None) -> None:
            if is_displayed:
                self._send_progress(
                    token, types.WorkDoneProgressReport(message=message, percentage=percentage)
                )

        if is_displayed:
            self._send_progress(token, types.WorkDoneProgressBegin(title, cancellable=True))
        try:
            return await self.cancellable(work(report), token)
        finally:
            if is_displayed:
                self._send_progress(token, types.WorkDoneProgressEnd())

    async def _create_progress(self, token: str) -> bool:
        """Whether the client shows a progress for `token`."""
        if not self._can("window.work_done_progress"):
            return False
        try:
            await self._server.protocol.send_request_async(
                types.WINDOW_WORK_DONE_PROGRESS_CREATE, types.WorkDoneProgressCreateParams(token)
            )
        except Exception:
            logger.info("The client declined to show progress")
            return False
        return True

    def cancel(self, token: str | int) -> None:
        """Cancel what the client has begun with the progress `token`, if it is under way."""
        task = self._tasks.get(token)
        if task is not None:
            task.cancel()

    def _publish(self, document: Document) -> None:
        from tirlens.lsp import convert
        from tirlens.session import view

        found = view.file_diagnostics(document)
        parts = self._server.notebooks.parts(document)
        for part in parts.parts:
            items = [
                convert.diagnostic(
                    part.lines, replace(item, span=part.span(item.span)), self.encoding
                )
                for item in found
                if parts.at(item.span.line) is part
            ]
            params = types.PublishDiagnosticsParams(
                uri=part.uri, diagnostics=items, version=part.version
            )
            self._server.text_document_publish_diagnostics(params)

    def _can(self, capability: str) -> bool:
        return get_capability(self._server.client_capabilities, capability, False) is True

    def _refresh_views(self, hints: bool, lenses: bool) -> None:
        # Lenses first: VS Code waits longer before it asks for them.
        if lenses:
            self._refresh("workspace.code_lens", types.WORKSPACE_CODE_LENS_REFRESH)
        if hints:
            self._refresh("workspace.inlay_hint", types.WORKSPACE_INLAY_HINT_REFRESH)

    def _refresh(self, capability: str, method: str) -> None:
        if self._can(f"{capability}.refresh_support"):
            self._server.protocol.send_request(method)

    def _begin(self, uri: str) -> None:
        if uri in self._progress or not self._can("window.work_done_progress"):
            return
        self._tokens += 1
        progress = self._progress[uri] = _Progress(f"tirlens/{self._tokens}")
        progress.task = asyncio.ensure_future(self._display(uri, progress))

    async def _display(self, uri: str, progress: _Progress) -> None:
        """Display the progress of an analysis that takes longer than a moment."""
        await asyncio.sleep(_PROGRESS_DELAY_S)
        if not await self._create_progress(progress.token):
            return
        if self._progress.get(uri) is not progress:
            return
        progress.is_displayed = True
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
        if progress.is_displayed:
            self._send_progress(progress.token, types.WorkDoneProgressEnd())

    def _send_progress(self, token: str | int, value: Any) -> None:
        self._server.protocol.notify(types.PROGRESS, types.ProgressParams(token, value))
