"""``tirlens toolchain``: the compiler and disassembler that are used, and their installation."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tirlens.cli.output import stream, write_json
from tirlens.settings import Settings
from tirlens.worker_client import find_interpreter
from tirlens.worker_client.toolchain import Toolchain, find_toolchain, version_of
from tirlens.worker_client.toolchain_installation import InstallationError, install_toolchain

#: How a missing tool is to be had.
REMEDY = "set CUDA_HOME, or run: tirlens toolchain install"


def execute(arguments: argparse.Namespace) -> int:
    """Install the tools if asked to, and print which are used; 1 if one is missing."""
    here = Path.cwd()
    project, _ = Settings.from_pyproject(here)
    python = find_interpreter(here, setting=arguments.python or project.python).path
    if arguments.action == "install":
        try:
            folder = asyncio.run(install_toolchain(_say, [python]))
        except InstallationError as error:
            print(f"tirlens: the toolchain is not installed: {error}", file=sys.stderr)
            return 1
        print(f"tirlens: installed into {folder}", file=sys.stderr)
    toolchain = find_toolchain(python)
    with stream(arguments.output) as file:
        tools = tools_json(toolchain)
        if arguments.format == "json":
            write_json(file, {"tools": tools})
        else:
            file.writelines(f"{line}\n" for line in tool_lines(tools))
    return int(bool(toolchain.missing))


def _say(message: str) -> None:
    print(f"tirlens: {message}", file=sys.stderr)


def tools_json(toolchain: Toolchain) -> list[dict[str, Any]]:
    """Path, source and version of each tool; null for one that is not found."""
    tools = {"nvcc": toolchain.nvcc, "nvdisasm": toolchain.nvdisasm}
    return [
        {
            "name": name,
            "path": str(tool.path) if tool is not None else None,
            "source": tool.source if tool is not None else None,
            "version": version_of(tool) if tool is not None else None,
        }
        for name, tool in tools.items()
    ]


def tool_lines(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line for each tool of `tools_json`."""
    return [
        f"{one['name']}: {one['path']} ({one['source']}), version {one['version'] or '?'}"
        if one["path"]
        else f"{one['name']}: not found; {REMEDY}"
        for one in tools
    ]
