"""One measurement at a time on this machine, however many processes compile meanwhile."""

from __future__ import annotations

import contextlib
import getpass
import os
import tempfile
from typing import Generator


@contextlib.contextmanager
def exclusive() -> Generator[None, None, None]:
    """Wait until no other process of this user measures, and measure alone.

    The lock ends with its process.  Windows has no such lock: there nothing waits.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    path = os.path.join(tempfile.gettempdir(), "tirlens-measure-" + getpass.getuser())
    with open(path, "a", encoding="utf-8") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
