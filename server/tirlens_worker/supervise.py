"""Run one analysis in a forked child and hold it to its limits.

The warm process has the framework imported and never runs user code itself.  Its child does, and
tells its pieces through a pipe; whatever becomes of the child, its pieces so far and a `Problem`
for the rest make the `Result`.
"""

from __future__ import annotations

import json
import time
from typing import Callable, Dict, List, Optional, Sequence

from . import codec
from .analysis import KERNEL, NEEDS, PROBLEM
from .protocol import Analyze, Problem
from .stdio import Tail
from .watch import Intake, Watch


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
        self._pieces: Dict[bytes, List[bytes]] = {KERNEL: [], NEEDS: [], PROBLEM: []}
        self._output = Tail()
        self._intake = Intake(
            request, control, interrupted, on_progress, self._pieces, self._output
        )
        self._began = time.monotonic()

    def result(self) -> Optional[bytes]:
        """The `Result` as JSON, or None if the request was given up."""
        waiting = list(range(len(self._request.kernels)))
        while True:
            left_s = self._request.time_limit_s - (time.monotonic() - self._began)
            report = Watch(self._intake, waiting, left_s).watch()
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
