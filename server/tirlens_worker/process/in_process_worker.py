"""A worker that analyses in its own process, for systems that cannot fork.

What user code does to the process outlives its analysis: after one that has used up its time the
server replaces the worker, and after one that has crashed it there is none left to replace.
"""

from __future__ import annotations

import faulthandler
import os
import sys
import threading
import time
from types import FrameType
from typing import BinaryIO, Callable, List, Optional

from .. import analysis
from ..isolation import landlock, network, seccomp
from ..program import file_dependencies, patches
from ..protocol import CLOSED_STATUS, Analyze, Problem
from . import descriptors, warm_up
from .results import Pieces, encode_progress, line_span
from .serving import Worker
from .shared_line import SharedLine


class InProcessWorker(Worker):
    """Analyses one request after the other in the main thread."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO, mark: SharedLine) -> None:
        super().__init__(reader, writer, mark)
        self._sink = descriptors.identity(writer.fileno())
        patches.install({})
        warm_up.warm_up()
        faulthandler.enable(all_threads=False)
        network.close()
        landlock.enter_domain()
        # Its code runs in this very process, which may signal itself.
        seccomp.install(seccomp.ancestors(os.getppid()))

    def _answer(self, request: Analyze) -> None:
        self._import_ahead(request)
        modules, search_path = dict(sys.modules), list(sys.path)
        _Run(request, self._send, self._mark).run()
        for name in set(sys.modules) - set(modules):
            # The next text may have other versions of the user's own modules.
            if not file_dependencies.is_installed(sys.modules[name]):
                del sys.modules[name]
        sys.path[:] = search_path

    def _send(self, payload: bytes) -> None:
        if not descriptors.is_open(self._writer.fileno(), self._sink):
            # What is open there now may be a file of the user.
            os._exit(CLOSED_STATUS)
        super()._send(payload)


class _Run:
    """One analysis, and the timer that answers for it when its time is over."""

    def __init__(self, request: Analyze, send: Callable[[bytes], None], mark: SharedLine) -> None:
        self._request = request
        self._mark = mark
        self._send = send
        self._pieces = Pieces(request)
        self._began = time.monotonic()
        self._answering = threading.Lock()
        self._current: Optional[int] = None
        self._waiting: List[int] = list(range(len(request.kernels)))
        self._thread = threading.get_ident()

    def run(self) -> None:
        timer = threading.Timer(self._request.time_limit_s, self._time_is_over)
        timer.daemon = True
        timer.start()
        analysis.analyse(self._request, self._waiting[:], self._tell)
        timer.cancel()
        self._answer()

    def _tell(self, tag: bytes, payload: bytes) -> None:
        if tag == analysis.LINE:
            self._mark.line = int(payload)
        elif tag == analysis.BEGIN:
            self._current = int(payload)
            total = len(self._request.kernels)
            done = total - len(self._waiting)
            self._send(encode_progress(self._request, self._current, done, total))
            self._waiting.remove(self._current)
        elif tag == analysis.END:
            self._current = None
        elif tag != analysis.DONE:
            self._pieces.take(tag, payload)

    def _time_is_over(self) -> None:
        frame = sys._current_frames().get(self._thread)  # pyright: ignore[reportPrivateUsage]
        line = _line_in(frame, self._request.path)
        limit = "{:g} s".format(self._request.time_limit_s)
        span = None if line is None else line_span(self._request.text, line)
        if self._current is None:
            message = "the file was still being imported after {}".format(limit)
            self._pieces.add([Problem("timeout", message, span)])
        else:
            kernel = self._request.kernels[self._current]
            message = "the kernel was still being traced after {}".format(limit)
            self._pieces.add([Problem("timeout", message, span or kernel.span, kernel.name)])
            self._pieces.add_not_reached(self._waiting)
        self._answer()

    def _answer(self) -> None:
        # Never released: one answer is all that a request gets.
        if self._answering.acquire(blocking=False):
            self._send(self._pieces.encode(time.monotonic() - self._began, ""))


def _line_in(frame: Optional[FrameType], path: str) -> Optional[int]:
    """The line of the file `path` that is innermost in the calls down to `frame`."""
    while frame is not None:
        if frame.f_code.co_filename == path:
            return frame.f_lineno
        frame = frame.f_back
    return None
