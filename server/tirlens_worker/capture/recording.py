"""The recording of this process: its journal, the root of its paths, and what it launches."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Mapping, NamedTuple, Optional

from . import origins
from .journal import Journal
from .origins import Call


class Kernel(NamedTuple):
    """A kernel that a program has made: its name, the call of its factory, how it was tuned."""

    framework: str
    name: str
    call: Call
    configurations: int = 0


class Recording:
    """Writes launches to the journal, with paths below `root` relative to it."""

    def __init__(self, journal: Journal, root: str) -> None:
        self.journal = journal
        self._root = os.path.realpath(root)

    def launch(self, kernel: Kernel, sizes: Mapping[str, int]) -> None:
        """Record a launch of `kernel` by the caller."""
        call = kernel.call
        path, line = origins.launch_place(self._root + os.sep)
        record: Dict[str, Any] = {
            "framework": kernel.framework,
            "file": self.relative(call.file),
            "function": call.function,
            "kernel": kernel.name,
            "call": call.text,
            "at": "{}:{}".format(self.relative(path), line),
        }
        if sizes:
            record["sizes"] = dict(sizes)
        if call.problem:
            record["problem"] = call.problem
        if kernel.configurations:
            record["configurations"] = kernel.configurations
        self.journal.launch(record)

    def relative(self, path: str) -> str:
        """`path` from the root, else from a folder of the search path, with ``/``."""
        real = os.path.realpath(path) if os.path.isabs(path) else path
        for folder in (self._root, *sorted(map(os.path.realpath, sys.path), key=len, reverse=True)):
            prefix = os.path.join(folder, "")
            if real.startswith(prefix):
                return real[len(prefix) :].replace(os.sep, "/")
        return os.path.basename(real)


class _State:
    recording: Optional[Recording] = None


def begin(folder: str, root: str) -> None:
    """Begin the recording of this process in a journal in `folder`."""
    _State.recording = Recording(Journal(folder), root)


def current() -> Recording:
    """The recording of this process, which has begun."""
    assert _State.recording is not None
    return _State.recording
