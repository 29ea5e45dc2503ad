"""Run one analysis in a forked child and hold it to its limits.

The warm process has the framework imported and never runs user code itself.  Its child does, and
tells its pieces through a pipe; whatever becomes of the child, its pieces so far and a `Problem`
for the rest make the `Result`.
"""

from __future__ import annotations

import time
from typing import Callable, List, Optional

from ..protocol import Analyze
from .child import Child
from .fork_server import ForkServer
from .results import Pieces
from .stdio import Tail
from .watch import Intake, Watch

# What the other kernels get after one has used up all of the time.
_EXTRA_S = 0.6


class Run:
    """One request's pieces, over as many children as it takes."""

    def __init__(
        self,
        request: Analyze,
        child: Child,
        control: int,
        interrupted: Callable[[], bool],
        on_progress: Callable[[bytes], None],
    ) -> None:
        self._request = request
        self._children = [child]
        self._pieces = Pieces(request)
        self._output = Tail()
        self._intake = Intake(
            request, control, interrupted, on_progress, self._pieces, self._output
        )
        self._began = time.monotonic()
        self.has_failed = False

    def result(self) -> Optional[bytes]:
        """The `Result` as JSON, or None if the request was given up."""
        waiting = list(range(len(self._request.kernels)))
        limit_s = self._request.time_limit_s
        while True:
            left_s = limit_s - (time.monotonic() - self._began)
            report = Watch(self._intake, self._children[-1], waiting, left_s).watch()
            if report.given_up:
                return None
            late = limit_s > self._request.time_limit_s
            again = len(self._children) > 1
            # The file has been imported before: that there was no time to do so again is no news.
            if not (again and report.timed_out and report.crashed_in is None):
                self._pieces.add(report.problems)
            self.has_failed |= bool(report.problems)
            waiting = [index for index in waiting if index not in report.finished]
            # After a kernel that crashed or hung the others are tried in a new child.
            if report.crashed_in is None or not waiting or (late and report.timed_out):
                break
            if report.timed_out:
                limit_s += _EXTRA_S
            # Its end, which on a busy machine takes its time, is not waited for.
            self._children.append(Child(self._children[0].mark))
        if report.timed_out and (again or report.crashed_in is not None):
            self._pieces.add_not_reached(waiting)
        return self._pieces.encode(time.monotonic() - self._began, self._output.text())

    @property
    def servers(self) -> List[ForkServer]:
        """The fork servers that the analysis has left, the newest last."""
        return [child.server for child in self._children if child.server is not None]

    def close(self) -> None:
        """End what is left of the analysis, which takes longer than to tell its result."""
        for child in self._children:
            child.end()
