"""The wire format of Protocol Buffers: the fields of a message by their numbers.

Source: "Protocol Buffers Documentation", section "Encoding".
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import TypeAlias

FieldValue: TypeAlias = "int | float | bytes"

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def fields_of(message: bytes | memoryview) -> Iterator[tuple[int, int | bytes]]:
    """The number and the value of each field: an integer, the bytes of a fixed number, or bytes.

    Raises
    ------
    ValueError
        The bytes are no message.
    """
    data = bytes(message)
    position, end = 0, len(data)
    while position < end:
        key, position = _varint(data, position)
        number, wire_type = key >> 3, key & 7
        if wire_type == _VARINT:
            value, position = _varint(data, position)
            yield number, value
            continue
        if wire_type == _BYTES:
            size, position = _varint(data, position)
        elif wire_type == _FIXED64:
            size = 8
        elif wire_type == _FIXED32:
            size = 4
        else:
            raise ValueError(f"a field of the unknown type {wire_type}")
        if size > end - position:
            raise ValueError("a field that is longer than its message")
        yield number, data[position : position + size]
        position += size


def text_of(value: int | bytes) -> str:
    """A string."""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def message_of(value: int | bytes) -> bytes:
    """A message in a field.

    Raises
    ------
    ValueError
        It is a number.
    """
    if isinstance(value, int):
        raise ValueError("a number in the place of a message")
    return value


def number_of(value: int | bytes) -> float:
    """An integer, or a floating-point number of four or eight bytes.

    Raises
    ------
    ValueError
        It is neither.
    """
    if isinstance(value, int):
        return value
    if len(value) not in (4, 8):
        raise ValueError(f"a number of {len(value)} bytes")
    return float(struct.unpack("<f" if len(value) == 4 else "<d", value)[0])


def _varint(data: bytes, position: int) -> tuple[int, int]:
    value = shift = 0
    while shift < 64:
        if position >= len(data):
            raise ValueError("a number that does not end")
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, position
        shift += 7
    raise ValueError("a number of more than 64 bits")
