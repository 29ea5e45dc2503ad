"""The worker's life: say hello, then answer requests until the pipe is closed."""

from __future__ import annotations

import argparse
import os
import platform
import signal
import sys
from typing import List

from .. import codec
from ..isolation import cgroup, guard, limits, namespace
from ..protocol import PROTOCOL_VERSION, Hello, Progress
from . import processes, stdio
from .serving import Worker
from .shared_line import SharedLine

CAN_FORK = hasattr(os, "fork") and sys.platform != "win32"


def main(arguments: List[str]) -> int:
    """Run until the server closes the pipe."""
    options = _options(arguments)
    limits.parent_tells &= not options.poll_parent
    limits.memory_option_bytes = options.memory
    can_fork = CAN_FORK and not options.no_fork
    has_guard = can_fork and limits.parent_tells
    if has_guard:
        _enter_guarded(options)
    limits.set_name("tirlens-worker")
    if can_fork:
        limits.hide()
    limits.lower_priority(limits.WORKER_NICE)
    mark = SharedLine(options.mark)
    reader, writer = stdio.claim()
    if options.parent and not has_guard:
        limits.die_with_parent(options.parent, signal.SIGTERM)
    sys.stdout = sys.stderr
    from ..frameworks import detect

    hello = Hello(
        protocol=PROTOCOL_VERSION,
        python=platform.python_version(),
        executable=sys.executable,
        pid=namespace.pid_outside(),
        frameworks=detect(),
        isolates=can_fork,
    )
    try:
        stdio.write_message(writer, codec.dumps(hello))
        worker: Worker
        if can_fork:
            from .forking import ForkingWorker

            worker = ForkingWorker(reader, writer, mark)
        else:
            from .in_process_worker import InProcessWorker

            worker = InProcessWorker(reader, writer, mark)
        # The time limits of requests start when the framework has been imported.
        stdio.write_message(writer, codec.dumps(Progress(0, "ready")))
        worker.serve()
    except (BrokenPipeError, stdio.ProtocolError):
        return 1
    return 0


def _enter_guarded(options: argparse.Namespace) -> None:
    """Go on in a process with a guard, in a namespace and a control group where there can be."""
    group = cgroup.create()

    def end_rest() -> None:
        processes.end_descendants()
        if group is not None:
            group.end()

    is_alone = not options.no_namespace and namespace.enter(options.parent, end_rest=end_rest)
    if not is_alone:
        guard.enter(options.parent, end_rest)
    if group is not None:
        cgroup.join(group)


def _options(arguments: List[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser("tirlens_worker")
    parser.add_argument("parent", nargs="?", type=int, help="the server's process id")
    parser.add_argument("--mark", help="the memory for the line that is being executed")
    parser.add_argument(
        "--no-fork", action="store_true", help="analyse in this process, as where nothing can fork"
    )
    parser.add_argument(
        "--no-namespace",
        action="store_true",
        help="share the processes' namespace with the server, as where none can be made",
    )
    parser.add_argument(
        "--poll-parent",
        action="store_true",
        help="look for the parent's end, as where the system does not tell of it",
    )
    parser.add_argument("--memory", type=int, help="the bytes that an analysis may allocate")
    return parser.parse_args(arguments)
