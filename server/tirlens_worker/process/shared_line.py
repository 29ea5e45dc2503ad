"""The line that is being executed, in memory that server, worker and children share.

Whichever of them is killed, or has no time to speak, the others know where the text was.
"""

from __future__ import annotations

import mmap
import os
import sys
from typing import Optional

from ..protocol import MARK
from . import descriptors


class SharedLine:
    """A line of the text.

    `name` is what the server calls the memory on the command line: the number of an open file, on
    Windows a name; without one only this process and its children share it.
    """

    def __init__(self, name: Optional[str] = None) -> None:
        if name is None:
            self._memory = mmap.mmap(-1, MARK.size)
        elif sys.platform == "win32":
            self._memory = mmap.mmap(-1, MARK.size, tagname=name)
        else:
            self._memory = mmap.mmap(int(name), MARK.size)
            # `mmap` has duplicated the file. Analysed code must have none of the two: an access to
            # memory that is cut off would end the server.
            file = descriptors.identity(int(name))
            for descriptor in range(3, descriptors.END):
                if descriptors.is_open(descriptor, file):
                    os.close(descriptor)

    @property
    def line(self) -> Optional[int]:
        """The line that was set last, None for none."""
        return MARK.unpack_from(self._memory)[0] or None

    @line.setter
    def line(self, line: Optional[int]) -> None:
        MARK.pack_into(self._memory, 0, line or 0)
