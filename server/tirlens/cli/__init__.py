"""The command line: results on standard output, everything else on standard error."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

from tirlens.cli.errors import UsageError
from tirlens.cli.option_parser import parse
from tirlens.collector import scan_new_objects_only

__all__ = ["main"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status is 0 (done), 1 (some kernel failed) or 2 (wrong usage)."""
    arguments = parse(argv)
    # Only what the command needs is imported: the language server must start quickly.
    command = importlib.import_module(f"tirlens.cli.{arguments.command}")
    scan_new_objects_only()
    try:
        return int(command.execute(arguments))
    except UsageError as error:
        print(f"tirlens: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("tirlens: interrupted", file=sys.stderr)
        return 130
