"""What the server says to the user, asks and opens, in the terms of LSP."""

from __future__ import annotations

import asyncio
import hashlib
import logging
from collections.abc import Coroutine, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lsprotocol import types
from pygls.capabilities import get_capability

from tirlens.file_writer import replace_text

if TYPE_CHECKING:
    from tirlens.lsp.server import Server

logger = logging.getLogger(__name__)
_running: set[asyncio.Task[None]] = set()

#: What is said where nothing is known.
NOTHING = "Nothing is known of this file yet."


def say(server: Server, message: str) -> None:
    """Show a message."""
    params = types.ShowMessageParams(type=types.MessageType.Info, message=f"TIRLens: {message}")
    server.window_show_message(params)


async def ask(server: Server, message: str, answers: Sequence[str]) -> str | None:
    """The answer that the user chooses; None where it is dismissed."""
    params = types.ShowMessageRequestParams(
        type=types.MessageType.Info,
        message=message,
        actions=[types.MessageActionItem(title=answer) for answer in answers],
    )
    chosen = await server.window_show_message_request_async(params)
    return chosen.title if chosen is not None and chosen.title in answers else None


def store(uri: str, text: str, name: str) -> Path:
    """Write a text where the next one of the same file takes its place; its name has the file."""
    from platformdirs import user_cache_path

    file = user_cache_path("tirlens") / name.format(hashlib.sha256(uri.encode()).hexdigest()[:16])
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_text(file, text)
    return file


async def open_text(server: Server, uri: str, name: str, text: str) -> None:
    """Write a text that is made of a file, and open it, or say where it is."""
    try:
        file = await asyncio.to_thread(store, uri, text, f"code/{{}}/{name}")
    except OSError as error:
        say(server, f"{name} cannot be written: {error}")
        return
    if get_capability(server.client_capabilities, "window.show_document.support", False):
        params = types.ShowDocumentParams(uri=file.as_uri(), take_focus=False)
        if (await server.window_show_document_async(params)).success:
            return
    say(server, f"{name} is {file}")


def begin(work: Coroutine[Any, Any, None]) -> None:
    """The client may wait for the command's answer before it asks its user."""
    task = asyncio.ensure_future(work)
    _running.add(task)
    task.add_done_callback(_log_failure)


def _log_failure(task: asyncio.Task[None]) -> None:
    _running.discard(task)
    if not task.cancelled() and (error := task.exception()) is not None:
        logger.info("The client declined: %s", error)
