"""The report of ``ncu --export``, an ``.ncu-rep`` file.

Sources: NVIDIA, "Nsight Compute Customization Guide", section "Report File Format", of version 7;
the message definitions in ``extras/FileFormat`` of Nsight Compute 2024.1.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from io import BufferedReader

from tirlens.measured.reading import protobuf
from tirlens.measured.reading.nsight_compute import Profile, devices_once
from tirlens.measured.reading.trace_file import TraceError, TraceFile
from tirlens.measured.records import MeasuredDevice, Position, Problem, Record

_MAGIC = b"NVR\0"
# The frame of Zstandard (RFC 8878) that holds the reports with the suffix .ncu-repz.
_COMPRESSED = b"\x28\xb5\x2f\xfd"
_WITH_NCU = "ncu --import FILE --csv --page raw prints it as CSV, which is read"
_VERSION = 7
_TIME = re.compile(r"gpu__time_|\w+_time$")
_HEADER_BYTES = 16 << 20
_ENTRY_BYTES = 64 << 20
_PART_BYTES = 1 << 20


@dataclass(frozen=True)
class _Block:
    """The header of a block: how many entries of which kind follow."""

    sources: int
    results: int
    payload_bytes: int
    strings: tuple[str, ...]


class NsightComputeReport:
    """An operation for each kernel with all its metrics; other results are problems.

    The report has no units: durations are nanoseconds, and all else is in base units.
    """

    format_name = "report of ncu --export"

    def recognises(self, trace: TraceFile) -> bool:
        """Whether it begins as a report, or as a compressed one."""
        return trace.head.startswith((_MAGIC, _COMPRESSED))

    def records(self, trace: TraceFile) -> Iterator[Record]:
        """The operations in the order of the file, and a device before its first operation."""
        if trace.head.startswith(_COMPRESSED):
            raise TraceError(f"{trace.path}: is a compressed report: {_WITH_NCU}")
        devices = set[MeasuredDevice]()
        number = 0
        with trace.binary() as file:
            try:
                for item in _profiles(file, trace):
                    number += 1
                    position = Position(str(trace.path), number)
                    if isinstance(item, str):
                        yield Problem(position, item)
                        continue
                    profile = _profile(*item, position)
                    yield from devices_once(profile, devices)
                    yield profile.operation()
            except ValueError as error:
                raise TraceError(f"{trace.path}: result {number + 1}: {error}") from error


def _profiles(
    file: BufferedReader, trace: TraceFile
) -> Iterator[tuple[bytes, tuple[str, ...]] | str]:
    """The message of each result with the strings that it refers to, or a remark."""
    file.read(len(_MAGIC))
    header = _entry(file, _HEADER_BYTES)
    version = next((value for number, value in protobuf.fields_of(header) if number == 1), None)
    if version != _VERSION:
        yield f"version {version} of the format is not {_VERSION}: {_WITH_NCU}"
    strings: tuple[str, ...] = ()
    while file.peek(1):
        block = _block(_entry(file, _HEADER_BYTES))
        # A block without strings refers to those before it.
        strings = block.strings or strings
        left = block.payload_bytes
        for index in range(block.sources + block.results):
            if left < 4:
                raise ValueError("its block ends before it")
            entry_bytes = _size(file)
            left -= 4 + entry_bytes
            if left < 0:
                raise ValueError("is longer than its block")
            if index < block.sources:
                _skip(file, entry_bytes)
            else:
                yield _read(file, entry_bytes, _ENTRY_BYTES), strings
        if left:
            yield "results of ranges, graphs or command lists, which are no kernels, are not read"
            _skip(file, left)


def _profile(message: bytes, strings: tuple[str, ...], position: Position) -> Profile:
    """A ``ProfileResult``."""
    names: dict[int, str] = {}
    profile = Profile("", position)
    for number, value in protobuf.fields_of(message):
        if number in (5, 6, 7):
            names[number] = protobuf.text_of(value)
        elif number == 10:
            profile.grid = _dimensions(value)
        elif number == 11:
            profile.block = _dimensions(value)
        elif number == 13:
            _add_metric(protobuf.message_of(value), strings, profile)
        elif number == 23:
            profile.stream = protobuf.text_of(value)
    profile.name = names.get(7) or names.get(6) or names.get(5) or ""
    for number, label in ((6, "short_name"), (5, "mangled_name")):
        if names.get(number):
            profile.words[label] = names[number]
    index = profile.metrics.get("device__attribute_device_index")
    profile.device_index = None if index is None else f"{index:g}"
    return profile


def _add_metric(message: bytes, strings: tuple[str, ...], profile: Profile) -> None:
    """A ``ProfileMetricResult``: its value, without the values of its instances."""
    name = ""
    content = b""
    for number, value in protobuf.fields_of(message):
        if number == 1 and isinstance(value, int):
            if value >= len(strings):
                raise ValueError(f"string {value} of {len(strings)}")
            name = strings[value]
        elif number == 2:
            content = protobuf.message_of(value)
    for number, value in protobuf.fields_of(content):
        if number == 1:
            profile.words[name] = protobuf.text_of(value)
            continue
        metric = protobuf.number_of(value)
        if math.isfinite(metric):
            profile.metrics[name] = metric * (1e-9 if _TIME.match(name) else 1)


def _dimensions(value: int | bytes) -> tuple[int, int, int]:
    """An ``Uint64x3``, without the fields that are 0."""
    fields = {
        number: part
        for number, part in protobuf.fields_of(protobuf.message_of(value))
        if isinstance(part, int)
    }
    return fields.get(1, 0), fields.get(2, 0), fields.get(3, 0)


def _block(message: bytes) -> _Block:
    """A ``BlockHeader``."""
    counts = {1: 0, 2: 0, 5: 0}
    strings: tuple[str, ...] = ()
    for number, value in protobuf.fields_of(message):
        if number in counts and isinstance(value, int):
            counts[number] = value
        elif number == 4:
            table = protobuf.fields_of(protobuf.message_of(value))
            strings = tuple(protobuf.text_of(text) for field, text in table if field == 1)
    return _Block(counts[1], counts[2], counts[5], strings)


def _size(file: BufferedReader) -> int:
    return int(struct.unpack("<I", _read(file, 4, 4))[0])


def _entry(file: BufferedReader, most_bytes: int) -> bytes:
    return _read(file, _size(file), most_bytes)


def _read(file: BufferedReader, size: int, most_bytes: int) -> bytes:
    if size > most_bytes:
        raise ValueError(f"a part of {size} bytes, more than {most_bytes}")
    content = file.read(size)
    if len(content) < size:
        raise ValueError("the file ends before it")
    return content


def _skip(file: BufferedReader, size: int) -> None:
    while size > 0:
        size -= len(_read(file, min(size, _PART_BYTES), _PART_BYTES))


READER = NsightComputeReport()
