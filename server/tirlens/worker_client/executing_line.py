"""The line that a worker executes, which remains readable after the worker is killed or hangs."""

from __future__ import annotations

import mmap
import os
import re
import sys
import tempfile
import uuid

from tirlens_worker.facts import Span
from tirlens_worker.protocol import MARK


class ExecutingLine:
    """Shared memory to which a worker writes the line that it executes; `name` is its name there.

    `descriptors` are the open files that the worker inherits, until `close_descriptors`.
    """

    def __init__(self) -> None:
        self.descriptors: tuple[int, ...] = ()
        if sys.platform == "win32":
            self.name = f"tirlens-{uuid.uuid4().hex}"
            self._memory = mmap.mmap(-1, MARK.size, tagname=self.name)
            return
        if sys.platform == "linux":
            descriptor = os.memfd_create("tirlens-mark", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        else:
            with tempfile.TemporaryFile() as file:
                descriptor = os.dup(file.fileno())
        os.ftruncate(descriptor, MARK.size)
        if sys.platform == "linux":
            import fcntl

            # An access to memory that is cut off would end this process.
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        self.descriptors = (descriptor,)
        self.name = str(descriptor)
        self._memory = mmap.mmap(descriptor, MARK.size)

    def clear(self) -> None:
        """Forget the line of an earlier text."""
        MARK.pack_into(self._memory, 0, 0)

    def span_in(self, text: str) -> Span | None:
        """The span of the executing line of `text`, without indentation; None before the first."""
        (number,) = MARK.unpack_from(self._memory)
        lines = re.split(r"\r\n|\r|\n", text)
        if not 0 < number <= len(lines):
            return None
        line = lines[number - 1].rstrip()
        return Span(number, len(line) - len(line.lstrip()), number, len(line))

    def close_descriptors(self) -> None:
        """Close the files that only the start of the worker needs."""
        for descriptor in self.descriptors:
            os.close(descriptor)
        self.descriptors = ()
