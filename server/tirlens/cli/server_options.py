"""The commands that serve: an editor, agents, the commands of a workspace."""

from __future__ import annotations

from tirlens.cli.option_groups import Commands


def add_serve(commands: Commands) -> None:
    """The command of the language server."""
    parser = commands.add_parser("serve", help="the language server")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--stdio", action="store_true", help="speak on standard input and output")
    how.add_argument("--tcp", metavar="HOST:PORT", help="listen for one client")
    parser.add_argument(
        "--trust-workspace", action="store_true", help="run the workspace's code without asking"
    )


def add_mcp(commands: Commands) -> None:
    """The command of the tools for agents."""
    parser = commands.add_parser(
        "mcp",
        help="tools for agents: estimate, explain, advise, rank, compare, sweep, devices, measured",
        description="Serves tools for agents by the Model Context Protocol on standard input and "
        "output. Only files in allowed folders are read and executed, and none is written unless "
        "--write allows it.",
    )
    parser.add_argument(
        "--allow",
        action="append",
        default=[],
        metavar="FOLDER",
        help="read and execute files of this folder and below; may be repeated. Without it none is",
    )
    parser.add_argument(
        "--json-lines",
        action="store_true",
        help='requests and answers as lines of JSON in place of MCP: {"tool": NAME, "arguments": '
        "{...}}. Needs no SDK",
    )
    parser.add_argument(
        "--write",
        action="store_true",
        dest="may_write",
        help="let the agent write advised edits to files, and have texts of its own executed",
    )
    parser.add_argument("--python", metavar="INTERPRETER", help="the Python that has the framework")


def add_daemon(commands: Commands) -> None:
    """The command of the process that keeps workers warm."""
    parser = commands.add_parser(
        "daemon",
        help="a process in the background that keeps workers warm for analyze, report and compare",
        description="A process in the background that executes analyze, report and compare for a "
        "workspace, with warm workers and the same output. It is off until it is started, and in "
        "CI or with TIRLENS_DAEMON=0.",
    )
    parser.add_argument(
        "action",
        choices=("start", "stop", "status", "run"),
        help="run: stay in the foreground, for managers of services",
    )
    parser.add_argument(
        "--idle-minutes",
        type=float,
        metavar="M",
        default=30.0,
        help="end after M minutes without a command (default: 30)",
    )
