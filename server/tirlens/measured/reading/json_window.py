"""JSON of any length, value by value, in memory that does not grow with the text."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Iterator
from io import BufferedReader
from json.decoder import JSONDecodeError
from typing import Any

from tirlens.measured.reading.trace_file import TraceError

#: The most characters of a value that is decoded.
LONGEST_VALUE = 4 << 20
_CHUNK_BYTES = 1 << 20
_SPACE = re.compile(r"[ \t\r\n\ufeff]*")
_SEPARATORS = re.compile(r"[, \t\r\n\ufeff]*")
_BRACKETS_OR_QUOTE = re.compile(r'[\[{]+|[\]}]+|"')
_STRING_REST = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_SCALAR_END = re.compile(r"[,\]}\s]")
# The end of an object of an array, and the begin of the next.
_BETWEEN_OBJECTS = re.compile(r"\}\s*,\s*(?=\{)")


class MalformedValueError(Exception):
    """A value that is no JSON or too long; the window is behind it."""


class JsonWindow:
    """A window that moves over a text, of which bytes that are none are replaced.

    Numbers with a fraction or an exponent are left as text, so that none is rounded: a time stamp
    of nanoseconds has more digits than a float.
    """

    def __init__(self, file: BufferedReader, encoding: str = "utf-8-sig") -> None:
        self._file = file
        self._bytes_decoder = codecs.getincrementaldecoder(encoding)("replace")
        self._buffer = ""
        self._position = 0
        self._at_end = False
        self._decoder = json.JSONDecoder(parse_float=str, parse_constant=str, strict=False)

    def peek(self) -> str:
        """The next character that is no space, or an empty text at the end."""
        if self._position < len(self._buffer) and self._buffer[self._position] > " ":
            return self._buffer[self._position]
        while True:
            self._position = _end(_SPACE, self._buffer, self._position)
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._read():
                return ""

    def take(self) -> str:
        """The next character that is no space, behind which the window moves."""
        character = self.peek()
        self._position += len(character)
        return character

    def value(self) -> Any:
        """The next value.

        Raises
        ------
        MalformedValueError
            It is not decoded; the text says why.
        TraceError
            The text ends inside it.
        """
        self.peek()
        while True:
            try:
                value, end = self._decoder.raw_decode(self._buffer, self._position)
            except RecursionError:
                reason, failed_at = "is nested too deeply", self._position
            except JSONDecodeError as error:
                reason, failed_at = f"is no JSON ({error.msg})", error.pos
            except ValueError:
                # Python converts no integer of more than 4300 digits.
                reason, failed_at = "has an integer of thousands of digits", self._position
            else:
                if end < len(self._buffer) or not self._read():
                    self._position = end
                    return value
                continue
            nesting = _Nesting()
            end = nesting.follow(self._buffer, self._position)
            if nesting.is_closed:
                self._position = self._next_object(failed_at, end) or end
                raise MalformedValueError(reason)
            is_too_long = len(self._buffer) - self._position > LONGEST_VALUE
            if is_too_long or not self._read_as_much_again():
                self._leave_open_value(failed_at)

    def skip(self) -> None:
        """Move behind the next value, however long it is."""
        self.peek()
        nesting = _Nesting()
        while True:
            self._position = nesting.follow(self._buffer, self._position)
            if nesting.is_closed:
                return
            if not self._read():
                raise TraceError("ends inside a value")

    def elements(self) -> Iterator[Any]:
        """The elements of the array that begins here; a `MalformedValueError` is one of them."""
        self.take()
        while (character := self._skip_separators()) != "]":
            if not character:
                raise TraceError("ends inside an array")
            try:
                yield self.value()
            except MalformedValueError as error:
                yield error
            else:
                continue
            self._find_next_element()
        self.take()

    def members(self) -> Iterator[str]:
        """The keys of the object that begins here; the caller takes or skips each value."""
        self.take()
        while (character := self.peek()) != "}":
            if not character:
                raise TraceError("ends inside an object")
            if character == ",":
                self.take()
                continue
            key = self.value()
            if not isinstance(key, str) or self.take() != ":":
                raise TraceError("has a member without a key")
            yield key
        self.take()

    def _skip_separators(self) -> str:
        """The next character that is neither space nor comma, or an empty text at the end."""
        while True:
            self._position = _end(_SEPARATORS, self._buffer, self._position)
            if self._position < len(self._buffer):
                return self._buffer[self._position]
            if not self._read():
                return ""

    def _find_next_element(self) -> None:
        """Behind a malformed element: to the comma, the bracket or the object that follows."""
        while (character := self.peek()) and character not in ",]{":
            found = _BETWEEN_OBJECTS.search(self._buffer, self._position)
            self._position = found.end() if found else len(self._buffer)

    def _leave_open_value(self, failed_at: int) -> None:
        """Move behind a value that ends neither in the window nor within `LONGEST_VALUE`.

        A quote too many makes the rest of a text one string: the value then ends where an object
        seems to begin.
        """
        found = self._next_object(failed_at, len(self._buffer))
        if found is None:
            self.skip()
            raise MalformedValueError(f"has more than {LONGEST_VALUE} characters")
        self._position = found
        raise MalformedValueError("does not end before the next object")

    def _next_object(self, start: int, end: int) -> int | None:
        """Where the next object of the same array seems to begin, from `start` to `end`."""
        found = _BETWEEN_OBJECTS.search(self._buffer, start, end)
        if found is None:
            return None
        between = self._buffer[start : found.start()]
        return found.end() if between.count("[") == between.count("]") else None

    def _read_as_much_again(self) -> bool:
        """So much that what is in the window is scanned again only a few times."""
        wanted = 2 * (len(self._buffer) - self._position)
        has_read = False
        while len(self._buffer) - self._position < wanted and self._read():
            has_read = True
        return has_read

    def _read(self) -> bool:
        """More of the text behind the window; False at its end."""
        if self._at_end:
            return False
        # One read: what several have given would be lost when the last of them fails.
        content = self._file.read1(_CHUNK_BYTES)
        chunk = self._bytes_decoder.decode(content, final=not content)
        self._buffer = self._buffer[self._position :] + chunk
        self._position = 0
        self._at_end = not content
        return not self._at_end or bool(chunk)


class _Nesting:
    """The brackets and the string that are open while a value is followed."""

    def __init__(self) -> None:
        self.is_closed = False
        self._depth = 0
        self._is_in_string = False
        self._is_in_scalar = False

    def follow(self, text: str, position: int) -> int:
        """Where the value ends that is followed at `position`, or how far `text` tells it."""
        has_begun = self._is_in_scalar
        is_inside = bool(self._depth) or self._is_in_string
        if has_begun or (not is_inside and text[position : position + 1] not in '[{"'):
            self._is_in_scalar = True
            found = _SCALAR_END.search(text, position)
            self.is_closed = found is not None
            return max(found.start(), position + (not has_begun)) if found else len(text)
        while True:
            if self._is_in_string:
                position = _end(_STRING_REST, text, position)
                if text[position : position + 1] != '"':
                    return position
                position += 1
                self._is_in_string = False
            else:
                found = _BRACKETS_OR_QUOTE.search(text, position)
                if found is None:
                    return len(text)
                position = found.end()
                self._is_in_string = found.group() == '"'
                if self._is_in_string:
                    continue
                count = len(found.group())
                if text[found.start()] in "[{":
                    self._depth += count
                elif count > self._depth:
                    position = found.start() + max(self._depth, 1)
                    self._depth = 0
                else:
                    self._depth -= count
            if self._depth <= 0:
                self.is_closed = True
                return position


def _end(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position
