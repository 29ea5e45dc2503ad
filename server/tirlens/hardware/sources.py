"""Where the numbers of a device file come from: ``[sources]``.

A key names a number, a table, a pattern (``peaks.*.flop_per_s``), or several with commas; of the
keys that mean a number the longest counts.  The value is a text, or a table with the provenance and
a text: ``{ estimate = "twice the idle latency" }``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, cast, get_args

from tirlens.hardware.quantity import Provenance
from tirlens.hardware.toml_file import DeviceTable, numbers_by_key

_KINDS = cast("tuple[Provenance, ...]", get_args(Provenance))
# A text alone is a measurement. Device files were once without tables, and began such a text with
# the provenance.
_OLDER_FORM = re.compile(r"(estimate|disputed|scaled|as)[\s:]|(estimate|disputed|scaled|as)$")


@dataclass(frozen=True)
class Source:
    """The source of a number: a text for people, and how the number is known."""

    text: str
    provenance: Provenance


def sources_of(file: DeviceTable) -> dict[str, Source]:
    """The source of each number of a device file and of those that it extends, by dotted key.

    Raises `DeviceError` for a source of something that is no number of the file.
    """
    base = file.base
    found = sources_of(base) if base is not None else {}
    inherited = numbers_by_key(base.table) if base is not None else {}
    own, given = numbers_by_key(file.raw), dict(_entries(file))
    for name, value in numbers_by_key(file.table).items():
        meant = [key for key in given if name in own and _means(key, name)]
        if meant:
            found[name] = given[max(meant, key=lambda key: (key == name, len(key)))]
        elif name in own and base is not None:
            found[name] = Source(f"{file.path.name}, without a source", "estimate")
        elif name in found and value != inherited[name]:
            found[name] = Source(f"scaled by SMs and clock from {file.raw['extends']}", "scaled")
    return found


def _entries(file: DeviceTable) -> Iterator[tuple[str, Source]]:
    """The numbers, tables and patterns of ``[sources]``, each with its source."""
    table = file.raw.get("sources", {})
    if not isinstance(table, dict):
        raise file.error("sources", 'must be a table of texts, "key" = "where from"')
    names = numbers_by_key(file.raw)
    for key, value in cast("dict[str, Any]", table).items():
        source = _source(value)
        if source is None:
            known = ", ".join(_KINDS)
            raise file.error(
                f"sources.{key}", f'must be a text, or a table {{ KIND = "text" }}: {known}'
            )
        for part in (part.strip() for part in key.split(",")):
            if not any(_means(part, name) for name in names):
                raise file.error(f"sources.{key}", f"{part}: is no number in this file")
            yield part, source


def _source(value: Any) -> Source | None:
    if isinstance(value, str) and value.strip():
        older = _OLDER_FORM.match(value)
        known = (older[1] or older[2]) if older else "measured"
        return Source(value, cast("Provenance", known))
    if not isinstance(value, Mapping) or len(cast("Mapping[str, Any]", value)) != 1:
        return None
    ((kind, text),) = cast("Mapping[str, Any]", value).items()
    if kind not in _KINDS or not isinstance(text, str) or not text.strip():
        return None
    return Source(_words(kind, text), kind)


def _words(kind: Provenance, text: str) -> str:
    """The text of a source as people read it: ``as the H200``, ``estimate: half the peak``."""
    if kind == "measured":
        return text
    return f"{kind} {text}" if kind in ("as", "scaled") else f"{kind}: {text}"


def _means(key: str, name: str) -> bool:
    """Whether a key of ``[sources]`` is a number's, its table's, or a pattern such as ``*.x``."""
    return name == key or name.startswith(key + ".") or ("*" in key and fnmatchcase(name, key))


__all__ = ["Source", "sources_of"]
