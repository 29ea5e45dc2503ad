"""The tools for programs that speak MCP, on standard input and output.

The only module that knows the SDK.
"""

from __future__ import annotations

import json
from typing import Any

import anyio
import mcp.types as types
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from tirlens.tools.errors import ToolError
from tirlens.tools.table import TOOLS, Tool, call_tool
from tirlens.tools.workbench import Workbench
from tirlens.version import __version__

_INSTRUCTIONS = (
    "Predicts what TVMScript and tilelang GPU kernels cost, without a GPU. Times are predictions "
    "with a band: a difference within the bands may not be real. Start with estimate; explain the "
    "slow lines; advise gives edits that were tried; estimate with apply checks them together. An "
    "error says what to send instead."
)


def serve(bench: Workbench) -> None:
    """Serve the tools until the client leaves."""
    anyio.run(_serve, bench)


async def _serve(bench: Workbench) -> None:
    server = _server(bench)
    try:
        # What anything else writes to standard output goes to standard error from here on.
        async with stdio_server() as (read, write):
            await server.run(read, write, server.create_initialization_options())
    finally:
        with anyio.CancelScope(shield=True):
            await bench.close()


def _server(bench: Workbench) -> Server[Any]:
    async def list_tools(_context: Any, _params: Any) -> types.ListToolsResult:
        return types.ListToolsResult(tools=[_tool(tool) for tool in TOOLS.values()])

    async def call(_context: Any, params: types.CallToolRequestParams) -> types.CallToolResult:
        try:
            answer = await call_tool(bench, params.name, params.arguments)
        except ToolError as error:
            return _result(error.as_json(), is_error=True)
        return _result(answer)

    return Server(
        "tirlens",
        version=__version__,
        title="TIRLens",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call,
    )


def _tool(tool: Tool[Any]) -> types.Tool:
    return types.Tool(
        name=tool.name,
        description=tool.description,
        input_schema=tool.schema,
        annotations=types.ToolAnnotations(
            read_only_hint=not tool.writes, open_world_hint=False, idempotent_hint=True
        ),
    )


def _result(answer: dict[str, Any], is_error: bool = False) -> types.CallToolResult:
    text = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return types.CallToolResult(
        content=[types.TextContent(type="text", text=text)],
        structured_content=answer,
        is_error=is_error,
    )
