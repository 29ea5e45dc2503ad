"""A device file as a table, merged with the file that it extends, with the line of each key."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard, cast

from tirlens.toml_reader import TomlError, read_toml

_HEADER = re.compile(r"^\s*\[([^\[\]]+)\]")
_PART = re.compile(r"""[\w-]+|"[^"]*"|'[^']*'""")
_KEY = re.compile(rf"^\s*((?:{_PART.pattern})(?:\s*\.\s*(?:{_PART.pattern}))*)\s*=")
# Keys that a device file does not inherit from the file that it extends.
_OWN_KEYS = ("id", "name", "aliases", "extends", "sources")
_MAX_EXTENDS = 8


class DeviceError(ValueError):
    """An unknown device, or a device file that cannot be used; the message has the reason."""


@dataclass(frozen=True)
class DeviceTable:
    """The table of a device file, merged with the one that it extends.

    `raw` is the table of the file itself, `lines` the line (from 1) of each of its dotted keys.
    Arithmetic rates that it inherits are in proportion to its own SMs and clock.
    """

    path: Path
    raw: Mapping[str, Any]
    table: Mapping[str, Any]
    lines: Mapping[str, int]
    base: DeviceTable | None = None

    def error(self, key: str, what: str) -> DeviceError:
        """What is wrong with a key, with its line."""
        return DeviceError(f"{self.where(key)}: {key:.80}: {what:.1000}")

    def where(self, key: str) -> str:
        """``FILE:LINE`` of a key, or of the nearest table around it, or the file alone."""
        parts = key.split(".")
        nearest = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
        line = next((self.lines[name] for name in nearest if name in self.lines), None)
        return str(self.path) if line is None else f"{self.path}:{line}"


def read_table(path: Path, resolve: Callable[[str, Path], Path]) -> DeviceTable:
    """Read a device file and what it extends; `resolve` finds the file of another device's name.

    Raises `DeviceError` for a file that cannot be read, is no TOML, or extends itself.
    """
    return _read(path, resolve, ())


def _read(
    path: Path, resolve: Callable[[str, Path], Path], inside: tuple[Path, ...]
) -> DeviceTable:
    if len(inside) > _MAX_EXTENDS:
        raise DeviceError(f"{inside[0]}: extends: more than {_MAX_EXTENDS} files")
    if path in inside:
        chain = " -> ".join(file.name for file in (*inside, path))
        raise DeviceError(f"{inside[-1]}: extends: a device cannot extend itself: {chain}")
    try:
        text, table = read_toml(path)
    except FileNotFoundError as error:
        raise DeviceError(f"{path}: cannot be read: {error.strerror}") from error
    except TomlError as error:
        raise DeviceError(str(error)) from error
    lines = key_lines(text)
    if "extends" not in table:
        return DeviceTable(path, table, table, lines)
    name = table["extends"]
    here = f"{path}:{lines.get('extends', 1)}: extends"
    if not isinstance(name, str) or not name:
        raise DeviceError(f"{here}: must be the id of a device or a path")
    try:
        base = _read(resolve(name, path), resolve, (*inside, path))
    except DeviceError as error:
        raise DeviceError(f"{here}: {error}") from error
    inherited = {key: value for key, value in base.table.items() if key not in _OWN_KEYS}
    title = f"{base.table.get('name', name)}, as {path.name} has it"
    own_rates = {
        key: _at_own_clock(cast("dict[str, Any]", inherited[key]), *_ratios(base.table, table))
        for key in ("peaks", "fidelities")
        if isinstance(inherited.get(key), dict)
    }
    if "clock_hz" in table:
        own_rates = {
            key: _without_clocks(rates, table.get(key)) for key, rates in own_rates.items()
        }
    below = {**inherited, **own_rates, "id": path.stem, "name": title}
    merged = merge(below, {key: value for key, value in table.items() if key != "extends"})
    return DeviceTable(path, table, merged, lines, base)


def _ratios(base: Mapping[str, Any], own: Mapping[str, Any]) -> Iterator[float]:
    """The SMs and the clock of a file over those of its base; 1 if it does not give them."""
    for key in ("sm_count", "clock_hz"):
        mine, other = own.get(key), base.get(key)
        if _is_number(mine) and _is_number(other) and other:
            # An integer of TOML may be too large for a float; the reader refuses it.
            yield min(max(mine, -1e300), 1e300) / min(max(other, -1e300), 1e300)
        else:
            yield 1.0


def _at_own_clock(rates: Mapping[str, Any], sms: float, clock: float) -> dict[str, Any]:
    """Inherited arithmetic rates in proportion to SMs and clock, but for a rate with its own."""
    if _is_number(rates.get("flop_per_s")):
        ratio = sms if "clock_hz" in rates else sms * clock
        return {**rates, "flop_per_s": rates["flop_per_s"] * ratio}
    return {
        name: _at_own_clock(cast("dict[str, Any]", item), sms, clock)
        if isinstance(item, dict)
        else item
        for name, item in rates.items()
    }


def _without_clocks(inherited: dict[str, Any], own: Any) -> dict[str, Any]:
    """Inherited rates without the clocks of those that a file gives at its own clock."""
    if not isinstance(own, dict):
        return inherited
    if "flop_per_s" in own:
        return {key: value for key, value in inherited.items() if key != "clock_hz"}
    rates = cast("dict[str, Any]", own)
    return {
        name: _without_clocks(cast("dict[str, Any]", item), rates.get(name))
        if isinstance(item, dict)
        else item
        for name, item in inherited.items()
    }


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`below` with what `above` has in its place, table by table."""
    out = dict(below)
    for key, value in above.items():
        old = out.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            value = merge(cast("dict[str, Any]", old), cast("dict[str, Any]", value))
        out[key] = value
    return out


def numbers_by_key(table: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """Every number in a device file by its dotted key."""
    found: dict[str, float] = {}
    for key, value in table.items():
        if isinstance(value, dict) and key != "sources":
            found |= numbers_by_key(cast("dict[str, Any]", value), f"{prefix}{key}.")
        elif _is_number(value):
            found[prefix + key] = value
    return found


def _is_number(value: Any) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def key_lines(text: str) -> dict[str, int]:
    """The line (from 1) of every key and table of a TOML text, by its dotted name.

    The keys of inline tables are not listed; they are on the line of the table.
    """
    lines: dict[str, int] = {}
    prefix = ""
    for number, line in enumerate(text.splitlines(), 1):
        header = _HEADER.match(line)
        if header is not None:
            prefix = _dotted_key(header.group(1))
            lines.setdefault(prefix, number)
            continue
        key = _KEY.match(line)
        if key is not None:
            name = _dotted_key(key.group(1))
            lines.setdefault(f"{prefix}.{name}" if prefix else name, number)
    return lines


def _dotted_key(key: str) -> str:
    return ".".join(part.strip("\"'") for part in _PART.findall(key))
