"""The process of one analysis: it gives up what it does not need, and executes user code."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import pickle
import select
import signal
import struct
import sys
import time
import traceback
from dataclasses import replace
from typing import Callable, Iterable, NamedTuple, NoReturn, Optional, Tuple

from ..analysis import LINE, Continuation, analyse
from ..isolation import capabilities, landlock, limits, network, seccomp
from ..program.import_state import ImportState
from ..protocol import CLOSED_STATUS, Analyze
from . import descriptors, fork_server
from .channel import ChannelClosedError, Sender
from .fork_server import Ends
from .shared_line import SharedLine
from .warm_up import warm_up

LENGTH = struct.Struct("<Q")
"""What is in front of orders: their length."""
# One analysis after the other leaves no time to warm up for the next.
_IDLE_S = 0.3
# The traceback of a child that is out of time is asked for this long before it is killed.
_TRACE_AHEAD_S = 0.25
_Orders = Tuple[Analyze, Tuple[int, ...], float]


class Limits(NamedTuple):
    """What holds for all analyses of a worker."""

    protected: seccomp.Protected
    processes: Optional[int]
    leaves_server: bool


class AnalysisProcess:
    """A child of the process `worker`, or of a fork server in its stead."""

    def __init__(self, ends: Ends, mark: SharedLine, worker: int, bounds: Limits) -> None:
        self._mark = mark
        self._worker = worker
        self._bounds = bounds
        self._connect(ends)

    def run(self, not_ours: Iterable[int]) -> None:
        """Become disposable, close the descriptors `not_ours`, then do what the worker orders."""
        with contextlib.suppress(OSError):
            os.setpgid(0, 0)
        limits.set_name("tirlens-child")
        limits.die_with_parent(self._worker, signal.SIGKILL)
        for descriptor in not_ours:
            os.close(descriptor)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        # The parent must not wait for its turn behind a child that has gone wild.
        limits.lower_priority(limits.CHILD_NICE)
        network.close()
        capabilities.drop()
        landlock.enter_domain()
        seccomp.install(self._bounds.protected)
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 3000))
        if not select.select([self._orders], [], [], _IDLE_S)[0]:
            # What an analysis writes to is copied on the first write, which can be done ahead.
            warm_up()
        orders = self._receive_orders()
        if orders is None:
            return
        request, only, _ = orders
        analyse(request, only, self._send, self._fork_point if self._bounds.leaves_server else None)
        faulthandler.cancel_dump_traceback_later()

    def _connect(self, ends: Ends) -> None:
        os.dup2(ends.output, 1)
        os.dup2(ends.output, 2)
        os.close(ends.output)
        self._sender = Sender(ends.pieces)
        self._trace = descriptors.move_up(ends.trace)
        self._orders = ends.orders
        self._control = descriptors.move_up(ends.control)
        faulthandler.enable(self._trace, all_threads=False)

    def _disconnect(self) -> None:
        """Close all but the socket of a fork server."""
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, 1)
        os.dup2(nothing, 2)
        os.close(nothing)
        faulthandler.disable()
        self._sender.close()
        os.close(self._trace)

    def _receive_orders(self) -> Optional[_Orders]:
        """What is to be done, for which the limits then hold; None if there is nothing to do."""
        with os.fdopen(self._orders, "rb") as stream:
            header = stream.read(LENGTH.size)
            if len(header) < LENGTH.size:
                return None
            orders: _Orders = pickle.loads(stream.read(LENGTH.unpack(header)[0]))
        # Up to here a copy of the worker, which the code of another analysis could reach.
        limits.show()
        limits.die_first()
        time_limit_s = orders[-1]
        limits.limit_resources(time_limit_s, self._bounds.processes)
        self._deadline = time.monotonic() + time_limit_s
        self._trace_later()
        return orders

    def _trace_later(self) -> None:
        left_s = self._deadline - _TRACE_AHEAD_S - time.monotonic()
        faulthandler.dump_traceback_later(max(0.05, left_s), file=self._trace)

    def _send(self, tag: bytes, payload: bytes) -> None:
        if self._sender.is_inherited:
            if tag != LINE:
                # A process that the code has forked has come to the code's end, and its parent may
                # wait for its own. The rest of the analysis is the parent's.
                _leave(0)
            return
        if tag == LINE:
            # A text that has closed the channel ends at the next statement, not at a kernel.
            self._sender.check()
            self._mark.line = int(payload)
        else:
            self._sender.send(tag, payload)

    def _fork_point(self, state: ImportState) -> Optional[Continuation]:
        """Leave a fork server here; in the processes that it forks, what they are to do."""
        if self._sender.is_inherited:
            return None
        # The thread that it waits for does not exist after a fork.
        faulthandler.cancel_dump_traceback_later()
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        if not fork_server.leave_server(self._control, self._worker):
            os.close(self._control)
            self._trace_later()
            return None
        self._disconnect()
        ends, demanded, document = fork_server.serve(self._control, self._worker, state)
        self._connect(ends)
        limits.set_name("tirlens-child")
        orders = self._receive_orders()
        if orders is None:
            os._exit(0)
        request, only, _ = orders
        is_demanded = replace(demanded, id=request.id) == request
        return Continuation(request, only, self._send, document if is_demanded else None)


def run_and_exit(work: Callable[[], None]) -> None:
    """End this process after `work`, without the exit handlers of the process it came from."""
    status = 70
    try:
        work()
        status = 0
    except ChannelClosedError:
        status = CLOSED_STATUS
    except BaseException:
        traceback.print_exc()
    finally:
        _leave(status)


# Analysed code may put another function in its place.
_exit = os._exit


def _leave(status: int) -> NoReturn:
    """End this process at once, with what it has printed."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    _exit(status)
