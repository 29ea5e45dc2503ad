"""Files of strangers, for every reader: no traceback, bounded time and memory, other rows kept.

The readers are those that are discovered, and the files are changed samples of `samples`, so that
a new reader with its sample is tested as well.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.properties import examples
from tirlens.measured.reading.reader import all_readers, find_reader
from tirlens.measured.reading.trace_file import TraceError, open_trace
from tirlens.measured.records import Operation, Problem, Record

FOLDER = Path(__file__).parent / "samples"
SAMPLES = sorted(path for path in FOLDER.iterdir() if path.name != "README.md")
TEXTS = [path for path in SAMPLES if path.suffix in (".csv", ".json", ".hatchet")]
TABLES = [path for path in SAMPLES if path.suffix == ".csv"]
IN_EACH = pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
IN_EACH_TEXT = pytest.mark.parametrize("sample", TEXTS, ids=lambda path: path.name)
IN_EACH_TABLE = pytest.mark.parametrize("sample", TABLES, ids=lambda path: path.name)
EXAMPLES = examples(25)

TOKENS = [
    "NaN", "-Infinity", "1e999", "-1", "-9223372036854775809", "9" * 400, "9" * 5000, "0x10",
    "=cmd|' /C calc'!A0", "@SUM(1)", "\x1b[2J\x1b]0;x\x07", "\u202e", "\0", '"', '""', "'", ",",
    "\n", "\r", "\\", "\ud800", "{", "}", "[", "]", "null", "true", "", "ß" * 3, "٣", "1_000",
]  # fmt: skip


def write(path: Path, content: bytes) -> None:
    """Write a file anew: some file systems take milliseconds to truncate one."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


def records_of(path: Path) -> list[Record]:
    """The records; `TraceError` is the one refusal that there is."""
    found: list[Record] = []
    try:
        trace = open_trace(path)
        reader = find_reader(trace)
        if reader is not None:
            found.extend(_bounded(reader.records(trace)))
    except TraceError as error:
        assert str(error)
    check(found)
    return found


def _bounded(records: Iterator[Record]) -> Iterator[Record]:
    for number, record in enumerate(records):
        assert number < 100_000
        yield record


def check(records: list[Record]) -> None:
    """What every reader owes: times that are times, names that can be written, rows that exist."""
    for record in records:
        if isinstance(record, Problem):
            assert record.message
            assert len(record.message) < 2000
            record.message.encode()
        if not isinstance(record, Operation):
            continue
        assert record.position.row >= 1
        assert record.executions >= 1
        record.name.encode()
        for time_s in (record.time_s, record.host_time_s, record.min_s, record.max_s):
            assert time_s is None or 0 <= time_s < 1e9
        for values in (record.grid, record.block):
            assert values is None or (len(values) == 3 and min(values) >= 1)
        for size in (record.flop, record.dram_bytes, record.shared_bytes, record.registers):
            assert size is None or size >= 0
        for text in (*record.attributes, *record.attributes.values(), *record.counters):
            text.encode()


def operations(records: list[Record]) -> list[Operation]:
    return [record for record in records if isinstance(record, Operation)]


def test_every_reader_has_a_sample() -> None:
    found = {find_reader(open_trace(path)) for path in SAMPLES}
    # A recording of nsys has no small excerpt, and its reader only says how to export it.
    without = {type(reader).__name__ for reader in set(all_readers()) - found}
    assert without <= {"NsightSystemsReport"}


@IN_EACH
@EXAMPLES
@given(data=st.data())
def test_cut_off_at_any_byte(sample: Path, data: st.DataObject, tmp_path: Path) -> None:
    content = sample.read_bytes()
    cut = data.draw(st.integers(1, len(content) - 1))
    path = tmp_path / sample.name
    write(path, content[:cut])
    records_of(path)


@IN_EACH
@EXAMPLES
@given(seed=st.integers(0, 2**32))
def test_bytes_changed_at_random(sample: Path, seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    content = bytearray(sample.read_bytes())
    for _ in range(chance.choice([1, 3, 30])):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path = tmp_path / sample.name
    write(path, bytes(content))
    records_of(path)


@IN_EACH_TEXT
@EXAMPLES
@given(data=st.data())
def test_values_that_are_none(sample: Path, data: st.DataObject, tmp_path: Path) -> None:
    text = sample.read_text(errors="replace")
    token = data.draw(st.sampled_from(TOKENS))
    begin = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(begin, min(begin + 12, len(text))))
    path = tmp_path / sample.name
    write(path, (text[:begin] + token + text[end:]).encode("utf-8", "surrogatepass"))
    records_of(path)


@pytest.mark.slow
@IN_EACH_TABLE
def test_each_cell_in_turn(sample: Path, tmp_path: Path) -> None:
    """A hostile cell costs its row at most, and the row is named."""
    lines = sample.read_text().splitlines()
    path = tmp_path / sample.name
    whole = len(operations(records_of(sample)))
    row = len(lines) - 1
    for column in range(lines[row].count(",") + 1):
        for token in ("nan", "-1", "1e999", "=1+1", "\x1b[31m", "9" * 400):
            cells = lines[row].split(",")
            cells[column] = token
            path.write_text("\n".join([*lines[:row], ",".join(cells), *lines[row + 1 :]]) + "\n")
            records = records_of(path)
            lost = whole - len(operations(records))
            assert lost <= 1, (column, token)
            if lost > 0:
                assert any(isinstance(record, Problem) for record in records), (column, token)


@IN_EACH_TEXT
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_other_encodings_with_a_byte_order_mark(
    sample: Path, encoding: str, tmp_path: Path
) -> None:
    path = tmp_path / sample.name
    path.write_bytes(sample.read_text().encode(encoding))
    names = [each.name for each in operations(records_of(path))]
    assert names == [each.name for each in operations(records_of(sample))]


@IN_EACH_TEXT
@pytest.mark.parametrize("encoding", ["utf-32", "utf-16-le", "cp500", "utf-7"])
def test_foreign_encodings(sample: Path, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / sample.name
    path.write_bytes(sample.read_text().encode(encoding))
    records_of(path)


@IN_EACH_TEXT
def test_bytes_that_are_no_text_are_replaced(sample: Path, tmp_path: Path) -> None:
    content = sample.read_bytes()
    middle = len(content) // 2
    path = tmp_path / sample.name
    path.write_bytes(content[:middle] + b"\xff\xfe\x80" + content[middle:])
    records_of(path)


@IN_EACH_TEXT
def test_compressed(sample: Path, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(gzip.compress(sample.read_bytes()))
    assert len(operations(records_of(path))) == len(operations(records_of(sample)))


@IN_EACH_TABLE
def test_ends_of_lines_of_other_systems(sample: Path, tmp_path: Path) -> None:
    text = sample.read_text()
    path = tmp_path / sample.name
    path.write_bytes(text.replace("\n", "\r\n").encode())
    assert len(operations(records_of(path))) == len(operations(records_of(sample)))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("/dev/zero"),
        lambda path: path.symlink_to("/dev/tty"),
        lambda path: path.symlink_to(path),
        lambda path: path.mkdir(),
        lambda path: os.mkfifo(path),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(b" \n" * 100),
        lambda path: path.write_bytes(b"\x1f\x8b"),
        lambda path: path.write_bytes(b"\x1f\x8b" + b"\xff" * 100),
        lambda path: path.write_bytes(gzip.compress(b"")),
        lambda path: None,
    ],
    ids=[
        "device", "terminal", "loop", "folder", "pipe", "empty", "blank", "gzip cut", "gzip broken",
        "gzip empty", "missing",
    ],
)  # fmt: skip
def test_what_is_no_file_of_a_trace(make: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "trace"
    make(path)
    with pytest.raises(TraceError, match="trace"):
        open_trace(path)


# Each is written by a function of the sample's path, the new path and the number of megabytes.
def _long_row(sample: Path, path: Path, megabytes: int) -> None:
    text = sample.read_text()
    with path.open("w") as file:
        file.write(text + "\n")
        for _ in range(megabytes):
            file.write("x" * 10**6)
        file.write("\n" + text[text.find("\n") + 1 :])


def _quoted_row(sample: Path, path: Path, megabytes: int) -> None:
    text = sample.read_text()
    with path.open("w") as file:
        file.write(text + '\n"')
        for _ in range(megabytes * 10):
            file.write("x" * 10**5 + "\n")


def _many_columns(sample: Path, path: Path, megabytes: int) -> None:
    text = sample.read_text()
    with path.open("w") as file:
        file.write(text + "\n")
        for _ in range(megabytes):
            file.write("1," * 500_000)
        file.write("\n" + text[text.find("\n") + 1 :])


def _many_columns_in_the_header(sample: Path, path: Path, megabytes: int) -> None:
    header, _, rows = sample.read_text().partition("\n")
    path.write_text(header + ",x" * megabytes * 500_000 + "\n" + rows)


def _deep(sample: Path, path: Path, megabytes: int) -> None:
    text = sample.read_text()
    middle = text.find("{", 1)
    path.write_text(text[:middle] + "[" * megabytes * 10**6 + text[middle:])


def _bomb(sample: Path, path: Path, megabytes: int) -> None:
    with gzip.open(path, "wb") as file:
        file.write(sample.read_bytes().rstrip().rstrip(b"]}"))
        for _ in range(megabytes * 10):
            file.write(b" " * 10**6)


def _many_names(sample: Path, path: Path, megabytes: int) -> None:
    """A trace in which each name is another one."""
    with path.open("w") as file:
        file.write('{"traceEvents": [')
        for number in range(megabytes * 10):
            name = f"{number}" + "x" * 10**5
            event = {"ph": "X", "cat": "kernel", "name": name, "ts": 1, "dur": 1}
            file.write(json.dumps(event) + ",")


def _one_of_each_reader(paths: list[Path]) -> list[Path]:
    by_reader = {find_reader(open_trace(path)): path for path in reversed(paths)}
    return sorted(by_reader.values())


BIG_TABLES = _one_of_each_reader(TABLES)
BIG_TREES = _one_of_each_reader([path for path in TEXTS if path.suffix != ".csv"])
BIG = [
    *((make, path) for make in (_long_row, _quoted_row, _many_columns) for path in BIG_TABLES),
    *((_many_columns_in_the_header, path) for path in BIG_TABLES),
    *((_deep, path) for path in BIG_TREES),
    *((_bomb, path) for path in BIG_TABLES + BIG_TREES),
    (_many_names, FOLDER / "torch_cuda.json"),
]
_READ = """
import resource, sys
from pathlib import Path
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
from tirlens.measured.reading.reader import find_reader
from tirlens.measured.records import Operation
from tirlens.measured.reading.trace_file import TraceError, open_trace
operations = others = 0
try:
    trace = open_trace(Path(sys.argv[1]))
    reader = find_reader(trace)
    for record in reader.records(trace) if reader else ():
        if isinstance(record, Operation):
            operations += 1
        else:
            others += 1
except TraceError as error:
    print("refused:", str(error)[:300])
print("operations", operations, "others", others)
"""
MEMORY_BYTES = 1 << 30


@pytest.mark.slow
@pytest.mark.parametrize(
    ("make", "sample"), BIG, ids=[f"{make.__name__[1:]}-{path.name}" for make, path in BIG]
)
def test_memory_and_time_are_bounded(
    make: Callable[[Path, Path, int], None], sample: Path, tmp_path: Path
) -> None:
    path = tmp_path / sample.name
    make(sample, path, 20)
    command = [sys.executable, "-c", _READ, str(path), str(MEMORY_BYTES)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    assert "Traceback" not in result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("sample", TABLES[:1] + TEXTS[-1:], ids=lambda path: path.name)
def test_names_are_escaped_where_they_are_written(sample: Path, tmp_path: Path) -> None:
    event = {"ph": "X", "cat": "kernel", "name": "=1+1\x1b[31m\u202e<b>", "ts": 1, "dur": 1}
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"traceEvents": [event]}))
    for options in ([], ["--csv", "-"], ["--format", "csv"]):
        command = [sys.executable, "-m", "tirlens", "report", "--measured", str(path), *options]
        result = subprocess.run(
            command, capture_output=True, text=True, timeout=60, check=False, cwd=tmp_path
        )
        assert not (tmp_path / "-").exists()
        written = result.stdout + result.stderr
        assert not [c for c in written if unicodedata.category(c) in ("Cc", "Cf") and c != "\n"]
        assert not any(line.startswith("=") for line in written.splitlines())
