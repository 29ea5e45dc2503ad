"""Watching the process of the client: when it ends, the protocol asks the server to end."""

from __future__ import annotations

import os
import select
import sys
import threading
import time
from collections.abc import Callable

_POLL_S = 0.5


def watch(process_id: int, on_end: Callable[[], None]) -> None:
    """Call `on_end`, in a thread, when the process ends.

    A process that is not there now is not watched: the client may run in another container, where
    its number means another process or none.
    """
    wait = _windows_wait(process_id) if sys.platform == "win32" else _posix_wait(process_id)
    if wait is None:
        return

    def run() -> None:
        wait()
        on_end()

    threading.Thread(target=run, name="client process", daemon=True).start()


def _posix_wait(process_id: int) -> Callable[[], None] | None:
    """A function that returns when the process has ended; None if there is no such process."""
    if not _is_alive(process_id):
        return None
    # A descriptor is ready too when the process has ended and its parent has not asked for its
    # status, and its number is not given to another process.
    descriptor = -1
    if sys.platform == "linux":
        try:
            descriptor = os.pidfd_open(process_id)
        except OSError:
            # The kernel is older than 5.3, or a container forbids the call.
            descriptor = -1

    def wait() -> None:
        if descriptor >= 0:
            poll = select.poll()
            poll.register(descriptor, select.POLLIN)
            poll.poll()
            return
        while _is_alive(process_id):
            time.sleep(_POLL_S)

    return wait


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except OSError:
        # Another user's process.
        return True
    return True


def _windows_wait(process_id: int) -> Callable[[], None] | None:
    import ctypes

    synchronize, infinite = 0x00100000, 0xFFFFFFFF
    kernel: ctypes.CDLL = ctypes.CDLL("kernel32")
    kernel.OpenProcess.restype = ctypes.c_void_p
    handle = kernel.OpenProcess(synchronize, False, process_id)
    if not handle:
        return None

    def wait() -> None:
        kernel.WaitForSingleObject(ctypes.c_void_p(handle), infinite)

    return wait
