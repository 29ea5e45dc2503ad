"""The names that facts mention."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, Dict, Iterable, Sequence, Set, cast


def names_in(values: Iterable[Any], names: Set[str]) -> Set[str]:
    """Those of `names` that occur in some nodes, buffers or expressions."""
    found: Set[str] = set()
    pending = list(values)
    while pending:
        value = pending.pop()
        if isinstance(value, str):
            if value in names:
                found.add(value)
        elif isinstance(value, (tuple, list)):
            pending += cast("Sequence[Any]", value)
        elif isinstance(value, dict):
            pending += cast("Dict[Any, Any]", value).values()
        elif is_dataclass(value):
            pending += vars(value).values()
    return found
