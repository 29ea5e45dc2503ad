"""The command line: results on standard output, everything else on standard error."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from tirlens import own_process
from tirlens.cli.errors import UsageError
from tirlens.cli.option_parser import parse
from tirlens.cli.warm.client import execute_warm
from tirlens.collector import scan_new_objects_only
from tirlens.ide.escaping import visible

__all__ = ["execute_here", "main"]

# As `tirlens.cli.outputs` has them, which is imported late.
_RESULT_OPTIONS = ("output", "html", "csv", "summary_file", "write", "bundle")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 (done), 1 (some kernel failed) or 2 (wrong usage)."""
    argv = sys.argv[1:] if argv is None else argv
    arguments = parse(argv)
    status = execute_warm(arguments.command, argv)
    return execute_here(argv) if status is None else status


def execute_here(argv: Sequence[str]) -> int:
    """Run one command in this process; the exit status as of `main`."""
    arguments = parse(argv)
    # Only what the command needs is imported: the language server must start quickly.
    command = importlib.import_module(f"tirlens.cli.{arguments.command}")
    scan_new_objects_only()
    # Before anything of the user is started.
    own_process.hide()
    try:
        if any(getattr(arguments, name, None) for name in _RESULT_OPTIONS):
            # Imported late: the language server must start quickly.
            from tirlens.cli.outputs import check_arguments

            check_arguments(arguments)
        return int(command.execute(arguments))
    except UsageError as error:
        # It may quote a file.
        print(f"tirlens: {visible(str(error))}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tirlens: interrupted", file=sys.stderr)
        return 130
