"""Capture files among the files that a command names."""

from __future__ import annotations

import argparse
from pathlib import Path

from tirlens.captured.file_format import Capture, CaptureError, read
from tirlens.captured.names import is_capture
from tirlens.cli.errors import UsageError
from tirlens.cli.outcome import print_note


def take_captures(arguments: argparse.Namespace) -> None:
    """Replace the capture files among the named files by the files of their kernels.

    Raises:
        UsageError: a capture file cannot be read, or has no kernel of a file below its folder.
    """
    paths = [Path(name) for name in arguments.files if is_capture(Path(name))]
    arguments.captures = paths or None
    if not paths:
        return
    arguments.by_launches = True
    files: dict[str, None] = dict.fromkeys(
        name for name in arguments.files if Path(name) not in paths
    )
    for path in paths:
        try:
            capture = read(path)
        except CaptureError as error:
            raise UsageError(str(error)) from error
        found = {path.parent / call.file for call in capture.calls}
        present = sorted(str(file) for file in found if file.is_file())
        if not present:
            raise UsageError(f"{path}: none of the files of its kernels is in its folder")
        files.update(dict.fromkeys(present))
        _print_missing(path, capture)
    arguments.files = list(files)


def _print_missing(path: Path, capture: Capture) -> None:
    """Note the launches of a capture that cannot be analysed."""
    without_file = [call for call in capture.calls if not (path.parent / call.file).is_file()]
    without_text = [
        call for call in capture.calls if call.call is None and call not in without_file
    ]
    for calls, why in (
        (without_file, "are of files that are not in its folder"),
        (without_text, "have arguments that cannot be written"),
    ):
        if calls:
            launches = sum(call.launches for call in calls)
            names = ", ".join(sorted({call.function for call in calls})[:6])
            print_note(f"{path}: {launches:,} launches {why}: {names}")
