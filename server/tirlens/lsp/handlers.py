"""The handlers of the protocol's requests and notifications.

A handler is short and never waits for a worker. A request that arrives during an analysis is
answered from the analysis before it. Only hints for a client that does not refresh them wait.
"""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Callable
from typing import Any

from lsprotocol import types

from tirlens.collector import exempt_present_objects
from tirlens.lsp import client_process, welcome
from tirlens.lsp.protocol import PlainJson
from tirlens.lsp.server import Server


def create_server(trust_workspace: bool = False) -> Server:
    """A server with all its handlers."""
    server = Server(trust_workspace)
    _add_lifecycle(server)
    _add_documents(server)
    _add_displays(server)
    _add_outline_and_actions(server)
    _add_commands(server)
    return server


def _add_lifecycle(server: Server) -> None:
    """The start, and what the user decides while the server runs."""

    @server.feature(types.INITIALIZE)
    def initialize(params: types.InitializeParams) -> None:
        server.initialization_options = params.initialization_options
        if params.process_id is not None and server.on_client_end is not None:
            client_process.watch(params.process_id, server.on_client_end)

    @server.feature(types.INITIALIZED)
    async def initialized(_: types.InitializedParams) -> None:
        server.client.watch_files()
        await _warm_up()

    @server.feature(types.WORKSPACE_DID_CHANGE_CONFIGURATION)
    def did_change_configuration(params: types.DidChangeConfigurationParams) -> None:
        from tirlens.lsp import settings

        before = server.session.configuration
        after, problems = settings.changed_configuration(
            before, params.settings, server.trust_workspace
        )
        server.client.report_settings(problems)
        server.session.configure(after)

    @server.feature(types.WINDOW_WORK_DONE_PROGRESS_CANCEL)
    def progress_cancel(params: types.WorkDoneProgressCancelParams) -> None:
        uri = server.client.progress_of(params.token)
        if uri is not None:
            server.session.cancel(uri)
        else:
            server.client.cancel(params.token)


def _add_documents(server: Server) -> None:
    """The texts that are open, and the files on disk."""

    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    def did_open(params: types.DidOpenTextDocumentParams) -> None:
        from tirlens.lsp import convert

        item = params.text_document
        path = convert.path_below(item.uri, server.workspace.root_path)
        server.session.open(item.uri, path, item.version, item.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    def did_change(params: types.DidChangeTextDocumentParams) -> None:
        from tirlens.ide.document_text import apply
        from tirlens.lsp import convert

        document = server.document(params.text_document.uri)
        if document is None:
            return
        text = document.text
        for change in params.content_changes:
            if isinstance(change, types.TextDocumentContentChangePartial):
                text = apply(text, convert.edit(change), server.client.encoding)
            else:
                text = change.text
        server.session.change(document.uri, params.text_document.version, text)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE, types.SaveOptions(include_text=False))
    def did_save(params: types.DidSaveTextDocumentParams) -> None:
        server.session.save(params.text_document.uri, params.text)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(params: types.DidCloseTextDocumentParams) -> None:
        server.session.close(params.text_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_OPEN)
    def notebook_did_open(params: types.DidOpenNotebookDocumentParams) -> None:
        from tirlens.lsp import convert

        notebook = params.notebook_document
        text = server.notebooks.open(notebook, params.cell_text_documents)
        path = convert.path_below(notebook.uri, server.workspace.root_path)
        server.session.open(notebook.uri, path, notebook.version, text)
        server.session.place_cells(notebook.uri, server.notebooks.places(notebook.uri))

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CHANGE)
    def notebook_did_change(params: types.DidChangeNotebookDocumentParams) -> None:
        uri, cells = params.notebook_document.uri, params.change.cells
        if cells is not None:
            text, gone = server.notebooks.change(uri, cells, server.client.encoding)
            server.session.change(uri, params.notebook_document.version, text)
            server.session.place_cells(uri, server.notebooks.places(uri))
            server.client.clear_diagnostics(gone)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_SAVE)
    def notebook_did_save(params: types.DidSaveNotebookDocumentParams) -> None:
        server.session.save(params.notebook_document.uri)

    @server.feature(types.NOTEBOOK_DOCUMENT_DID_CLOSE)
    def notebook_did_close(params: types.DidCloseNotebookDocumentParams) -> None:
        server.session.close(params.notebook_document.uri)
        server.client.clear_diagnostics(server.notebooks.close(params.notebook_document.uri))

    @server.feature(types.WORKSPACE_DID_CHANGE_WATCHED_FILES)
    def did_change_watched_files(params: types.DidChangeWatchedFilesParams) -> None:
        from tirlens.lsp import convert

        if server.has_session:
            server.session.files_changed([convert.path_of(change.uri) for change in params.changes])


def _add_displays(server: Server) -> None:
    """What is shown in the text: hints, lenses, hovers."""

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    async def inlay_hint(params: types.InlayHintParams) -> list[types.InlayHint]:
        from tirlens.lsp import convert
        from tirlens.session import view

        part = server.part(params.text_document.uri)
        if part is None:
            return []
        if not server.client.refreshes_hints:
            # It would not ask again when they are known.
            await server.session.analysed_text(part.document.uri)
            part = server.part(params.text_document.uri) or part
        display = server.session.display_of(part.document)
        first, last = params.range.start.line + 1, params.range.end.line + 1
        first, last = (part.offset + min(line, len(part.lines)) for line in (first, last))
        hints = view.inlay_hints(part.document, first, last, display)
        return [convert.inlay_hint(part, hint, server.client.encoding) for hint in hints]

    @server.feature(types.TEXT_DOCUMENT_CODE_LENS)
    async def code_lens(params: types.CodeLensParams) -> PlainJson:
        from tirlens.lsp import convert
        from tirlens.session import view

        part = server.part(params.text_document.uri)
        session = server.session
        if part is None or not session.display_of(part.document).has_lenses:
            return PlainJson([])
        await session.first_reading(part.document.uri)
        part = server.part(params.text_document.uri) or part
        display = session.display_of(part.document)
        lenses = view.code_lenses(part.document, session.configuration.trusted, display)
        encoding = server.client.encoding
        return PlainJson(
            [convert.code_lens(part, lens, encoding) for lens in lenses if part.has(lens.line)]
        )

    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(params: types.HoverParams) -> types.Hover | None:
        from tirlens.lsp import convert
        from tirlens.session import view

        part = server.part(params.text_document.uri)
        if part is None:
            return None
        line, column = convert.place(part.lines, params.position, server.client.encoding)
        found = view.hover(part.document, part.offset + line, column)
        return found and convert.hover(part, found, server.client.encoding)


def _add_outline_and_actions(server: Server) -> None:
    """What is asked of a text beside it."""

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    async def document_symbol(params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        from tirlens.lsp import convert

        part = server.part(params.text_document.uri)
        if part is None:
            return []
        await server.session.first_reading(part.document.uri)
        part = server.part(params.text_document.uri) or part
        return convert.symbols(part, server.client.encoding)

    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION,
        types.CodeActionOptions(
            code_action_kinds=[types.CodeActionKind.RefactorRewrite, welcome.OWN_ACTION]
        ),
    )
    def code_action(params: types.CodeActionParams) -> list[types.CodeAction]:
        from tirlens.lsp import actions

        uri = params.text_document.uri
        parts, part = server.parts(uri), server.part(uri)
        if parts is None or part is None:
            return []
        line = part.offset + params.range.start.line + 1
        if params.context.trigger_kind is types.CodeActionTriggerKind.Automatic:
            # For a light bulb, which promises that there is something to do.
            return actions.rewritings(parts, line, server.client.encoding)
        edits = actions.code_actions(parts, line, server.client.encoding)
        return edits + actions.commands(parts, line, server.session.configuration.trusted)


def _add_commands(server: Server) -> None:
    from tirlens.lsp import clicks, commands, generated_code, tuning

    tables = commands.TABLE | generated_code.TABLE | clicks.TABLE | tuning.TABLE
    for name, function in tables.items():
        server.command(name)(_command(server, function))


def _command(server: Server, function: Callable[..., Any]) -> Any:
    """`function` with the one signature that pygls passes arguments through untouched."""

    def command(*arguments: Any) -> Any:
        return function(server, *arguments)

    async def async_command(*arguments: Any) -> Any:
        return await function(server, *arguments)

    return async_command if asyncio.iscoroutinefunction(function) else command


# What the first requests need, from the quickest to import to the slowest.
_NEEDED = ("source", "session", "lsp.convert", "session.view", "lsp.commands")
# Time for the first requests: what is imported after it is for the first analysis.
_FIRST_REQUESTS_S = 0.2


async def _warm_up() -> None:
    """Import what the first request would import; the first reply is then as fast as any.

    Between two of them what has come meanwhile is handled.
    """
    for name in _NEEDED:
        importlib.import_module(f"tirlens.{name}")
        await asyncio.sleep(0)
    await asyncio.sleep(_FIRST_REQUESTS_S)
    from tirlens.session.late_imports import import_pipeline

    await import_pipeline()
    # The modules stay: to look through them again and again would hold up requests.
    exempt_present_objects()
