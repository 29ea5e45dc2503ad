"""``tirlens serve``: the language server."""

from __future__ import annotations

import argparse
import sys

from tirlens.cli.errors import UsageError


def execute(arguments: argparse.Namespace) -> int:
    """Serve one client until it leaves."""
    from tirlens import lsp

    if arguments.tcp is None:
        # As Python has them where a shell closes them (`<&-`).
        if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
            raise UsageError("standard input or standard output is closed")
        return lsp.serve_stdio(trust_workspace=arguments.trust_workspace)
    host, colon, port = arguments.tcp.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535:
        raise UsageError(f"--tcp {arguments.tcp!r}: expected HOST:PORT, such as 127.0.0.1:8765")
    address = (host.strip("[]") or "127.0.0.1", int(port))
    try:
        return lsp.serve_tcp(*address, trust_workspace=arguments.trust_workspace)
    except OSError as error:
        raise UsageError(f"--tcp {arguments.tcp!r}: {error.strerror or error}") from error
