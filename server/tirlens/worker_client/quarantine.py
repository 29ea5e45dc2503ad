"""Texts whose analysis crashed repeatedly, which are not analysed until they change."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from dataclasses import dataclass, replace

from tirlens_worker.protocol import Analyze, Problem, Result

CRASHES = 3
_REMEMBERED_FILES = 100


@dataclass(frozen=True)
class _Record:
    digest: bytes
    crashes: int
    last: Result


class Quarantine:
    """Counts the crashes of each file's text."""

    def __init__(self) -> None:
        self._records: OrderedDict[str, _Record] = OrderedDict()

    def verdict(self, request: Analyze) -> Result | None:
        """The last result with a reason, in place of an analysis; None if `request` may run."""
        record = self._records.get(request.path)
        if record is None or record.digest != _digest(request) or record.crashes < CRASHES:
            return None
        message = f"not analysed again: this text crashed {CRASHES} times; change it to try again"
        problems = (*record.last.problems, Problem("crash", message))
        return replace(record.last, id=request.id, problems=problems)

    def note(self, request: Analyze, result: Result) -> Result:
        """Record the `result` of `request` and return it."""
        if not any(problem.kind == "crash" for problem in result.problems):
            self._records.pop(request.path, None)
            return result
        digest = _digest(request)
        record = self._records.pop(request.path, None)
        before = record.crashes if record is not None and record.digest == digest else 0
        self._records[request.path] = _Record(digest, before + 1, result)
        while len(self._records) > _REMEMBERED_FILES:
            self._records.popitem(last=False)
        return result


def _digest(request: Analyze) -> bytes:
    return hashlib.sha256(request.text.encode("utf-8", "surrogatepass")).digest()
