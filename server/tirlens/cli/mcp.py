"""``tirlens mcp``: the tools for agents, on standard input and output."""

from __future__ import annotations

import argparse
import logging
import sys

from tirlens.cli.errors import UsageError


def execute(arguments: argparse.Namespace) -> int:
    """Serve one client until it leaves."""
    from tirlens.tools import AllowedFolders, Workbench

    # As Python has them where a shell closes them (`<&-`).
    if sys.stdin is None or sys.stdout is None:  # pyright: ignore[reportUnnecessaryComparison]
        raise UsageError("standard input or standard output is closed")
    # On standard error: the other stream is the protocol's.
    logging.basicConfig(level=logging.WARNING)
    try:
        folders = AllowedFolders(arguments.allow)
    except ValueError as error:
        raise UsageError(f"--allow: {error}") from error
    bench = Workbench(folders, writes=arguments.may_write, python=arguments.python)
    if arguments.json_lines:
        from tirlens.tools import json_lines

        return json_lines.serve(bench)
    try:
        from tirlens.tools import mcp_server
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in ("mcp", "anyio"):
            raise
        raise UsageError(
            "the MCP SDK is not installed: pip install 'tirlens[mcp]'. tirlens mcp --json-lines "
            "works without it"
        ) from error
    mcp_server.serve(bench)
    return 0
