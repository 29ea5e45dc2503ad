"""The recording of this process: its journal, the root of its paths, and what it launches."""

from __future__ import annotations

import os
import sys
from typing import Any, Dict, Mapping, NamedTuple, Optional, Sequence

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
    """Writes launches of code at `root` to the journal, with paths relative to `base`."""

    def __init__(self, journal: Journal, base: str, root: str) -> None:
        self.journal = journal
        self._base = os.path.realpath(base)
        self._root = os.path.realpath(root)

    def launch(self, kernel: Kernel, sizes: Mapping[str, int], unknown: Sequence[str] = ()) -> None:
        """Record a launch of `kernel` by the caller; the sizes `unknown` depend on data."""
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
        names = [*call.unknown, *unknown]
        if names:
            record["unknown_sizes"] = sorted(set(names))
        if kernel.configurations:
            record["configurations"] = kernel.configurations
        self.journal.launch(record)

    def relative(self, path: str) -> str:
        """`path` from the base, else of a library from a folder of the search path, with ``/``."""
        real = os.path.realpath(path) if os.path.isabs(path) else path
        if os.path.isabs(real) and not origins.is_library(real):
            try:
                return os.path.relpath(real, self._base).replace(os.sep, "/")
            except ValueError:
                # It is on another drive.
                return os.path.basename(real)
        for folder in (self._base, *sorted(map(os.path.realpath, sys.path), key=len, reverse=True)):
            prefix = os.path.join(folder, "")
            if real.startswith(prefix):
                return real[len(prefix) :].replace(os.sep, "/")
        return os.path.basename(real)


class _State:
    recording: Optional[Recording] = None


def begin(folder: str, base: str, root: str) -> None:
    """Begin the recording of this process in a journal in `folder`."""
    _State.recording = Recording(Journal(folder), base, root)


def current() -> Recording:
    """The recording of this process, which has begun."""
    assert _State.recording is not None
    return _State.recording
