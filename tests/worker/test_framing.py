"""Messages through a pipe, whole and broken."""

import io
import os

import pytest

from tirlens_worker.process.stdio import ProtocolError, Tail, read_message, write_message


@pytest.mark.parametrize("payload", [b"", b"{}", '{"name":"größe"}'.encode(), b"x" * 3_000_000])
def test_a_message_comes_back_as_it_was_sent(payload: bytes) -> None:
    frame = b"Content-Length: %d\r\n\r\n" % len(payload) + payload
    stream = io.BytesIO(frame + frame)
    assert read_message(stream) == payload
    assert read_message(stream) == payload
    assert read_message(stream) is None


def test_a_small_message_is_written_whole() -> None:
    source, sink = os.pipe()
    with os.fdopen(source, "rb", 0) as reader, os.fdopen(sink, "wb", 0) as writer:
        write_message(writer, b'{"$":"Hello"}')
        assert read_message(reader) == b'{"$":"Hello"}'


@pytest.mark.parametrize(
    "data",
    [
        b"Content-Length: 10\r\n\r\nshort",
        b"Content-Length: ten\r\n\r\n",
        b"Content-Length: -4\r\n\r\n",
        b"Content-Length: 99999999999999\r\n\r\n",
        b"hello\r\n\r\n",
        b"Content-Length: 10",
        b"x" * 10_000,
    ],
)
def test_what_is_no_message_is_refused(data: bytes) -> None:
    with pytest.raises(ProtocolError):
        read_message(io.BytesIO(data))


@pytest.mark.parametrize("size", [0, 10, 1000, 1001, 5000, 123_456])
@pytest.mark.parametrize("step", [1, 7, 64_000])
def test_a_tail_keeps_the_ends_of_a_stream(size: int, step: int) -> None:
    data = bytes(ord("a") + index % 26 for index in range(size))
    tail = Tail(1000)
    for start in range(0, size, step):
        tail.write(data[start : start + step])
    text = tail.text()
    if size <= 1000:
        assert text == data.decode()
    else:
        assert text.startswith(data[:500].decode())
        assert text.endswith(data[-500:].decode())
        assert f"{size - 1000} bytes left out" in text
