"""Work that someone waits for, during which threads with other work wait.

Two threads of one process that compute share its one interpreter lock: each takes twice as long.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager

# Other work goes on after this, whatever happens to the work that it waits for.
_LIMIT_S = 5.0


class Foreground:
    """What the event loop does that someone waits for; only the event loop calls `busy`."""

    def __init__(self) -> None:
        self._count = 0
        self._idle = threading.Event()
        self._idle.set()

    @contextmanager
    def busy(self) -> Generator[None]:
        """Let other work wait within a ``with`` statement."""
        self._count += 1
        self._idle.clear()
        try:
            yield
        finally:
            self._count -= 1
            if not self._count:
                self._idle.set()

    def wait_until_idle(self) -> None:
        """Wait, in another thread than the event loop's, until nothing is to be waited for."""
        if not self._idle.is_set():
            self._idle.wait(_LIMIT_S)
