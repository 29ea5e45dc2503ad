"""A client of ``tirlens mcp`` by the SDK's own client, over real pipes."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters


@dataclass(frozen=True)
class Agent:
    """Calls tools; an answer is the structured content, which is the text as well."""

    client: Client

    async def ask(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool."""
        is_error, answer = await self.result(tool, arguments)
        assert not is_error, answer
        return answer

    async def refused(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The error of a tool."""
        is_error, answer = await self.result(tool, arguments)
        assert is_error, answer
        return answer

    async def result(self, tool: str, arguments: Mapping[str, Any]) -> tuple[bool, dict[str, Any]]:
        """Whether a tool gives an error, and what it gives."""
        result = await self.client.call_tool(tool, dict(arguments))
        (content,) = result.content
        assert content.type == "text"
        assert json.loads(content.text) == result.structured_content
        assert isinstance(result.structured_content, dict)
        return result.is_error, result.structured_content


@asynccontextmanager
async def agent(
    *options: str, environment: Mapping[str, str] | None = None
) -> AsyncIterator[Agent]:
    """An agent with a ``tirlens mcp`` of its own."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "tirlens", "mcp", *options],
        env={"PYTHONPATH": str(Path(__file__).parents[2] / "server"), **(environment or {})},
    )
    async with Client(parameters) as client:
        yield Agent(client)
