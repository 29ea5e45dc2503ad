"""What the reference executor has found, in a file of JSON lines that only grows.

A file of kernels gives its records and then a line that ends them, with the version of the oracle
that made them; both are written at once.  So a run that was stopped goes on with the next file, and
a changed model is compared with what has been executed already.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class Results:
    """The records in one file, in the order of their execution."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.exists():
            kept = path.read_bytes()
            # A run that is killed may leave half a line.
            path.write_bytes(kept[: kept.rfind(b"\n") + 1])

    def __iter__(self) -> Iterator[Record]:
        if self.path.exists():
            with self.path.open(encoding="utf-8") as lines:
                yield from map(json.loads, lines)

    def files(self) -> set[str]:
        """The files that have been executed to their end."""
        return {record["path"] for record in self if record.get("end")}

    def forget(self, word: str) -> None:
        """Leaves out the files with `word` in their path, so that they are executed again."""
        kept = [json.dumps(record) + "\n" for record in self if word not in record["path"]]
        self.path.write_text("".join(kept), encoding="utf-8")

    def extend(self, records: Iterable[Record], oracle: str) -> Iterator[Record]:
        """Appends records, file by file, and passes them on."""
        group: list[Record] = []
        for record in records:
            group.append(record)
            if record.get("end"):
                record["oracle"] = oracle
                with self.path.open("a", encoding="utf-8") as file:
                    file.write("".join(json.dumps(part) + "\n" for part in group))
                group = []
            yield record


def version(*folders: Path) -> str:
    """What tells two states of the sources in some folders apart."""
    digest = hashlib.sha256()
    for folder in folders:
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
