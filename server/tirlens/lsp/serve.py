"""Run the server on standard input and output, or for one client on a TCP port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
import socket
import sys
from typing import BinaryIO, cast

from tirlens.lsp import welcome
from tirlens.lsp.transport import Transport

logger = logging.getLogger(__name__)

INTERRUPTED = 130
_CLOSE_LIMIT_S = 0.6


def serve_stdio(*, trust_workspace: bool = False) -> int:
    """Serve the client on standard input and output; the exit status is the protocol's.

    File descriptor 1 is the protocol's alone: what else writes to standard output goes to
    standard error.
    """
    _open_standard_error()
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    incoming = sys.stdin.buffer
    return _serve(incoming, cast("BinaryIO", outgoing), trust_workspace, is_local=True)


def serve_tcp(host: str, port: int, *, trust_workspace: bool = False) -> int:
    """Wait for one client on `host` and `port` and serve it."""
    _open_standard_error()
    with socket.create_server((host, port)) as listening:
        address = listening.getsockname()
        with contextlib.suppress(BrokenPipeError):
            print(f"tirlens: listening on {address[0]}:{address[1]}", file=sys.stderr, flush=True)
        connection, _ = listening.accept()
    incoming = connection.makefile("rb")
    outgoing = connection.makefile("wb", buffering=0)
    return _serve(incoming, cast("BinaryIO", outgoing), trust_workspace, is_local=False)


def _open_standard_error() -> None:
    """Discard what is written to standard error if it is closed.

    The next file that is opened would have its descriptor, and get the text.
    """
    try:
        os.fstat(2)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        os.set_inheritable(2, True)
        sys.stderr = os.fdopen(2, "w", closefd=False)


def _serve(incoming: BinaryIO, outgoing: BinaryIO, trust_workspace: bool, *, is_local: bool) -> int:
    """Serve one client, and end this process.

    The process of a client that is local is watched, and the server ends with it.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # Each bad message would be logged with its traceback, and each body with all its text.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    # A model or a parser at work in a thread gives way to a request after half a millisecond.
    sys.setswitchinterval(0.0005)
    transport = Transport(incoming, outgoing)
    interrupts: list[int] = []

    def interrupt(number: int, _: object) -> None:
        if interrupts:
            os._exit(INTERRUPTED)
        interrupts.append(number)
        transport.end()

    # An exception would pass by threads that read, which Python cannot end without an abort.
    signal.signal(signal.SIGINT, interrupt)
    try:
        status = asyncio.new_event_loop().run_until_complete(
            serve_client(transport, trust_workspace, is_local=is_local)
        )
    except Exception:
        logger.exception("The server failed")
        status = 1
    transport.close()
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.flush()
    # Threads may be stuck in a read or in a library; nothing of theirs is worth waiting for.
    os._exit(INTERRUPTED if interrupts else status)


async def serve_client(transport: Transport, trust_workspace: bool, *, is_local: bool) -> int:
    """Handle messages until `exit` or the end of input; the exit status."""
    messages = transport.messages()
    first = await anext(messages, None)
    if first is None:
        return 1
    greeted = welcome.answer(first)
    if greeted is not None:
        transport.write(greeted[1])
    from tirlens.lsp.handlers import create_server

    server = create_server(trust_workspace)
    server.on_client_end = transport.end if is_local else None
    protocol = server.protocol
    protocol.set_writer(transport)
    protocol.answered = greeted[0] if greeted is not None else None
    protocol.receive(first)
    while protocol.exit_status is None:
        body = await anext(messages, None)
        if body is None:
            break
        protocol.receive(body)
    if server.has_session:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.session.shut_down(), _CLOSE_LIMIT_S)
    return int(not protocol.shut_down) if protocol.exit_status is None else protocol.exit_status
