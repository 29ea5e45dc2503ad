"""The files of facts: which kernels a measured row stands for, and what was extracted of them.

A file holds a list of distinct facts and, for each row of its table that has some, their numbers:
`alternatives` is a list of candidates (one where the configuration is known), each the kernels that
it launches one after the other.  It runs under the interpreters of the frameworks and of the tests.
"""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tirlens_worker.codec import to_json
from tirlens_worker.facts import Span
from tirlens_worker.frameworks.extract import extract
from tirlens_worker.program.compilations import with_options

TABLES = Path(__file__).resolve().parent


@dataclass
class Factbook:
    """Facts in the making: `add` the rows, `save` the file."""

    table: str
    rows: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    skipped: Counter[str] = field(default_factory=Counter[str])
    facts: dict[str, int] = field(default_factory=dict[str, int])

    def number(self, facts: Any) -> int:
        """The number of `facts` in the file; equal facts share one."""
        text = json.dumps(without_places(to_json(facts)))
        return self.facts.setdefault(text, len(self.facts))

    def add(
        self,
        row: int,
        alternatives: Iterable[Sequence[int]],
        bindings: Mapping[str, int] | None = None,
    ) -> None:
        """Row number `row` of the table, counted from 0, is one of these launches."""
        entry: dict[str, Any] = {"row": row, "alternatives": [list(item) for item in alternatives]}
        if bindings:
            entry["bindings"] = dict(bindings)
        self.rows.append(entry)

    def skip(self, reason: str) -> None:
        """A row has no facts, for this reason."""
        self.skipped[reason] += 1

    def save(self, path: str | Path) -> str:
        """Write the file, the same bytes for the same facts; what it holds, in words."""
        content = {
            "table": self.table,
            "rows": self.rows,
            "skipped": dict(self.skipped),
            "facts": [json.loads(text) for text in self.facts],
        }
        with gzip.GzipFile(path, "wb", mtime=0) as file:
            file.write(json.dumps(content, separators=(",", ":")).encode())
        reasons = "".join(f"\n  {times} x {reason}" for reason, times in self.skipped.items())
        return f"{len(self.rows)} rows, {len(self.facts)} distinct facts{reasons}"


def extracted(function: Any, name: str, call: str = "") -> Any:
    """The project's own extraction of a PrimFunc."""
    return extract(
        function, definition=name, span=Span(1, 0, 1, 0), call=call, call_source="option"
    )


def made_by(jit: Any, *arguments: Any, **named: Any) -> Any:
    """The PrimFunc of a call of tilelang's ``jit``, with the options that it is compiled with."""
    return with_options(jit.get_tir(*arguments, **named), jit.pass_configs, jit.compile_flags)


def without_places(value: Any) -> Any:
    """Without the source lines of statements, which the model has no use for."""
    if isinstance(value, Mapping):
        return {k: without_places(v) for k, v in value.items() if k != "sites"}
    if isinstance(value, (list, tuple)):
        return [without_places(item) for item in value]
    return value
