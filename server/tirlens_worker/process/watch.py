"""Read what a child tells, hold it to its limits, and say what became of it."""

from __future__ import annotations

import os
import re
import selectors
import signal
import time
from dataclasses import dataclass
from typing import Callable, List, Optional, Sequence, Set, Tuple

from ..analysis import BEGIN, DONE, END
from ..isolation import cgroup
from ..isolation.limits import memory_limit_bytes
from ..isolation.memory import MemorySum
from ..protocol import CLOSED_STATUS, Analyze, Problem
from .channel import MalformedError, Receiver
from .child import Child
from .processes import (
    count_living,
    find_descendants,
    has_strays,
    kept,
    kill_descendants,
    reap_orphans,
    signal_name,
)
from .results import Pieces, encode_progress, line_span
from .stdio import Tail

_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d{1,9}) in ')
_MOST_DESCENDANTS = 128
_MOST_COUNTED = 10_000
_COUNT_EVERY_S = 0.1
# A process that has closed its pipe to us is at its end, or is not and has lost its way.
_END_WAIT_S = 0.3


@dataclass
class Intake:
    """Where the pieces and prints of a request's children go, and what may end them early.

    `control` becomes readable when something comes from the server; `interrupted` then reads it
    and says whether to give up.
    """

    request: Analyze
    control: int
    interrupted: Callable[[], bool]
    on_progress: Callable[[bytes], None]
    pieces: Pieces
    output: Tail


class Report:
    """What became of one child."""

    def __init__(self) -> None:
        self.finished: List[int] = []
        self.problems: List[Problem] = []
        self.crashed_in: Optional[int] = None
        self.timed_out = False
        self.given_up = False


class Watch:
    """Reads one child's pipes until it is done, dead, out of time or given up."""

    def __init__(
        self, intake: Intake, child: Child, only: Sequence[int], time_limit_s: float
    ) -> None:
        self._intake = intake
        self._request = intake.request
        self._only = tuple(only)
        self._deadline = time.monotonic() + max(time_limit_s, 0.0)
        self._child = child
        child.start(self._request, only, max(time_limit_s, 0.05))
        self._report = Report()
        self._receiver = Receiver()
        self._trace = Tail()
        self._current: Optional[int] = None
        self._done = False
        self._is_malformed = False
        self._flood = False
        self._memory_full = False
        self._memory = MemorySum(os.getpid())
        self._memory_kills = _memory_kills()
        self._most = _MOST_DESCENDANTS

    def watch(self) -> Report:
        """Watch the child to its end; one that has sent all may not have ended yet."""
        selector = selectors.DefaultSelector()
        for name, descriptor in self._child.channels.items():
            selector.register(descriptor, selectors.EVENT_READ, name)
        selector.register(self._intake.control, selectors.EVENT_READ, "control")
        open_pipes = set(self._child.channels)
        next_count = time.monotonic() + _COUNT_EVERY_S
        # Those of an earlier analysis may still be about to end.
        self._most = len(find_descendants(_MOST_COUNTED)) + _MOST_DESCENDANTS
        while "pieces" in open_pipes and not (self._done or self._is_malformed):
            now = time.monotonic()
            if now >= self._deadline:
                self._report.timed_out = True
                break
            if now >= next_count:
                if self._is_above_limits():
                    break
                next_count = time.monotonic() + _COUNT_EVERY_S
            for key, _ in selector.select(min(self._deadline, next_count) - now):
                if key.data == "control":
                    self._report.given_up = self._intake.interrupted()
                elif not self._read(key.data, key.fd):
                    selector.unregister(key.fd)
                    open_pipes.discard(key.data)
            if self._report.given_up:
                break
        self._drain(open_pipes - {"pieces"})
        selector.close()
        if not self._done:
            deserted = "pieces" not in open_pipes and not self._child.ends_within(_END_WAIT_S)
            self._child.kill()
            if (self._memory_full or self._report.given_up) and has_strays():
                # What is left in other groups would take the memory of the next child; after a
                # cancel nothing runs any more.
                kill_descendants()
            if not self._report.given_up:
                self._explain(deserted)
        return self._report

    def _is_above_limits(self) -> bool:
        """Whether the analysis has too many processes, or too much memory in all of them."""
        reap_orphans()
        found = find_descendants(self._most)
        # Those that were killed with an earlier child become ours one after the other.
        self._flood = len(found) > self._most < count_living(found)
        if not self._flood:
            measured = [pid for pid in found if pid not in kept]
            self._memory_full = self._memory.is_above(memory_limit_bytes(), measured)
        return self._flood or self._memory_full

    def _read(self, name: str, descriptor: int) -> bool:
        data = os.read(descriptor, 1 << 16)
        if name == "output":
            self._intake.output.write(data)
        elif name == "trace":
            self._trace.write(data)
        else:
            try:
                for tag, payload in self._receiver.receive(data):
                    self._take(tag, payload)
            except MalformedError:
                self._is_malformed = True
        return bool(data)

    def _drain(self, names: Set[str]) -> None:
        """What is already in the pipes; a process that still writes is not waited for."""
        for name in names:
            descriptor = self._child.channels[name]
            os.set_blocking(descriptor, False)
            try:
                for _ in range(64):
                    if not self._read(name, descriptor):
                        break
            except BlockingIOError:
                continue

    def _take(self, tag: bytes, payload: bytes) -> None:
        if self._done:
            return
        if tag == BEGIN:
            self._begin(payload)
        elif tag == END:
            if self._current is None or payload != b"%d" % self._current:
                raise MalformedError
            self._report.finished.append(self._current)
            self._current = None
        elif tag == DONE:
            self._done = True
        else:
            self._intake.pieces.take(tag, payload)

    def _begin(self, payload: bytes) -> None:
        done, total = len(self._report.finished), len(self._only)
        if self._current is not None or done == total or payload != b"%d" % self._only[done]:
            raise MalformedError
        self._current = self._only[done]
        self._intake.on_progress(encode_progress(self._request, self._current, done, total))

    def _explain(self, deserted: bool) -> None:
        """The problem of a child that did not come to its end."""
        self._report.crashed_in = self._current
        kernel = None if self._current is None else self._request.kernels[self._current]
        if self._current is not None:
            self._report.finished.append(self._current)
        kind, message = self._cause(deserted)
        trace = self._trace.text()
        line = innermost_line(trace, self._request.path)
        if line is None and kernel is None:
            line = self._child.mark.line
        span = kernel.span if kernel else None
        if line is not None:
            span = line_span(self._request.text, line) or span
        name = kernel.name if kernel else None
        self._report.problems.append(Problem(kind, message, span, name, trace))

    def _cause(self, deserted: bool) -> Tuple[str, str]:
        if self._report.timed_out:
            limit = "{:g} s".format(self._request.time_limit_s)
            if self._current is None:
                return "timeout", "the file was still being imported after {}".format(limit)
            return "timeout", "the kernel was still being traced after {}".format(limit)
        doing = "while the file was imported" if self._current is None else "while it was traced"
        if self._flood:
            return "crash", "too many processes were started {}".format(doing)
        if self._is_malformed:
            what = "something else than its results was written to the pipe of the analysis"
            return "crash", "{} {}".format(what, doing)
        if self._memory_full:
            limit = "{:.3g} GiB".format(memory_limit_bytes() / (1 << 30))
            return "memory", "more than {} of memory was taken {}".format(limit, doing)
        has_closed = "crash", "the process closed the files of its own analysis {}".format(doing)
        if deserted:
            return has_closed
        # Only here is its end waited for, which on a busy machine takes its time.
        end = self._child.wait_for_end()
        if os.WIFSIGNALED(end.status):
            number = os.WTERMSIG(end.status)
            if number == signal.SIGXCPU:
                return "timeout", "the limit of CPU time was reached {}".format(doing)
            is_large = end.peak_bytes > memory_limit_bytes() // 2
            if number == signal.SIGKILL and (is_large or _memory_kills() > self._memory_kills):
                return "memory", "the process was killed {}, most likely for memory".format(doing)
            first = first_signal(self._trace.text(), number)
            return "crash", "the process crashed {} ({})".format(doing, signal_name(first))
        code = os.WEXITSTATUS(end.status)
        if code == CLOSED_STATUS:
            return has_closed
        return "crash", "the process ended {} with exit status {}".format(doing, code)


def _memory_kills() -> int:
    group = cgroup.own()
    return 0 if group is None else group.memory_kills


def first_signal(trace: str, number: int) -> int:
    """The signal that a process which ended by `number` met first, by faulthandler's report.

    A framework's own handler of a segmentation fault may abort while it prints.
    """
    if number == signal.SIGABRT and trace.startswith("Fatal Python error: Segmentation fault"):
        return signal.SIGSEGV
    return number


def innermost_line(trace: str, path: str) -> Optional[int]:
    """The line of `path` that is innermost in a traceback as faulthandler writes it."""
    name = path.encode("ascii", "backslashreplace").decode()
    for text in trace.splitlines():
        match = _FRAME.match(text)
        if match and match.group("file") == name:
            return int(match.group("line"))
    return None
