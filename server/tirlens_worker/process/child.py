"""A forked child that does one analysis and cannot outlive or overspend it."""

from __future__ import annotations

import contextlib
import gc
import os
import pickle
import socket
import sys
import time
from dataclasses import replace
from typing import NamedTuple, Optional, Sequence

from ..isolation import cgroup, limits, seccomp
from ..protocol import Analyze
from . import descriptors
from .analysis_process import LENGTH, AnalysisProcess, Limits, run_and_exit
from .fork_server import Ends, ForkServer
from .processes import end_descendants, groups, has_strays, kill_group, kill_groups
from .shared_line import SharedLine
from .stdio import write_all

# An analysis makes many syntax trees, which reference counting frees: the collector, which by
# default scans the new objects after 700 of them, would take a tenth of the time.
_COLLECTOR_THRESHOLDS = (50_000, 10, 10)


class ServerGoneError(Exception):
    """A fork server has ended, or has executed other imports."""


class End(NamedTuple):
    """The wait status of a child that has ended, and the most memory it had."""

    status: int
    peak_bytes: int


class Child:
    """A process that waits for its orders: some of a request's kernels.

    One that is forked before there is a request has the cost of its start behind it. One that a
    fork server forks for a request has that of its imports behind it, too.

    Raises:
        ServerGoneError: the `server` did not fork it.
    """

    def __init__(
        self,
        mark: SharedLine,
        server: Optional[ForkServer] = None,
        request: Optional[Analyze] = None,
    ) -> None:
        self.mark = mark
        self.server: Optional[ForkServer] = None
        pieces, pieces_in = os.pipe()
        output, output_in = os.pipe()
        trace, trace_in = os.pipe()
        orders, self._orders_in = os.pipe()
        self._control, control = socket.socketpair()
        ends = Ends(pieces_in, output_in, trace_in, orders, control.detach())
        self.channels = {"pieces": pieces, "output": output, "trace": trace}
        descriptors.private.update((*self.channels.values(), self._orders_in))
        descriptors.private.add(self._control.fileno())
        self._ended: Optional[End] = None
        self._closed = False
        if server is None or request is None:
            self.pid = self._fork(ends)
        else:
            self.pid = server.fork(request, ends) or 0
        for descriptor in ends:
            os.close(descriptor)
        if not self.pid:
            self._close()
            raise ServerGoneError
        with contextlib.suppress(OSError):
            # The child does so too; the first call has the effect.
            os.setpgid(self.pid, self.pid)
        groups.add(self.pid)

    def _fork(self, ends: Ends) -> int:
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            not_ours = tuple(descriptors.private)
            run_and_exit(lambda: AnalysisProcess(ends, self.mark, parent, _limits).run(not_ours))
        return pid

    @property
    def is_alive(self) -> bool:
        """Whether the process still runs; one that has ended is reaped."""
        return self._reap(os.WNOHANG) is None

    def start(self, request: Analyze, only: Sequence[int], time_limit_s: float) -> None:
        """Have it analyse the kernels of `request` with the indices `only`."""
        self.mark.line = None
        # The id is the worker's own, so that no child can write the result of a request.
        orders = pickle.dumps((replace(request, id=0), tuple(only), time_limit_s))
        with contextlib.suppress(BrokenPipeError):  # What has become of it shows on its pipes.
            write_all(self._orders_in, LENGTH.pack(len(orders)) + orders)

    def kill(self) -> None:
        """Kill the child and all that it started; do not wait for their ends."""
        self._note_server()
        kill_group(self.pid)
        if has_strays():
            kill_groups()

    def wait_for_end(self) -> End:
        """What became of the child, once it has ended."""
        ended = self._reap(0)
        assert ended is not None
        return ended

    def end(self) -> None:
        """Kill what is left of the child and all that it started, and wait for it."""
        if self._closed:
            return
        self._note_server()
        kill_group(self.pid)
        self.wait_for_end()
        if has_strays():
            end_descendants()
        self._close()
        groups.discard(self.pid)

    def _note_server(self) -> None:
        """Take over the fork server that the child has left, before what it left is killed."""
        if self.server is None and not self._closed and _limits.leaves_server:
            self.server = ForkServer.find(self._control)

    def _close(self) -> None:
        self._closed = True
        for descriptor in (*self.channels.values(), self._orders_in):
            os.close(descriptor)
            descriptors.private.discard(descriptor)
        if self.server is None:
            descriptors.private.discard(self._control.fileno())
            self._control.close()

    def ends_within(self, seconds: float) -> bool:
        """Whether the child comes to its end by itself within `seconds`."""
        deadline = time.monotonic() + seconds
        while self._reap(os.WNOHANG) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(0.005)
        return True

    def _reap(self, options: int) -> Optional[End]:
        if self._ended is None:
            try:
                pid, status, usage = os.wait4(self.pid, options)
            except ChildProcessError:
                # Reaped with the descendants of another child.
                self._ended = End(0, 0)
                return self._ended
            if pid:
                # In kilobytes, but for macOS.
                unit = 1 if sys.platform == "darwin" else 1024
                self._ended = End(status, usage.ru_maxrss * unit)
        return self._ended


_limits = Limits(seccomp.Protected(), None, leaves_server=False)


def prepare() -> None:
    """Make this process ready to fork children."""
    global _limits
    process_limit = _limits.processes
    if process_limit is None:
        process_limit = limits.process_limit()
    _limits = Limits(seccomp.ancestors(os.getpid()), process_limit, limits.adopt_orphans())
    group = cgroup.own()
    if group is not None:
        group.limit(limits.memory_limit_bytes(), limits.SPARE_PROCESSES)
    # Collected once and then left alone, the heap stays shared with the children.
    gc.collect()
    gc.freeze()
    gc.set_threshold(*_COLLECTOR_THRESHOLDS)
