"""Capture files among the files that a command names."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections import Counter
from pathlib import Path

from tirlens.captured.candidates import CapturedCalls, capture_files_above
from tirlens.captured.file_format import Capture, CaptureError, merge, read
from tirlens.captured.names import is_capture
from tirlens.captured.sections import (
    SectionChoice,
    SectionError,
    choose_launches,
    launches_by_section,
)
from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note

_OPTIONS = ("signpost", "start_signpost", "end_signpost")
_MOST_NAMED = 6


def take_captures(arguments: argparse.Namespace) -> None:
    """Replace the capture files among the named files by the files of their kernels.

    Raises:
        UsageError: a capture file cannot be read, or has no kernel of a file below its folder.
    """
    paths = [Path(name) for name in arguments.files if _is_capture(Path(name))]
    arguments.captures = paths or None
    if not paths:
        return
    arguments.by_launches = True
    files: dict[str, None] = dict.fromkeys(
        name for name in arguments.files if Path(name) not in paths
    )
    choice = section_choice(arguments)
    for path in paths:
        try:
            whole = read(path)
            capture = choose_launches(whole, choice)
        except CaptureError as error:
            raise UsageError(str(error)) from error
        except SectionError as error:
            raise UsageError(f"{path}: {error}") from error
        if choice.is_whole:
            _print_sections(path, whole)
        if not capture.calls and not choice.is_whole:
            raise UsageError(f"{path}: no launch in the chosen sections")
        found = {_file_of(path, call.file) for call in capture.calls}
        present = sorted(str(file) for file in found if file.is_file())
        if not present:
            raise UsageError(f"{path}: none of the files of its kernels is in its folder")
        files.update(dict.fromkeys(present))
        _print_missing(path, capture)
    arguments.files = list(files)


def section_choice(arguments: argparse.Namespace) -> SectionChoice:
    """The sections of captured programs that a command asks for, by the options of traces."""
    names = (getattr(arguments, name, None) for name in _OPTIONS)
    return SectionChoice(*names)


def captured_calls(arguments: argparse.Namespace) -> CapturedCalls:
    """The captured calls of a command: of the files that it names, else of all that are found."""
    return CapturedCalls(getattr(arguments, "captures", None), section_choice(arguments))


def _print_sections(path: Path, capture: Capture) -> None:
    """Note that all sections count, with the launches of each."""
    counts = launches_by_section(capture.calls)
    if not capture.sections or len(counts) < 2:
        return
    named = [f"{name or 'outside of sections'} {count:,}" for name, count in counts.items()]
    listed = ", ".join(named[:_MOST_NAMED]) + (", ..." if len(named) > _MOST_NAMED else "")
    print_note(f"{path}: the launches of all sections count ({listed}); --signpost NAME for one")


def other_operations(arguments: argparse.Namespace) -> dict[str, int]:
    """What the capture files of a command have and its kernels do not: the operations of other
    libraries, and the launches whose arguments or configurations are not known, by name."""
    whole = merge(capture for _, capture in chosen_captures(arguments))
    found = Counter(whole.others)
    for call in whole.calls:
        if call.configurations > 1:
            found[f"{call.function} (one of {call.configurations:,} configurations)"] += (
                call.launches
            )
        elif call.call is None:
            found[f"{call.function} (arguments not known)"] += call.launches
    return dict(found)


def chosen_captures(arguments: argparse.Namespace) -> list[tuple[Path, Capture]]:
    """The capture files of a command with the launches of the sections that it asks for."""
    if not arguments.by_launches:
        return []
    paths = arguments.captures
    if paths is None:
        named = (Path(name) for name in arguments.files)
        paths = dict.fromkeys(
            file
            for path in named
            for file in capture_files_above(path / "k.py" if path.is_dir() else path)
        )
    captures: list[tuple[Path, Capture]] = []
    for path in paths:
        # One that cannot be read has been reported.
        with contextlib.suppress(CaptureError, SectionError):
            captures.append((path, choose_launches(read(path), section_choice(arguments))))
    return captures


def _is_capture(path: Path) -> bool:
    """Whether a named file is a capture file: by its name, or JSON that is no notebook."""
    return is_capture(path) or path.suffix == ".json"


def _file_of(capture: Path, file: str) -> Path:
    """The module `file` of a capture, by the shortest path from here."""
    return Path(os.path.relpath(capture.absolute().parent / file))


def _print_missing(path: Path, capture: Capture) -> None:
    """Note the launches of a capture that cannot be analysed."""
    without_file = [call for call in capture.calls if not _file_of(path, call.file).is_file()]
    there = [call for call in capture.calls if call not in without_file]
    without_text = [call for call in there if call.call is None]
    tuned = [call for call in there if call.configurations > 1]
    for calls, why in (
        (without_file, "are of files that are not in its folder"),
        (without_text, "have arguments that cannot be written"),
        (tuned, "are of a configuration that a tuner would choose: they are not in the sum"),
    ):
        if calls:
            launches = sum(call.launches for call in calls)
            names = ", ".join(sorted({call.function for call in calls})[:6])
            print_note(f"{path}: {launches:,} launches {why}: {names}")
