"""Run one analysis in a forked child and hold it to its limits.

The warm process has the framework imported and never runs user code itself.  Its child does, and
tells its pieces through a pipe; whatever becomes of the child, its pieces so far and a `Problem`
for the rest make the `Result`.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import re
import selectors
import signal
import struct
import sys
import time
import traceback
from typing import Callable, Dict, List, Optional, Sequence, Tuple

from . import codec, limits
from .analysis import BEGIN, DONE, END, KERNEL, LINE, NEEDS, PROBLEM, PROGRESS, analyse
from .facts import Span
from .lines import split_lines
from .protocol import Analyze, Problem
from .stdio import Tail, write_all

_HEADER = struct.Struct("<cI")
# The traceback of a child that is out of time is asked for this long before it is killed.
_TRACE_AHEAD_S = 0.25
_FRAME = re.compile(r'^  File "(?P<file>.*)", line (?P<line>\d+) in ')
_MOST_DESCENDANTS = 128


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
                write_all(self._pieces_in, _HEADER.pack(tag, len(payload)) + payload)

        analyse(request, only, tell)
        faulthandler.cancel_dump_traceback_later()

    def end(self) -> int:
        """Kill what is left of the child and all that it started; its wait status."""
        for descriptor in self.channels.values():
            os.close(descriptor)
        _kill_group(self.pid)
        _, status = os.waitpid(self.pid, 0)
        _kill_group(self.pid)
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


class Run:
    """One request's pieces, over as many children as it takes."""

    def __init__(
        self,
        request: Analyze,
        control: int,
        interrupted: Callable[[], bool],
        on_progress: Callable[[bytes], None],
    ) -> None:
        self._request = request
        self._control = control
        self._interrupted = interrupted
        self._on_progress = on_progress
        self._pieces: Dict[bytes, List[bytes]] = {KERNEL: [], NEEDS: [], PROBLEM: []}
        self._output = Tail()
        self._began = time.monotonic()

    def result(self) -> Optional[bytes]:
        """The `Result` as JSON, or None if the request was given up."""
        waiting = list(range(len(self._request.kernels)))
        while True:
            left_s = self._request.time_limit_s - (time.monotonic() - self._began)
            report = _Watch(self, waiting, left_s).watch()
            if report.given_up:
                return None
            self._add(PROBLEM, report.problems)
            waiting = [index for index in waiting if index not in report.finished]
            # After a crash in one kernel the others are tried in a new child.
            if not (report.crashed_in is not None and waiting and not report.timed_out):
                break
        if report.timed_out:
            self._add(PROBLEM, [self._not_reached(index) for index in waiting])
        return self._encode()

    def _add(self, tag: bytes, items: Sequence[Problem]) -> None:
        self._pieces[tag] += [codec.dumps(item) for item in items]

    def _not_reached(self, index: int) -> Problem:
        kernel = self._request.kernels[index]
        message = "not analysed: the time limit of {:g} s was over before".format(
            self._request.time_limit_s
        )
        return Problem("timeout", message, kernel.span, kernel.name)

    def _encode(self) -> bytes:
        # The same problem of the file is told by each child; the order of the first telling stays.
        problems = list(dict.fromkeys(self._pieces[PROBLEM]))
        lists = (
            ("kernels", self._pieces[KERNEL]),
            ("needs", self._pieces[NEEDS]),
            ("problems", problems),
        )
        parts = ['{{"$":"Result","id":{}'.format(self._request.id).encode()]
        for name, items in lists:
            if items:
                parts.append(b',"%s":[%s]' % (name.encode(), b",".join(items)))
        duration = time.monotonic() - self._began
        output = json.dumps(self._output.text())
        parts.append(',"duration_s":{:.4f},"output":{}}}'.format(duration, output).encode())
        return b"".join(parts)


class _Report:
    """What became of one child."""

    def __init__(self) -> None:
        self.finished: List[int] = []
        self.problems: List[Problem] = []
        self.crashed_in: Optional[int] = None
        self.timed_out = False
        self.given_up = False


class _Watch:
    """Reads one child's pipes until it is done, dead, out of time or given up."""

    def __init__(self, run: Run, only: Sequence[int], time_limit_s: float) -> None:
        self._run = run
        self._request = run._request
        self._deadline = time.monotonic() + max(time_limit_s, 0.0)
        self._child = Child(self._request, only, max(time_limit_s, 0.05))
        self._report = _Report()
        self._buffer = bytearray()
        self._trace = Tail()
        self._current: Optional[int] = None
        self._line: Optional[int] = None
        self._done = False
        self._flood = False

    def watch(self) -> _Report:
        selector = selectors.DefaultSelector()
        for name, descriptor in self._child.channels.items():
            selector.register(descriptor, selectors.EVENT_READ, name)
        selector.register(self._run._control, selectors.EVENT_READ, "control")
        open_pipes = set(self._child.channels)
        next_count = time.monotonic() + 0.5
        while "pieces" in open_pipes and not self._done:
            now = time.monotonic()
            if now >= self._deadline:
                self._report.timed_out = True
                break
            if now >= next_count:
                next_count = now + 0.5
                if _descendants_exceed(_MOST_DESCENDANTS):
                    self._flood = True
                    break
            for key, _ in selector.select(min(self._deadline, next_count) - now):
                if key.data == "control":
                    self._report.given_up = self._run._interrupted()
                elif not self._read(key.data, key.fd):
                    selector.unregister(key.fd)
                    open_pipes.discard(key.data)
            if self._report.given_up:
                break
        self._drain(open_pipes - {"pieces"})
        selector.close()
        status = self._child.end()
        if not self._done and not self._report.given_up:
            self._explain(status)
        return self._report

    def _read(self, name: str, descriptor: int) -> bool:
        data = os.read(descriptor, 1 << 16)
        if name == "output":
            self._run._output.write(data)
        elif name == "trace":
            self._trace.write(data)
        else:
            self._buffer += data
            self._take_pieces()
        return bool(data)

    def _drain(self, names: set) -> None:
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

    def _take_pieces(self) -> None:
        start = 0
        while len(self._buffer) - start >= _HEADER.size:
            tag, length = _HEADER.unpack_from(self._buffer, start)
            end = start + _HEADER.size + length
            if len(self._buffer) < end:
                break
            self._take(tag, bytes(self._buffer[start + _HEADER.size : end]))
            start = end
        del self._buffer[:start]

    def _take(self, tag: bytes, payload: bytes) -> None:
        if tag == PROGRESS:
            self._run._on_progress(payload)
        elif tag == LINE:
            self._line = int(payload)
        elif tag == BEGIN:
            self._current = int(payload)
        elif tag == END:
            self._report.finished.append(int(payload))
            self._current = None
        elif tag == DONE:
            self._done = True
        else:
            self._run._pieces[tag].append(payload)

    def _explain(self, status: int) -> None:
        """The problem of a child that did not come to its end."""
        self._report.crashed_in = self._current
        kernel = None if self._current is None else self._request.kernels[self._current]
        if self._current is not None:
            self._report.finished.append(self._current)
        kind, message = self._cause(status)
        trace = self._trace.text()
        line = innermost_line(trace, self._request.path)
        if line is None and kernel is None:
            line = self._line
        span = kernel.span if kernel else None
        if line is not None:
            span = line_span(self._request.text, line)
        name = kernel.name if kernel else None
        self._report.problems.append(Problem(kind, message, span, name, trace))

    def _cause(self, status: int) -> Tuple[str, str]:
        if self._report.timed_out:
            limit = "{:g} s".format(self._request.time_limit_s)
            if self._current is None:
                return "timeout", "the file was still being imported after {}".format(limit)
            return "timeout", "the kernel was still being traced after {}".format(limit)
        doing = "while the file was imported" if self._current is None else "while it was traced"
        if self._flood:
            return "crash", "too many processes were started {}".format(doing)
        if os.WIFSIGNALED(status):
            number = os.WTERMSIG(status)
            if number == signal.SIGXCPU:
                return "timeout", "the limit of CPU time was reached {}".format(doing)
            if number == signal.SIGKILL and not self._trace.text():
                return "memory", "the process was killed {}, most likely for memory".format(doing)
            return "crash", "the process crashed {} ({})".format(doing, _signal_name(number))
        code = os.WEXITSTATUS(status)
        return "crash", "the process ended {} with exit status {}".format(doing, code)


def innermost_line(trace: str, path: str) -> Optional[int]:
    """The line of `path` that is innermost in a traceback as faulthandler writes it."""
    name = path.encode("ascii", "backslashreplace").decode()
    for text in trace.splitlines():
        match = _FRAME.match(text)
        if match and match.group("file") == name:
            return int(match.group("line"))
    return None


def line_span(text: str, line: int) -> Span:
    lines = split_lines(text)
    content = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    return Span(line, len(content) - len(content.lstrip()), line, len(content))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return "signal {}".format(number)


def _kill_group(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return


def end_descendants() -> None:
    """Kill and reap all children, and those of their children that so become ours (Linux)."""
    for _ in range(1000):
        for pid in _children():
            _kill_group(pid)
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                continue
        try:
            pid, _ = os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _children() -> List[int]:
    try:
        with open("/proc/self/task/{}/children".format(os.getpid())) as file:
            return [int(word) for word in file.read().split()]
    except (OSError, ValueError):
        return []


def _descendants_exceed(limit: int) -> bool:
    pending, seen = [os.getpid()], 0
    while pending:
        pid = pending.pop()
        try:
            with open("/proc/{0}/task/{0}/children".format(pid)) as file:
                found = [int(word) for word in file.read().split()]
        except (OSError, ValueError):
            continue
        seen += len(found)
        pending += found
        if seen > limit:
            return True
    return False
