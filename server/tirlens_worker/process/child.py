"""A forked child that does one analysis and cannot outlive or overspend it."""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback
from dataclasses import replace
from typing import Callable, NamedTuple, Optional, Sequence, Set, Tuple

from ..analysis import LINE, analyse
from ..isolation import cgroup, landlock, limits, network, seccomp
from ..protocol import CLOSED_STATUS, Analyze
from . import descriptors
from .channel import ChannelClosedError, Sender
from .processes import end_descendants, groups, kill_group, kill_groups
from .shared_line import SharedLine
from .stdio import write_all
from .warm_up import warm_up

_LENGTH = struct.Struct("<Q")
# One analysis after the other leaves no time to warm up for the next.
_IDLE_S = 0.3
# The traceback of a child that is out of time is asked for this long before it is killed.
_TRACE_AHEAD_S = 0.25
private_descriptors: Set[int] = set()
"""The open files of this process that its children close: its pipes to others."""


class End(NamedTuple):
    """The wait status of a child that has ended, and the most memory it had."""

    status: int
    peak_bytes: int


class Child:
    """A forked child that waits for its orders: some of a request's kernels.

    One that is forked before there is a request has the cost of its start behind it.
    """

    def __init__(self, mark: SharedLine) -> None:
        self.mark = mark
        pieces, self._pieces_in = os.pipe()
        output, self._output_in = os.pipe()
        trace, self._trace_in = os.pipe()
        self._orders, self._orders_in = os.pipe()
        self.channels = {"pieces": pieces, "output": output, "trace": trace}
        private_descriptors.update((pieces, output, trace, self._orders_in))
        self._ended: Optional[End] = None
        self._closed = False
        parent = os.getpid()
        self.pid = os.fork()
        if self.pid == 0:
            _run_and_exit(lambda: self._run(parent))
        with contextlib.suppress(OSError):
            # The child does so too; the first call has the effect.
            os.setpgid(self.pid, self.pid)
        groups.add(self.pid)
        for descriptor in (self._pieces_in, self._output_in, self._trace_in, self._orders):
            os.close(descriptor)

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
            write_all(self._orders_in, _LENGTH.pack(len(orders)) + orders)

    def _run(self, parent: int) -> None:
        """In the child: become a disposable process, then analyse the request."""
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        limits.set_name("tirlens-child")
        limits.die_with_parent(parent, signal.SIGKILL)
        os.dup2(self._output_in, 1)
        os.dup2(self._output_in, 2)
        for descriptor in (*private_descriptors, self._output_in):
            os.close(descriptor)
        sender, trace = Sender(self._pieces_in), descriptors.move_up(self._trace_in)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # The parent must not wait for its turn behind a child that has gone wild.
        limits.lower_priority(limits.CHILD_NICE)
        limits.die_first()
        network.close()
        landlock.scope_signals()
        seccomp.install(_protected)
        faulthandler.enable(trace, all_threads=False)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
        orders = self._await_orders()
        if orders is None:
            return
        request, only, time_limit_s = orders
        limits.limit_resources(time_limit_s, _process_limit)
        faulthandler.dump_traceback_later(max(0.05, time_limit_s - _TRACE_AHEAD_S), file=trace)

        def tell(tag: bytes, payload: bytes) -> None:
            if sender.is_inherited:
                return
            if tag == LINE:
                # A text that has closed the channel ends at the next statement, not at a kernel.
                sender.check()
                self.mark.line = int(payload)
            else:
                sender.send(tag, payload)

        analyse(request, only, tell)
        faulthandler.cancel_dump_traceback_later()

    def _await_orders(self) -> Optional[Tuple[Analyze, Tuple[int, ...], float]]:
        """In the child: what it is to do; None if it is not needed any more."""
        if not select.select([self._orders], [], [], _IDLE_S)[0]:
            # What an analysis writes to is copied on the first write, which can be done ahead.
            warm_up()
        with os.fdopen(self._orders, "rb") as stream:
            header = stream.read(_LENGTH.size)
            if len(header) < _LENGTH.size:
                return None
            orders: Tuple[Analyze, Tuple[int, ...], float] = pickle.loads(
                stream.read(_LENGTH.unpack(header)[0])
            )
            return orders

    def kill(self) -> None:
        """Kill the child and its group; do not wait for their ends."""
        kill_group(self.pid)
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
        self._closed = True
        for descriptor in (*self.channels.values(), self._orders_in):
            os.close(descriptor)
            private_descriptors.discard(descriptor)
        kill_group(self.pid)
        self.wait_for_end()
        end_descendants()
        groups.discard(self.pid)

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


def _run_and_exit(work: Callable[[], None]) -> None:
    """End this process after `work`, without the exit handlers of the process it came from."""
    leave = os._exit
    status = 70
    try:
        work()
        status = 0
    except ChannelClosedError:
        status = CLOSED_STATUS
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        leave(status)


_process_limit: Optional[int] = None
_protected = seccomp.Protected()


def prepare() -> None:
    """Make this process ready to fork children."""
    global _process_limit, _protected
    limits.adopt_orphans()
    _protected = seccomp.ancestors(os.getpid())
    if _process_limit is None:
        _process_limit = limits.process_limit()
    group = cgroup.own()
    if group is not None:
        group.limit(limits.memory_limit_bytes(), limits.SPARE_PROCESSES)
    # Collected once and then left alone, the heap stays shared with the children.
    gc.collect()
    gc.freeze()
