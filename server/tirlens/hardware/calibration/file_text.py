"""The text of a device file that extends a device of the catalogue with measured numbers."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tirlens.hardware.quantity import number_fields
from tirlens.hardware.spec import Device

_WHOLE_NUMBERS = frozenset(field.key for field in number_fields(Device) if field.is_whole)
_COMMENT_COLUMNS = 98


@dataclass(frozen=True)
class SourcedNumber:
    """A number in the unit of its key, or a name, and where it is from; names have no source."""

    value: float | str
    source: str


def file_text(
    base: str,
    model: str,
    name: str,
    numbers: Mapping[str, SourcedNumber],
    comments: Sequence[str] = (),
) -> str:
    """The text of a device file.

    Parameters
    ----------
    base
        The id of the device that the file extends.
    model
        The name of the processor, from which the id is made.
    name
        The name of the device.
    numbers
        The numbers by dotted key.
    comments
        Paragraphs at the beginning of the file.
    """
    slug = re.sub(r"[^a-z0-9]+", "-", model.lower()).strip("-") or "device"
    lines = [
        *(line for text in comments for line in _comment(text)),
        f'extends = "{base}"',
        f'id = "{slug}"',
        f"name = {_toml_string(name)}",
        "aliases = []",
    ]
    tables: dict[str, list[str]] = {}
    sources: list[str] = []
    for key, number in numbers.items():
        table, name_in_table = _table_of(key)
        entries = tables.setdefault(table, []) if table else lines
        entries.append(f"{name_in_table} = {_toml_value(key, number.value)}")
        if not isinstance(number.value, str):
            sources.append(f'"{key}" = {_toml_string(number.source)}')
    for table, entries in tables.items():
        lines += ["", f"[{table}]", *entries]
    return "\n".join([*lines, "", "[sources]", *sources, ""])


def is_whole(key: str) -> bool:
    """Whether a number is a count or a size."""
    return key in _WHOLE_NUMBERS


def _table_of(key: str) -> tuple[str, str]:
    """The table of a dotted key as a header has it, and the name in it."""
    table, _, name = key.rpartition(".")
    head, _, rest = table.partition(".")
    # The name of an arithmetic class may have dots.
    return (f'{head}."{rest}"' if head == "peaks" and "." in rest else table), name


def _comment(text: str) -> list[str]:
    """A paragraph as lines of comments."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + len(word) < _COMMENT_COLUMNS:
            lines[-1] += f" {word}"
        else:
            lines.append(f"# {word}")
    return lines


def _toml_value(key: str, value: float | str) -> str:
    if isinstance(value, str):
        return _toml_string(value)
    return f"{int(value)}" if is_whole(key) else f"{value:.4g}"


def _toml_string(value: str) -> str:
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
