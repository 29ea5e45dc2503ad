"""The worker's life: say hello, then answer requests until the pipe is closed."""

from __future__ import annotations

import abc
import json
import os
import platform
import signal
import sys
import time
from typing import Any, BinaryIO, Dict, List, Optional

from . import codec, limits, preload, processes, stdio
from .protocol import PROTOCOL_VERSION, Analyze, Hello, Problem, Progress, Result

CAN_FORK = hasattr(os, "fork") and sys.platform != "win32"


def main(arguments: List[str]) -> int:
    """Run until the server closes the pipe.  `arguments`: the server's process id, if any."""
    reader, writer = stdio.claim()
    if arguments:
        limits.die_with_parent(int(arguments[0]), signal.SIGTERM)
    limits.lower_priority()
    sys.stdout = sys.stderr
    from .frameworks import detect

    hello = Hello(
        protocol=PROTOCOL_VERSION,
        python=platform.python_version(),
        executable=sys.executable,
        pid=os.getpid(),
        frameworks=detect(),
    )
    try:
        stdio.write_message(writer, codec.dumps(hello))
        worker = (_ForkingWorker if CAN_FORK else _PlainWorker)(reader, writer)
        # The time limits of requests start when the framework has been imported.
        stdio.write_message(writer, codec.dumps(Progress(0, "ready")))
        worker.serve()
    except (BrokenPipeError, stdio.ProtocolError):
        return 1
    return 0


class _Worker(abc.ABC):
    """Takes requests from the pipe, one at a time, until it is closed."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        self._reader = reader
        self._writer = writer

    def serve(self) -> None:
        while True:
            message = self._next()
            if message is None:
                return
            if message.get("$") == "Analyze":
                self._answer(codec.from_json(Analyze, message))

    def _next(self) -> Optional[Any]:
        payload = stdio.read_message(self._reader)
        return None if payload is None else json.loads(payload.decode("utf-8", "surrogatepass"))

    def _send(self, payload: bytes) -> None:
        stdio.write_message(self._writer, payload)

    @abc.abstractmethod
    def _answer(self, request: Analyze) -> None:
        """Analyse `request` and send its result."""


class _ForkingWorker(_Worker):
    """Each analysis in a child of its own: user code never touches the warm process."""

    def __init__(self, reader: BinaryIO, writer: BinaryIO) -> None:
        super().__init__(reader, writer)
        from . import child, patches, supervise, warm_up

        patches.install({})
        warm_up.warm_up()
        child.prepare()
        self._prepare = child.prepare
        self._run = supervise.Run
        signal.signal(signal.SIGTERM, self._terminate)
        self._pending: Optional[Any] = None
        self._closed = False

    def _next(self) -> Optional[Any]:
        pending, self._pending = self._pending, None
        if pending is not None or self._closed:
            return pending
        return super()._next()

    def _answer(self, request: Analyze) -> None:
        self._warm_up(request)
        run = self._run(request, self._reader.fileno(), self._interrupted, self._send)
        payload = run.result()
        if payload is None:
            problem = Problem("cancelled", "the analysis was given up")
            payload = codec.dumps(Result(request.id, problems=(problem,)))
        if not self._closed:
            self._send(payload)

    def _terminate(self, number: int, frame: Any) -> None:
        """The server is gone: take along what the analysis has started."""
        processes.end_descendants()
        os._exit(128 + number)

    def _warm_up(self, request: Analyze) -> None:
        names = preload.missing(request.text)
        if names:
            # A total of 0 tells the server that the time limit does not run yet.
            self._send(codec.dumps(Progress(request.id, "importing " + ", ".join(names))))
            preload.preload(names)
            self._prepare()

    def _interrupted(self) -> bool:
        """Whatever comes during an analysis ends it: a cancel, a newer request, the end."""
        self._pending = super()._next()
        self._closed = self._pending is None
        return True


class _PlainWorker(_Worker):
    """Analyses in this process, where the system cannot fork; the server's deadline kills it."""

    def _answer(self, request: Analyze) -> None:
        from . import analysis

        began = time.monotonic()
        pieces: Dict[bytes, List[Any]] = {
            analysis.KERNEL: [],
            analysis.NEEDS: [],
            analysis.PROBLEM: [],
        }
        modules, search_path = dict(sys.modules), list(sys.path)

        def tell(tag: bytes, payload: bytes) -> None:
            if tag == analysis.PROGRESS:
                self._send(payload)
            elif tag in pieces:
                pieces[tag].append(json.loads(payload.decode("utf-8", "surrogatepass")))

        analysis.analyse(request, range(len(request.kernels)), tell)
        for name in set(sys.modules) - set(modules):
            # The next text may have other versions of the user's own modules.
            if not _is_installed(sys.modules[name]):
                del sys.modules[name]
        sys.path[:] = search_path
        result = {
            "$": "Result",
            "id": request.id,
            "kernels": pieces[analysis.KERNEL],
            "needs": pieces[analysis.NEEDS],
            "problems": pieces[analysis.PROBLEM],
            "duration_s": time.monotonic() - began,
        }
        self._send(json.dumps(result, separators=(",", ":"), ensure_ascii=False).encode("utf-8"))


def _is_installed(module: Any) -> bool:
    path = getattr(module, "__file__", None) or ""
    return not path or "site-packages" in path or path.startswith(sys.base_prefix)
