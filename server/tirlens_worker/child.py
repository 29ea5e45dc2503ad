"""A forked child that does one analysis and cannot outlive or overspend it."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import signal
import struct
import sys
import traceback
from typing import Callable, Optional, Sequence

from . import limits
from .analysis import analyse
from .processes import end_descendants, kill_group
from .protocol import Analyze
from .stdio import write_all

# In front of a piece: its tag and the length of its payload.
HEADER = struct.Struct("<cI")
# The traceback of a child that is out of time is asked for this long before it is killed.
_TRACE_AHEAD_S = 0.25


class Child:
    """A forked child at work on some of a request's kernels."""

    def __init__(self, request: Analyze, only: Sequence[int], time_limit_s: float) -> None:
        pieces, self._pieces_in = os.pipe()
        output, self._output_in = os.pipe()
        trace, self._trace_in = os.pipe()
        self.channels = {"pieces": pieces, "output": output, "trace": trace}
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _run_and_exit(lambda: self._run(request, only, time_limit_s, parent))
        for descriptor in (self._pieces_in, self._output_in, self._trace_in):
            os.close(descriptor)

    def _run(self, request: Analyze, only: Sequence[int], time_limit_s: float, parent: int) -> None:
        """In the child: become a disposable process, then analyse."""
        os.setpgid(0, 0)
        limits.die_with_parent(parent, signal.SIGKILL)
        os.dup2(self._output_in, 1)
        os.dup2(self._output_in, 2)
        for descriptor in list(self.channels.values()) + [self._output_in]:
            os.close(descriptor)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        limits.limit_resources(time_limit_s, _process_limit)
        faulthandler.enable(self._trace_in, all_threads=False)
        faulthandler.dump_traceback_later(
            max(0.05, time_limit_s - _TRACE_AHEAD_S), file=self._trace_in
        )
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
        own = os.getpid()

        def tell(tag: bytes, payload: bytes) -> None:
            # A child that user code forks has inherited this pipe and must not use it.
            if os.getpid() == own:
                write_all(self._pieces_in, HEADER.pack(tag, len(payload)) + payload)

        analyse(request, only, tell)
        faulthandler.cancel_dump_traceback_later()

    def end(self) -> int:
        """Kill what is left of the child and all that it started; its wait status."""
        for descriptor in self.channels.values():
            os.close(descriptor)
        kill_group(self.pid)
        _, status = os.waitpid(self.pid, 0)
        kill_group(self.pid)
        end_descendants()
        return status


def _run_and_exit(work: Callable[[], None]) -> None:
    """End this process after `work`, without the exit handlers of the process it came from."""
    leave = os._exit
    status = 70
    try:
        work()
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        leave(status)


_process_limit: Optional[int] = None


def prepare() -> None:
    """Make this process ready to fork children."""
    global _process_limit
    limits.adopt_orphans()
    if _process_limit is None:
        _process_limit = limits.process_limit()
    # Collected once and then left alone, the heap stays shared with the children.
    gc.collect()
    gc.freeze()
