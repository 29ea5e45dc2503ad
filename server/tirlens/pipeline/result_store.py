"""Results of workers on disk, so that a run over many files analyses those that have changed."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import tirlens_worker
from tirlens.file_reader import digest_of, read_bytes
from tirlens.pipeline.plan import TRANSIENT_PROBLEMS
from tirlens.version import __version__
from tirlens_worker import codec
from tirlens_worker.protocol import Analyze, Result

_MAX_BYTES = 256 << 20
# Of one result; what the worker sends is smaller.
_MAX_RESULT_BYTES = 256 << 20
_MAX_DEPENDENCY_BYTES = 256 << 20
_SUFFIX = ".json.z"


@dataclass(frozen=True)
class ResultStore:
    """The results of complete analyses, by everything that they depend on.

    An entry is valid while the modules of the user that the text imports have the same content.

    Attributes
    ----------
    folder : Path
        Where the results are, a file each; at most 256 MiB, the least recently used are removed.
    """

    folder: Path

    def find(self, key: str) -> Result | None:
        """The result under `key`; None if there is none that is still valid."""
        path = self._path(key)
        try:
            data = cast("dict[str, Any]", json.loads(_decompress(path)))
            imports = cast("Mapping[str, str | None]", data["imports"])
            if any(file_digest(name) != digest for name, digest in imports.items()):
                return None
            result = codec.from_json(Result, data["result"])
        except (OSError, ValueError, KeyError, TypeError, zlib.error):
            return None
        with contextlib.suppress(OSError):
            os.utime(path)
        return result

    def add(self, key: str, result: Result) -> None:
        """Store `result`, unless it has a problem that says nothing about the text.

        A folder that cannot be written, or is full, stores nothing.
        """
        if any(problem.kind in TRANSIENT_PROBLEMS for problem in result.problems):
            return
        data = {
            "imports": {name: file_digest(name) for name in result.files},
            "result": codec.to_json(result),
        }
        payload = zlib.compress(json.dumps(data, separators=(",", ":")).encode())
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Another run may read it at any time.
            descriptor, name = tempfile.mkstemp(dir=self.folder)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(payload)
                Path(name).replace(self._path(key))
            except OSError:
                Path(name).unlink(missing_ok=True)
                raise

    def prune(self) -> None:
        """Remove the least recently used results above the limit."""
        with contextlib.suppress(OSError):
            entries = [(path.stat(), path) for path in self.folder.iterdir()]
            entries.sort(key=lambda entry: entry[0].st_mtime, reverse=True)
            total_bytes = 0
            for status, path in entries:
                total_bytes += status.st_size
                if total_bytes > _MAX_BYTES:
                    path.unlink(missing_ok=True)

    def _path(self, key: str) -> Path:
        return self.folder / (key + _SUFFIX)


def result_key(
    request: Analyze, interpreter: str, variables: Mapping[str, str], tools: Sequence[str]
) -> str:
    """The key of the result of `request`.

    Parameters
    ----------
    request
        The text and its kernels.
    interpreter
        The identity of the interpreter: its path, its versions and what is installed.
    variables
        The environment variables that the text sees.
    tools
        The architectures for which its kernels are lowered, and the compiler.
    """
    digest = hashlib.sha256()
    parts = (__version__, _worker_version(), interpreter, *tools, str(sorted(variables.items())))
    for part in parts:
        digest.update(part.encode("utf-8", "surrogateescape") + b"\0")
    digest.update(codec.dumps(replace(request, id=0, time_limit_s=0.0)))
    return digest.hexdigest()


def _worker_version() -> str:
    """What changes when the files of the worker change, in an editable installation too."""
    folder = Path(tirlens_worker.__file__).parent
    stamps = ((path, path.stat()) for path in sorted(folder.rglob("*.py")))
    return " ".join(f"{path.name} {one.st_mtime_ns} {one.st_size}" for path, one in stamps)


def _decompress(path: Path) -> bytes:
    """The content of an entry.

    Raises:
        OSError, ValueError, zlib.error: it cannot be read, or is larger than any result.
    """
    inflater = zlib.decompressobj()
    content = inflater.decompress(read_bytes(path, _MAX_RESULT_BYTES), _MAX_RESULT_BYTES)
    if not inflater.eof:
        raise ValueError("cut off, or too large")
    return content


def file_digest(path: str) -> str | None:
    """The digest of a file's content; None if there is no such file."""
    try:
        return digest_of(Path(path), _MAX_DEPENDENCY_BYTES) if Path(path).is_file() else None
    except OSError:
        return None
