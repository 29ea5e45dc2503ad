"""How many kernels are equal, in what, and why the others are not."""

from __future__ import annotations

import re
import traceback
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from equality.compare import Difference, UnknownCountError, compared, differences
from support.counts import count
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts


@dataclass
class Summary:
    """What happened so far; kernels of one structure count once."""

    files: int = 0
    tried: int = 0
    distinct: int = 0
    executed: int = 0
    equal: int = 0
    #: Equal where all that conditions on data may choose is executed.
    bounds: int = 0
    #: Within the bound, or the share of what data may choose, that the model says it gives.
    inside: int = 0
    #: Of the executed, those of which the model says itself that it does not know a count.
    unknown: int = 0
    points: int = 0
    #: Distinct kernels by the quantities that they have something of.
    compared: Counter[str] = field(default_factory=Counter)
    #: Kernels that differ, and those of which the model itself says that a count is a bound.
    differing: dict[str, list[str]] = field(default_factory=dict)
    flagged: dict[str, list[str]] = field(default_factory=dict)
    refused: dict[str, list[str]] = field(default_factory=dict)
    unflagged: list[str] = field(default_factory=list)
    ended: Counter[int] = field(default_factory=Counter)
    oracles: Counter[str] = field(default_factory=Counter)
    _seen: set[str] = field(default_factory=set)

    def take(self, record: dict[str, Any]) -> dict[str, Any] | None:
        """Compares one record; what to keep of it."""
        if record.get("end"):
            self.files += 1
            self.ended[record["status"]] += 1
            self.oracles[record["oracle"]] += 1
            return None
        name = f"{record['path']}: {record['kernel']}: {record.get('call')}"
        if "facts" not in record:
            _note(self.refused, record["refused"], name)
            return None
        self.tried += 1
        if record["hash"] in self._seen:
            return None
        self._seen.add(record["hash"])
        self.distinct += 1
        try:
            return {"name": name, **self._compared(name, record)}
        except UnknownCountError as error:
            self.unknown += 1
            reason = f"unknown to the model: {error}"
            _note(self.refused, reason, name)
            return {"name": name, "refused": reason}
        except Exception:
            _note(self.differing, "the model raises", name + "\n" + traceback.format_exc(limit=-3))
            return {"name": name, "differs": "the model raises"}

    def _compared(self, name: str, record: dict[str, Any]) -> dict[str, Any]:
        facts = from_json(KernelFacts, record["facts"])
        counts = count(facts, record["sizes"])
        said = bool(counts.caveats or counts.needs)
        if "counted" not in record:
            reason = re.sub(r"\d+", "#", record["refused"].splitlines()[0])[:90]
            if reason.startswith("depends on data") and not said:
                self.unflagged.append(name)
            _note(self.refused, reason, name + record.get("detail", ""))
            return {"refused": record["refused"]}
        assumed = record["counted"]["assumed"]
        if assumed and not said:
            self.unflagged.append(name)
        self.executed += 1
        self.points += record["counted"]["points"]
        found = differences(facts, record)
        self.equal += not found and not assumed
        self.bounds += not found and assumed
        self.compared.update(set(compared(facts, record)) - set(found))
        messages = " ".join(caveat.message for caveat in counts.caveats)
        inside = all(_as_said(quantity, one, messages) for quantity, one in found.items())
        self.inside += bool(found) and inside
        for quantity, one in found.items():
            known = _as_said(quantity, one, messages)
            _note(self.flagged if known else self.differing, quantity, f"{name}: {one}")
        return {"differs": {quantity: str(one) for quantity, one in found.items()}}

    def show(self, examples: int) -> None:
        """Prints all of it, with so many kernels for each reason."""
        _row("files with kernels", self.files)
        _row("  by version of the oracle", dict(self.oracles))
        _row("  by status of their process", dict(self.ended))
        _row("kernels traced", self.tried)
        _row("  distinct", self.distinct)
        _row("  executed", self.executed)
        _row("  equal in every count", self.equal)
        _row("  equal as upper bounds, for data decide", self.bounds)
        _row("  within a bound or share that is said", self.inside)
        _row("  unknown to the model, and said so", self.unknown)
        _row("points executed", f"{self.points:,}")
        print("equal, by quantity, where a kernel has something of it:")
        for quantity, number in sorted(self.compared.items()):
            _row("  " + quantity, number)
        for title, names in (
            ("differing, by quantity", self.differing),
            ("within a bound or share that the model says it gives", self.flagged),
            ("not executed, by reason", self.refused),
            ("depends on data and is not flagged", {"": self.unflagged}),
        ):
            print(title + ":")
            for reason, some in sorted(names.items(), key=lambda item: -len(item[1])):
                _row("  " + reason, len(some))
                _lines(some[:examples])


def _as_said(quantity: str, found: Difference, caveats: str) -> bool:
    """Whether a difference is what the model says of itself: more than is run, or a share of it."""
    if found.above:
        return quantity.endswith("inexact)") or "upper bounds" in caveats
    return found.below and "of the iterations" in caveats


def _note(names: dict[str, list[str]], reason: str, name: str) -> None:
    names.setdefault(reason, []).append(name)


def _row(name: str, value: object) -> None:
    print(f"{name:44} {value}")


def _lines(texts: Iterable[str]) -> None:
    for text in texts:
        print("      " + text)
