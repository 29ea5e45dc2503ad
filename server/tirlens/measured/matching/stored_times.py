"""The file of measured times, which is committed with the kernels: TOML with a line for each.

An entry is a kernel with its call on a device, in an order that does not vary.  Each is one line
that ends with a comma, so that the lines of both sides of a merge are a file again; of two entries
for one kernel and device, the later one counts.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import Any, cast

from tirlens.file_writer import replace_text
from tirlens.measured.matching.stored_names import FILE_NAME
from tirlens.repository import root_of
from tirlens.toml_reader import TomlError, read_in_time, read_toml

_HEAD = """\
# Measured times of kernels, written by tirlens: a line for each kernel, call and device.
# In a merge conflict, keep the lines of both sides: the later measurement counts.
measured = [
"""
_MOST_TEXT = 4096


class StoredTimesError(ValueError):
    """A file of measured times that cannot be read or written. The text says why."""


@dataclass(frozen=True)
class StoredTime:
    """A measured time of a kernel with one call on one device.

    Attributes
    ----------
    file
        The module of the kernel, relative to the folder of the file of times.
    kernel, function
        Its definition, and the function that this yields.
    call, sizes
        The call, and the sizes of dynamic dimensions by name.
    device_id, board
        The entry of the catalogue, and the name that the device has itself.
    time_s, low_s, high_s
        The median (or mean) of one execution; 10th and 90th percentile.
    samples
        How many executions were timed.
    measured_at
        When, in UTC.
    tool
        What measured.
    digest
        That of the kernel's text (`tirlens.source.digest`); empty where the text is not known.
    """

    file: str
    kernel: str
    function: str
    call: str
    device_id: str
    time_s: float
    measured_at: datetime
    tool: str
    digest: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict[str, int])
    board: str = ""
    low_s: float | None = None
    high_s: float | None = None
    samples: int | None = None

    @property
    def identity(self) -> tuple[object, ...]:
        """What one entry is for; also the order of entries."""
        sizes = tuple(sorted(self.sizes.items()))
        return self.file, self.kernel, self.function, self.call, sizes, self.device_id


def stored_path(path: Path) -> Path:
    """The file of times for the kernels of the file `path`: the nearest one above it.

    Where there is none, it belongs into the folder of the repository.
    """
    return next(stored_files_above(path), (root_of(path) or path.absolute().parent) / FILE_NAME)


def stored_files_above(path: Path, root: Path | None = None) -> Iterator[Path]:
    """The files of times in the folders from that of `path` to `root`: that of its repository."""
    root = root or root_of(path)
    for folder in path.absolute().parents:
        if (folder / FILE_NAME).is_file():
            yield folder / FILE_NAME
        if root is None or folder == root:
            return


def read_stored(path: Path) -> tuple[tuple[StoredTime, ...], tuple[str, ...]]:
    """The entries of the file `path`, and a message for each that cannot be used.

    Raises
    ------
    StoredTimesError
        It is no file of measured times.
    """
    try:
        _, table = read_in_time(lambda: read_toml(path), str(path))
    except (TomlError, FileNotFoundError) as error:
        raise StoredTimesError(str(error)) from error
    items = table.get("measured")
    if not isinstance(items, list):
        raise StoredTimesError(f"{path}: has no list 'measured'")
    found: list[StoredTime] = []
    problems: list[str] = []
    for number, item in enumerate(cast("list[Any]", items), 1):
        try:
            found.append(_entry(item))
        except (ValueError, TypeError) as error:
            problems.append(f"{path}: entry {number}: {error}")
        except KeyError as error:
            problems.append(f"{path}: entry {number}: {error.args[0]} is missing")
    return tuple(latest(found)), tuple(problems)


def latest(entries: Iterable[StoredTime]) -> list[StoredTime]:
    """The latest entry of each kernel, call and device, in the order of the file."""
    found: dict[tuple[object, ...], StoredTime] = {}
    for entry in entries:
        known = found.get(entry.identity)
        if known is None or known.measured_at <= entry.measured_at:
            found[entry.identity] = entry
    return [found[identity] for identity in sorted(found, key=repr)]


def store(path: Path, entries: Sequence[StoredTime]) -> None:
    """Add entries to the file `path`, in place of those of the same kernel, call and device.

    Raises
    ------
    StoredTimesError
        The file is there and is none of measured times, has entries that cannot be read, which
        would be lost, or cannot be written.
    """
    before: tuple[StoredTime, ...] = ()
    if path.exists():
        before, problems = read_stored(path)
        if problems:
            raise StoredTimesError(problems[0])
    try:
        replace_text(path, to_text([*before, *entries]))
    except OSError as error:
        raise StoredTimesError(f"{path} cannot be written: {error.strerror}") from error


def to_text(entries: Iterable[StoredTime]) -> str:
    """The text of a file."""
    lines = (f"  {{{_fields(entry)}}},\n" for entry in latest(entries))
    return f"{_HEAD}{''.join(lines)}]\n"


def _fields(entry: StoredTime) -> str:
    sizes = ", ".join(f"{_text(name)} = {size}" for name, size in sorted(entry.sizes.items()))
    pairs = [
        ("file", _text(entry.file)),
        ("kernel", _text(entry.kernel)),
        ("function", _text(entry.function) if entry.function != entry.kernel else ""),
        ("call", _text(entry.call)),
        ("sizes", f"{{{sizes}}}" if sizes else ""),
        ("device", _text(entry.device_id)),
        ("board", _text(entry.board) if entry.board else ""),
        ("time_s", _number(entry.time_s)),
        ("low_s", _number(entry.low_s)),
        ("high_s", _number(entry.high_s)),
        ("samples", "" if entry.samples is None else str(entry.samples)),
        ("measured_at", entry.measured_at.astimezone(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")),
        ("tool", _text(entry.tool)),
        ("digest", _text(entry.digest) if entry.digest else ""),
    ]
    return ", ".join(f"{name} = {text}" for name, text in pairs if text)


def _text(value: str) -> str:
    """A basic string of TOML: that of JSON, and DEL escaped."""
    clean = value.encode("utf-8", "replace").decode("utf-8")
    return json.dumps(clean, ensure_ascii=False).replace("\x7f", "\\u007f")


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4g}"


def _entry(item: Any) -> StoredTime:
    if not isinstance(item, dict):
        raise ValueError("it is no table")
    known = cast("dict[str, Any]", item)
    file = _known_text(known, "file")
    if PurePosixPath(file).is_absolute() or "\\" in file:
        raise ValueError(f"file: {file[:80]!r} is no relative path with /")
    measured_at = known["measured_at"]
    if not isinstance(measured_at, datetime):
        raise ValueError("measured_at: is no date and time")
    if measured_at.tzinfo is None:
        measured_at = measured_at.replace(tzinfo=timezone.utc)
    kernel = _known_text(known, "kernel")
    time_s = _seconds(known, "time_s")
    if time_s is None:
        raise ValueError("time_s is missing")
    sizes = known.get("sizes", {})
    if not isinstance(sizes, dict) or not all(
        type(size) is int for size in cast("dict[str, Any]", sizes).values()
    ):
        raise ValueError("sizes: they are no whole numbers by name")
    samples = known.get("samples")
    if samples is not None and (type(samples) is not int or samples < 1):
        raise ValueError("samples: is no count")
    return StoredTime(
        file=file,
        kernel=kernel,
        function=_known_text(known, "function") if "function" in known else kernel,
        call=_known_text(known, "call"),
        device_id=_known_text(known, "device"),
        time_s=time_s,
        measured_at=measured_at.astimezone(timezone.utc),
        tool=_known_text(known, "tool"),
        digest=_known_text(known, "digest") if "digest" in known else "",
        sizes=cast("dict[str, int]", sizes),
        board=_known_text(known, "board") if "board" in known else "",
        low_s=_seconds(known, "low_s"),
        high_s=_seconds(known, "high_s"),
        samples=samples,
    )


def _known_text(item: Mapping[str, Any], name: str) -> str:
    value = item[name]
    if not isinstance(value, str) or len(value) > _MOST_TEXT:
        raise ValueError(f"{name}: is no text of at most {_MOST_TEXT} characters")
    return value


def _seconds(item: Mapping[str, Any], name: str) -> float | None:
    value = item.get(name)
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 < value < 1e6 or not math.isfinite(value):
        raise ValueError(f"{name}: {str(value)[:40]} is no time in seconds")
    return float(value)
