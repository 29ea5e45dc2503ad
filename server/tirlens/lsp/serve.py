"""Run the server on standard input and output, or for one client on a TCP port."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import sys
from typing import BinaryIO, cast

from tirlens.lsp.server import Server, create
from tirlens.lsp.transport import Transport

_CLOSE_LIMIT_S = 0.6


def serve_stdio(*, trust_workspace: bool = False) -> int:
    """Serve the client on standard input and output; the exit status is the protocol's.

    File descriptor 1 is the protocol's alone: what else writes to standard output goes to
    standard error.
    """
    outgoing = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    sys.stdout = sys.stderr
    return _serve(sys.stdin.buffer, cast("BinaryIO", outgoing), trust_workspace)


def serve_tcp(host: str, port: int, *, trust_workspace: bool = False) -> int:
    """Wait for one client on `host` and `port` and serve it."""
    with socket.create_server((host, port)) as listening:
        address = listening.getsockname()
        print(f"tirlens: listening on {address[0]}:{address[1]}", file=sys.stderr, flush=True)
        connection, _ = listening.accept()
    incoming = connection.makefile("rb")
    outgoing = connection.makefile("wb", buffering=0)
    return _serve(incoming, cast("BinaryIO", outgoing), trust_workspace)


def _serve(incoming: BinaryIO, outgoing: BinaryIO, trust_workspace: bool) -> int:
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(name)s: %(message)s")
    # Each bad message would be logged with its traceback, and each body with all its text.
    logging.getLogger("pygls").setLevel(logging.CRITICAL)
    server = create(trust_workspace)
    transport = Transport(incoming, outgoing)
    server.protocol.set_writer(transport)
    status = asyncio.new_event_loop().run_until_complete(_run(server, transport))
    transport.close()
    sys.stderr.flush()
    # Threads may be stuck in a read or in a library; nothing of theirs is worth waiting for.
    os._exit(status)


async def _run(server: Server, transport: Transport) -> int:
    """Handle messages until `exit` or the end of input; the exit status."""
    messages = transport.messages()
    async for body in messages:
        server.protocol.receive(body)
        if server.protocol.exit_status is not None:
            break
    if server.has_session:
        with contextlib.suppress(asyncio.TimeoutError):
            await asyncio.wait_for(server.session.shut_down(), _CLOSE_LIMIT_S)
    status = server.protocol.exit_status
    return status if status is not None else int(not server.protocol.shut_down)
