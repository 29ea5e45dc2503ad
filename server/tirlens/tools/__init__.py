"""The tools that agents and scripts call: a request in, an answer out, both plain data.

`tools.table` has them all. The MCP server, JSON lines on a pipe and `tirlens.Client` are three ways
to call the same functions.
"""

from tirlens.tools.errors import ToolError
from tirlens.tools.folders import AllowedFolders
from tirlens.tools.table import TOOLS, answer_tool, call_tool
from tirlens.tools.workbench import Workbench

__all__ = ["TOOLS", "AllowedFolders", "ToolError", "Workbench", "answer_tool", "call_tool"]
