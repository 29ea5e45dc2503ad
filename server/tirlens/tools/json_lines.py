"""The tools for scripts, on standard input and output: a line of JSON in, a line of JSON out.

A request is ``{"id": ..., "tool": NAME, "arguments": {...}}``; its ``id`` may be left out. The line
that answers it has the ``id``, and ``answer``, or ``error``, ``message`` and ``send``. Requests are
answered one after the other, in their order.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from typing import Any, BinaryIO, cast

from tirlens.tools.errors import ToolError
from tirlens.tools.table import call_tool
from tirlens.tools.workbench import Workbench

_MOST_BYTES = 4 << 20
_EXAMPLE = {"tool": "estimate", "arguments": {"file": "kernels.py"}}


def serve(bench: Workbench) -> int:
    """Answer requests until there are no more; the exit status."""
    # What anything else writes to standard output goes to standard error from here on.
    sys.stdout.flush()
    output = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with output:
        return asyncio.run(_serve(bench, sys.stdin.buffer, output))


async def _serve(bench: Workbench, requests: BinaryIO, answers: BinaryIO) -> int:
    try:
        while line := await asyncio.to_thread(requests.readline, _MOST_BYTES + 1):
            if len(line) > _MOST_BYTES:
                await asyncio.to_thread(_skip_line, requests, line)
                answer = _wrong(f"A line has at most {_MOST_BYTES >> 20} MiB.")
            elif line.strip():
                answer = await _answer(bench, line)
            else:
                continue
            answers.write(json.dumps(answer, separators=(",", ":")).encode() + b"\n")
            answers.flush()
    except BrokenPipeError:
        # Nobody reads the answers any more.
        return 0
    finally:
        await bench.close()
    return 0


async def _answer(bench: Workbench, line: bytes) -> dict[str, Any]:
    try:
        request: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        return _wrong(f"The line is no JSON in UTF-8: {error!s:.200}.")
    if not isinstance(request, Mapping):
        return _wrong("A line must be an object.")
    given = cast("Mapping[str, Any]", request)
    identity = {"id": given["id"]} if "id" in given else {}
    tool = given.get("tool")
    if not isinstance(tool, str):
        return {**identity, **_wrong("tool must be the name of a tool.")}
    try:
        return {**identity, "answer": await call_tool(bench, tool, given.get("arguments"))}
    except ToolError as error:
        return {**identity, **error.as_json()}


def _wrong(message: str) -> dict[str, Any]:
    return ToolError("request", message, _EXAMPLE).as_json()


def _skip_line(requests: BinaryIO, line: bytes) -> None:
    """Read to the end of a line that is too long."""
    while line and not line.endswith(b"\n"):
        line = requests.readline(_MOST_BYTES)
