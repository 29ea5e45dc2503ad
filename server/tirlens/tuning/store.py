"""Estimates on disk, so that a search that was interrupted or repeated does nothing twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import cattrs

from tirlens.file_reader import read_text
from tirlens.hardware import Device
from tirlens.pipeline.plan import TRANSIENT_PROBLEMS
from tirlens.pipeline.result_store import file_digest, result_key
from tirlens.tuning.evaluation import Estimates
from tirlens.tuning.subject import Subject
from tirlens_worker.protocol import Result

_MAX_BYTES = 64 << 20
_SUFFIX = ".jsonl"


class EstimateStore:
    """The estimates of one kernel on some devices: a file with a line for each step of a search.

    A line is valid while the modules of the user that the text imports have the same content. A
    line that was cut off is left out.

    Parameters
    ----------
    folder
        Where the files are, at most 64 MiB; the least recently used are removed.
    key
        Everything else that the estimates depend on (`store_key`).
    """

    def __init__(self, folder: Path, key: str) -> None:
        self._path = folder / (key + _SUFFIX)
        self._known = _read(self._path)

    def find(self, calls: Sequence[str]) -> Estimates:
        """Those of `calls` whose estimates are stored."""
        return {call: self._known[call] for call in calls if call in self._known}

    def add(self, estimates: Estimates, result: Result) -> None:
        """Store estimates that come from `result`.

        One that failed for a reason that says nothing about the text is not stored, nor is anything
        in a folder that cannot be written.
        """
        if any(problem.kind in TRANSIENT_PROBLEMS for problem in result.problems):
            return
        line = {
            "imports": {name: file_digest(name) for name in result.files},
            "estimates": cattrs.unstructure(estimates),
        }
        with contextlib.suppress(OSError):
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with self._path.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, separators=(",", ":")) + "\n")

    def prune(self) -> None:
        """Remove the least recently used files above the limit."""
        with contextlib.suppress(OSError):
            entries = [(path.stat(), path) for path in self._path.parent.iterdir()]
            entries.sort(key=lambda entry: entry[0].st_mtime, reverse=True)
            total_bytes = 0
            for status, path in entries:
                total_bytes += status.st_size
                if total_bytes > _MAX_BYTES:
                    path.unlink(missing_ok=True)


def store_key(
    subject: Subject, devices: Sequence[Device], interpreter: str, variables: Mapping[str, str]
) -> str:
    """What the estimates of a subject depend on, but for their calls and the modules it imports.

    `interpreter` is the identity of the interpreter, `variables` the environment of the worker.
    """
    digest = hashlib.sha256()
    # A set has another order in each process.
    tools = [
        f"{replace(device, features=frozenset())!r} {sorted(device.features)}" for device in devices
    ] + [repr(sorted(subject.bindings.items()))]
    digest.update(result_key(subject.request_for(()), interpreter, variables, tools).encode())
    folder = Path(__file__).parents[1]
    for path in sorted((*folder.rglob("*.py"), *folder.rglob("*.toml"))):
        status = path.stat()
        digest.update(f"{path.name} {status.st_mtime_ns} {status.st_size}\0".encode())
    return digest.hexdigest()


def _read(path: Path) -> Estimates:
    known: Estimates = {}
    digests: dict[str, str | None] = {}
    try:
        lines = read_text(path, _MAX_BYTES).splitlines()
    except (OSError, ValueError):
        return known
    for text in lines:
        with contextlib.suppress(ValueError, KeyError, TypeError, cattrs.BaseValidationError):
            line = cast("dict[str, Any]", json.loads(text))
            for name in line["imports"]:
                digests.setdefault(name, file_digest(name))
            if all(digests[name] == digest for name, digest in line["imports"].items()):
                known.update(cattrs.structure(line["estimates"], Estimates))
    return known
