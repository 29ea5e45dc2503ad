"""A worker that compiles and times kernels on the machine's own device, for one request."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import tirlens_worker
from tirlens_worker import codec
from tirlens_worker.protocol import Measure, Measured, NeedsArguments, Problem

Answer = Measured | NeedsArguments | Problem
_ANSWERS: dict[str, type[Answer]] = {
    "Measured": Measured,
    "NeedsArguments": NeedsArguments,
    "Problem": Problem,
}


def measure(
    python: Path, request: Measure, time_limit_s: float, under: Sequence[str] = ()
) -> list[Answer]:
    """Run `request` under the interpreter `python` and wait for its answers.

    `under` is a profiler's command, before which the worker's is put.  A worker that does not come
    to its end has a `Problem` as its last answer.
    """
    script = Path(tirlens_worker.__file__).with_name("__main__.py")
    # Of a GPU nothing is hidden, and of the cores TVM is given all.
    environment = {
        "TVM_NUM_THREADS": str(os.cpu_count() or 1),
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    payload = codec.dumps(request)
    try:
        process = subprocess.Popen(
            [*under, str(python), str(script), "measure"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return [Problem("interpreter", f"{python} cannot be started: {error}")]
    try:
        out, log = process.communicate(
            b"Content-Length: %d\r\n\r\n" % len(payload) + payload, timeout=time_limit_s
        )
    except subprocess.TimeoutExpired:
        _kill(process)
        out, _ = process.communicate()
        message = f"the measurement was stopped after {time_limit_s:g} s"
        return [*_answers(out), Problem("timeout", message)]
    except BaseException:
        _kill(process)
        raise
    if process.returncode:
        return [*_answers(out), _crash(process.returncode, log.decode("utf-8", "replace"))]
    return list(_answers(out))


def _kill(process: subprocess.Popen[bytes]) -> None:
    with suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)


def _crash(status: int, log: str) -> Problem:
    how = f"signal {-status}" if status < 0 else f"exit status {status}"
    last = log.strip().rpartition("\n")[2]
    return Problem("crash", f"the measurement ended with {how}: {last}", detail=log[-4000:])


def _answers(out: bytes) -> Iterator[Answer]:
    """The whole messages of `out`; what else a profiler prints between them is passed over."""
    rest = out
    while True:
        _, header, rest = rest.partition(b"Content-Length: ")
        length, _, rest = rest.partition(b"\r\n\r\n")
        if not header or not length.isdigit() or len(rest) < int(length):
            return
        payload, rest = rest[: int(length)], rest[int(length) :]
        message: dict[str, Any] = json.loads(payload)
        yield codec.from_json(_ANSWERS[message["$"]], message)
