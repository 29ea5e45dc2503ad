"""The start and the limits of the connection between the server and a worker."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Optional, Tuple

PROTOCOL_VERSION = 1

#: The format of the memory that server and worker share: the line that is executed, or 0.
MARK = struct.Struct("<I")

#: What the server reads of a worker for one analysis: its progress and its result.
MOST_RESULT_BYTES = 32 << 20

#: The exit status of a process in which analysed code has closed the pipe for its results.
CLOSED_STATUS = 76


@dataclass(frozen=True)
class FrameworkInfo:
    """A framework installed in the worker's interpreter, one of `framework_names.MODULES`.

    If it cannot be imported, `version` is None and `error` is the reason.
    """

    name: str
    version: Optional[str]
    error: Optional[str] = None


@dataclass(frozen=True)
class Hello:
    """The first message of a worker; `pid` is its process id in the server's namespace.

    A worker that `isolates` runs each analysis in a separate process.
    """

    protocol: int
    python: str
    executable: str
    pid: int
    frameworks: Tuple[FrameworkInfo, ...]
    isolates: bool = True
