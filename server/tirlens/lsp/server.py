"""The server of one editor: its client and its session."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.lsp.server import LanguageServer

from tirlens.lsp.client import Client
from tirlens.lsp.protocol import Protocol
from tirlens.version import __version__

if TYPE_CHECKING:
    from tirlens.lsp.notebooks import Notebooks, Part, Parts
    from tirlens.session import Document, Session

logger = logging.getLogger(__name__)

_NOTEBOOKS = types.NotebookDocumentSyncOptions(
    notebook_selector=[
        types.NotebookDocumentFilterWithNotebook(
            notebook=types.NotebookDocumentFilterNotebookType(notebook_type="jupyter-notebook"),
        )
    ],
    save=True,
)


class Server(LanguageServer):
    """One editor's server."""

    protocol: Protocol  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, trust_workspace: bool = False) -> None:
        super().__init__(  # pyright: ignore[reportUnknownMemberType]
            "tirlens", __version__, protocol_cls=Protocol, notebook_document_sync=_NOTEBOOKS
        )
        self.trust_workspace = trust_workspace
        self.initialization_options: object = None
        self.client = Client(self)
        self.on_client_end: Callable[[], None] | None = None
        """Called when the process of the client has ended, in a thread."""
        self.started = time.monotonic()

    @cached_property
    def session(self) -> Session:
        """The session, created at its first use: its imports would delay `initialize`."""
        from tirlens.lsp import settings
        from tirlens.session import Session

        configuration, problems = settings.initial(
            self.initialization_options, self.trust_workspace
        )
        self.client.report_settings(problems)
        return Session(configuration, self.client.send)

    @property
    def has_session(self) -> bool:
        """Whether there is a session: from the first use on."""
        return "session" in self.__dict__

    @cached_property
    def notebooks(self) -> Notebooks:
        """The cells of the open notebooks, created at the first use."""
        from tirlens.lsp.notebooks import Notebooks

        return Notebooks()

    def document(self, uri: str) -> Document | None:
        """The open document that has the lines of a URI; None if there is none."""
        return self.session.documents.get(self.notebooks.owner(uri))

    def parts(self, uri: str) -> Parts | None:
        """The document that has the lines of a URI, as the client has it; None if there is none."""
        document = self.document(uri)
        return None if document is None else self.notebooks.parts(document)

    def part(self, uri: str) -> Part | None:
        """What the client has open as `uri`: a document or a cell; None if there is none."""
        parts = self.parts(uri)
        return parts and next((part for part in parts.parts if part.uri == uri), None)

    def report_server_error(self, error: Exception, source: Any) -> None:
        """Write to the log: a client's mistake must not open a window."""
        logger.error("%s: %s", getattr(source, "__name__", source), error)
