"""``tirlens completion SHELL``: a script that completes commands, options, devices and files."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import cast

import shtab

from tirlens import hardware
from tirlens.cli.option_parser import command_parser
from tirlens.cli.output import stream

_FILES = ("files", "file", "html", "output", "python", "append", "csv", "summary_file", "write")


def execute(arguments: argparse.Namespace) -> int:
    """Print the script."""
    parser = command_parser()
    for action in _actions(parser):
        if action.dest == "device":
            action.choices = hardware.catalogue()
        elif action.dest in _FILES:
            action.complete = shtab.FILE  # pyright: ignore[reportAttributeAccessIssue]
    with stream(arguments.output) as file:
        file.write(shtab.complete(parser, shell=arguments.shell) + "\n")
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """The actions of a parser and of its commands, which argparse lists in private names alone."""
    for action in parser._actions:  # pyright: ignore[reportPrivateUsage]
        yield action
        commands = action.choices if action.nargs == argparse.PARSER else None
        if isinstance(commands, Mapping):
            for command in cast("Mapping[str, argparse.ArgumentParser]", commands).values():
                yield from _actions(command)
