"""The channel from a child to its worker: bounded, in order, and closed to other files."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest

from tirlens_worker.analysis import FILE, KERNEL, PROBLEM
from tirlens_worker.facts import Span
from tirlens_worker.process import descriptors
from tirlens_worker.process.channel import (
    MOST_BYTES,
    MOST_PIECE_BYTES,
    ChannelClosedError,
    MalformedError,
    Receiver,
    Sender,
)
from tirlens_worker.process.results import Pieces, line_span
from tirlens_worker.process.watch import innermost_line
from tirlens_worker.protocol import Analyze

pytestmark = pytest.mark.skipif(os.name == "nt", reason="only where a worker forks")
REQUEST = Analyze(5, "/a.py", "x = 1\n", ())


def piece(tag: bytes, payload: bytes) -> bytes:
    """A piece as it is sent."""
    return struct.pack("<cI", tag, len(payload)) + payload


@pytest.fixture
def pipe() -> Iterator[tuple[int, Sender]]:
    """The read end of a pipe, and a sender at its other end."""
    source, sink = os.pipe()
    sender = Sender(sink)
    yield source, sender
    os.close(source)
    os.closerange(descriptors.END - 64, descriptors.END)


@pytest.mark.parametrize("step", [1, 3, 7, 1000])
def test_pieces_come_as_they_were_sent(step: int) -> None:
    sent = [(b"K", b"{}"), (b"D", b""), (b"F", b'"x"' * 100)]
    data = b"".join(piece(*item) for item in sent)
    receiver = Receiver()
    found = []
    for start in range(0, len(data), step):
        found += receiver.receive(data[start : start + step])
    assert found == sent


def test_a_piece_that_is_too_long_is_refused_by_its_length() -> None:
    receiver = Receiver()
    assert list(receiver.receive(piece(b"K", b"{}"))) == [(b"K", b"{}")]
    with pytest.raises(MalformedError):
        list(receiver.receive(struct.pack("<cI", b"K", MOST_PIECE_BYTES + 1)))


def test_what_is_too_long_is_not_sent(pipe: tuple[int, Sender]) -> None:
    source, sender = pipe
    with pytest.raises(ValueError, match="9 MiB"):
        sender.send(KERNEL, b"x" * (9 << 20))
    sender.send(KERNEL, b"{}")
    assert os.read(source, 100) == piece(KERNEL, b"{}")


@pytest.mark.parametrize("opens", [False, True])
def test_nothing_is_sent_into_a_file_that_has_the_number_of_a_channel(
    pipe: tuple[int, Sender], tmp_path: Path, opens: bool
) -> None:
    _, sender = pipe
    names = [int(path.name) for path in Path("/dev/fd").iterdir()]
    number = max(name for name in names if name < descriptors.END)
    assert number >= descriptors.END - 64
    os.close(number)
    if opens:
        with (tmp_path / "users").open("w") as file:
            os.dup2(file.fileno(), number)
    with pytest.raises(ChannelClosedError):
        sender.send(KERNEL, b"{}")
    assert not opens or (tmp_path / "users").read_text() == ""


@pytest.mark.parametrize(
    ("tag", "payload"),
    [
        (PROBLEM, b'{"$":"Problem","kind":"trace","message":"m"'),
        (PROBLEM, b'{"$":"Result","id":6}'),
        (PROBLEM, b'1],"id":6,"problems":[2'),
        (PROBLEM, b"[" * 100_000),
        (PROBLEM, b'{"$":[]}'),
        (PROBLEM, b"\xff\xfe{"),
        (FILE, b"null"),
        (FILE, b""),
        (b"G", b'{"$":"Result","id":6}'),
        (b"\0", b""),
    ],
)
def test_what_is_no_piece_of_a_result_is_refused(tag: bytes, payload: bytes) -> None:
    pieces = Pieces(REQUEST)
    pieces.take(FILE, b'"/b.py"')
    with pytest.raises(MalformedError):
        pieces.take(tag, payload)
    assert json.loads(pieces.encode(0.1, ""))["files"] == ["/b.py"]


def test_the_pieces_of_an_analysis_are_bounded_in_all() -> None:
    pieces = Pieces(REQUEST)
    payload = json.dumps("x" * (MOST_PIECE_BYTES - 2)).encode()
    for _ in range(MOST_BYTES // len(payload)):
        pieces.take(FILE, payload)
    with pytest.raises(MalformedError):
        pieces.take(FILE, payload)


def test_a_number_of_many_digits_takes_no_time() -> None:
    with pytest.raises(MalformedError):
        Pieces(REQUEST).take(PROBLEM, b"9" * MOST_PIECE_BYTES)


def test_a_line_that_is_not_of_the_text_has_no_span() -> None:
    assert line_span("a\n  b\n", 2) == Span(2, 2, 2, 3)
    assert line_span("a\n  b\n", 4_000_000_000) is None
    assert innermost_line(f'  File "/a.py", line {"9" * 5000} in f\n', "/a.py") is None
