"""A framework's process that executes kernels, and the one of each framework that tests share."""

from __future__ import annotations

import atexit
import json
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from support.environments import environment
from tirlens_worker.codec import to_json
from tirlens_worker.protocol import Analyze

TESTS = Path(__file__).resolve().parents[1]
SERVER = TESTS.parent / "server"

SHARED_LIMIT_S = 20


class Process:
    """Executes one request after the other; `limit_s` seconds of processor time for a kernel."""

    def __init__(self, python: str, limit_s: int) -> None:
        script = TESTS / "equality/worker.py"
        self._process = subprocess.Popen(
            [python, str(script), str(SERVER), str(TESTS), str(limit_s)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def records(self, asked: Analyze) -> Iterator[dict[str, Any]]:
        """One record a kernel, and one that ends them and has the `status` of it all."""
        return self._answers(to_json(asked))

    def cases(self, path: Path, execute: bool = True) -> dict[str, dict[str, Any]]:
        """The records of a module of cases by name: their facts and, executed, their counts."""
        *found, end = self._answers({"cases": str(path), "execute": execute})
        assert end["status"] == 0, path
        return {record["kernel"]: record for record in found}

    def programs(self, programs: list[tuple[str, int]]) -> list[dict[str, Any]]:
        """The facts and the counts of modules with a kernel, each with a seed of its data."""
        *found, end = self._answers({"programs": programs})
        assert end["status"] == 0, found[-1:]
        return found

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self._process.kill()
        self._process.wait()

    def _answers(self, line: Any) -> Iterator[dict[str, Any]]:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        for answer in self._process.stdout:
            record = json.loads(answer)
            yield record
            if record.get("end"):
                return
        raise RuntimeError("the process that executes kernels has ended")


@cache
def shared(environment_name: str) -> Process:
    """The process of all tests: the framework is imported once, which takes seconds."""
    process = Process(str(environment(environment_name)), SHARED_LIMIT_S)
    atexit.register(process.end)
    return process


@cache
def cases_of(environment_name: str, path: Path, execute: bool = True) -> dict[str, dict[str, Any]]:
    """`Process.cases` of the shared process, asked for once."""
    return shared(environment_name).cases(path, execute)
