"""Reports of ncu, as section "Report File Format" of its Customization Guide describes them."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence


def varint(value: int) -> bytes:
    """A number in parts of seven bits."""
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def field(number: int, value: int | float | bytes | str) -> bytes:
    """A field of a message: an integer, a double, or bytes."""
    if isinstance(value, float):
        return varint(number << 3 | 1) + struct.pack("<d", value)
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    content = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(content)) + content


def result(
    name: str,
    metrics: Mapping[str, int | float | str],
    strings: list[str],
    grid: tuple[int, int, int] = (1, 1, 1),
    block: tuple[int, int, int] = (1, 1, 1),
    names: tuple[str, str] = ("", ""),
) -> bytes:
    """A ``ProfileResult``; names of metrics that `strings` lacks are appended to it."""
    parts = [
        *(field(5, names[0]), field(6, names[1]), field(7, name)),
        *(field(10, _three(grid)), field(11, _three(block)), field(23, 7)),
    ]
    for metric, value in metrics.items():
        if metric not in strings:
            strings.append(metric)
        kind = 1 if isinstance(value, str) else 3 if isinstance(value, float) else 5
        parts.append(field(13, field(1, strings.index(metric)) + field(2, field(kind, value))))
    return b"".join(parts)


def entry(content: bytes) -> bytes:
    """A message with its size before it."""
    return struct.pack("<I", len(content)) + content


def block(results: Sequence[bytes], strings: Sequence[str], sources: Sequence[bytes] = ()) -> bytes:
    """A block with its header."""
    payload = b"".join(map(entry, [*sources, *results]))
    header = (
        *(field(1, len(sources)), field(2, len(results)), field(5, len(payload))),
        field(4, b"".join(field(1, text) for text in strings)) if strings else b"",
    )
    return entry(b"".join(header)) + payload


def report(blocks: Sequence[bytes], version: int = 7) -> bytes:
    """A whole file."""
    return b"NVR\0" + entry(field(1, version)) + b"".join(blocks)


def _three(values: tuple[int, int, int]) -> bytes:
    return b"".join(field(number, value) for number, value in enumerate(values, 1))
