"""What a measurement prints between its messages, or in place of them, is bounded."""

from __future__ import annotations

import os
import threading

import pytest

from tirlens.worker_client import measuring
from tirlens_worker import codec
from tirlens_worker.protocol import Answered

MESSAGE = codec.dumps(Answered(True))
FRAME = b"Content-Length: %d\r\n\r\n" % len(MESSAGE) + MESSAGE


def messages(data: bytes) -> list[object]:
    """The messages in what a worker has written."""
    source, sink = os.pipe()

    def write() -> None:
        with os.fdopen(sink, "wb") as pipe:
            pipe.write(data)

    writer = threading.Thread(target=write)
    writer.start()
    with os.fdopen(source, "rb", 0) as pipe:
        found: list[object] = list(measuring._messages(pipe))
        while pipe.read(1 << 20):
            pass
    writer.join()
    return found


@pytest.mark.parametrize("before", [b"", b"==PROF== x\n", b"y" * 300_000, b"Content-Length: "])
def test_messages_are_found_in_other_output(before: bytes) -> None:
    assert messages(before + FRAME + before + FRAME) == [Answered(True)] * 2


@pytest.mark.parametrize(
    "spoilt",
    [
        b"Content-Length: 999999999\r\n\r\n",
        b"Content-Length: 3\r\n\r\n{}x",
        b"Content-Length: 2\r\n\r\n[]",
        b'Content-Length: 12\r\n\r\n{"$":"Other"}',
    ],
)
def test_messages_end_where_one_is_spoilt(spoilt: bytes) -> None:
    assert messages(FRAME + spoilt + FRAME) == [Answered(True)]
