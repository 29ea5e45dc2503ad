"""What a selection of kernels leaves out."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note
from tirlens.pipeline.analysis_request import selected_kernels

if TYPE_CHECKING:
    from tirlens.cli.traced_file import Traced


def name_unselected(traced: Sequence[Traced]) -> None:
    """Name the kernels that ``--call`` leaves out of those that the other options select."""
    for file in traced:
        selected = {kernel.name for kernel in selected_kernels(file.source, file.options)}
        asked = selected_kernels(file.source, replace(file.options, calls=()))
        others = [kernel.name for kernel in asked if kernel.name not in selected]
        if selected and others:
            listed = ", ".join(others[:8]) + (", ..." if len(others) > 8 else "")
            print_note(f"{file.path}: --call selects {', '.join(selected)} and not {listed}")


def refuse_selection(arguments: argparse.Namespace, traced: Sequence[Traced]) -> None:
    names = [kernel.name for file in traced for kernel in file.source.kernels]
    if not names:
        return
    if getattr(arguments, "by_launches", False):
        raise UsageError(
            "--by-launches: no calls of these kernels are captured; "
            "record those of a program with: tirlens capture -- COMMAND"
        )
    selection = [*arguments.kernel, *arguments.call] or ["all (they are turned off)"]
    listed = ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
    raise UsageError(f"no kernel matches {', '.join(selection)}; there are: {listed}")
