"""The pieces that an analysis has sent, combined to the `Result` of its request."""

from __future__ import annotations

import json
from typing import Any, Dict, List, Optional, Sequence, cast

from .. import codec
from ..analysis import CONFIGURATIONS, FILE, GENERATED, KERNEL, LOWERED, NEEDS, PROBLEM
from ..facts import Span
from ..lines import split_lines
from ..protocol import MOST_RESULT_BYTES, Analyze, Problem, Progress, Result
from .channel import MOST_BYTES, MalformedError

_FIELDS = (
    ("kernels", KERNEL),
    ("lowered", LOWERED),
    ("needs", NEEDS),
    ("problems", PROBLEM),
    ("files", FILE),
    ("generated", GENERATED),
    ("configurations", CONFIGURATIONS),
)
# What the payload of a piece is: a dataclass as JSON, or a JSON string.
_TYPES = {
    KERNEL: "KernelFacts",
    LOWERED: "Lowering",
    NEEDS: "NeedsArguments",
    PROBLEM: "Problem",
    FILE: "str",
    GENERATED: "GeneratedCode",
    CONFIGURATIONS: "Configurations",
}


class Pieces:
    """What is known so far of the answer to one request."""

    def __init__(self, request: Analyze) -> None:
        self._request = request
        self._pieces: Dict[bytes, List[bytes]] = {tag: [] for _, tag in _FIELDS}
        self._bytes = 0

    def take(self, tag: bytes, payload: bytes) -> None:
        """Keep a piece as `analysis.analyse` sends it.

        Raises:
            MalformedError: it is none, or the analysis has sent too much.
        """
        self._bytes += len(payload)
        is_known = tag in _TYPES and _type_of(payload) == _TYPES[tag]
        if self._bytes > MOST_BYTES or not is_known:
            raise MalformedError
        self._pieces[tag].append(payload)

    def add(self, problems: Sequence[Problem]) -> None:
        """Keep problems, as if a child had sent them."""
        self._pieces[PROBLEM] += [codec.dumps(item) for item in problems]

    def add_not_reached(self, indices: Sequence[int]) -> None:
        """Say of kernels that there was no time for them."""
        self.add([_not_reached(self._request, index) for index in indices])

    def encode(self, duration_s: float, output: str) -> bytes:
        """The `Result` as JSON."""
        parts = ['{{"$":"Result","id":{}'.format(self._request.id).encode()]
        for name, tag in _FIELDS:
            items = self._pieces[tag]
            if tag in (PROBLEM, FILE):
                # Each child sends the pieces of the file; the first of equal ones is kept.
                items = list(dict.fromkeys(items))
            if items:
                parts.append(b',"%s":[%s]' % (name.encode(), b",".join(items)))
        tail = ',"duration_s":{:.4f},"output":{}}}'.format(duration_s, json.dumps(output))
        result = b"".join(parts) + tail.encode()
        if len(result) > MOST_RESULT_BYTES:
            problem = Problem("crash", "the results and tracebacks of this file are too long")
            return codec.dumps(Result(self._request.id, problems=(problem,)))
        return result


def encode_progress(request: Analyze, index: int, done: int, total: int) -> bytes:
    """The `Progress` at the begin of the kernel with this index, as JSON."""
    return codec.dumps(Progress(request.id, request.kernels[index].name, done, total))


def line_span(text: str, line: int) -> Optional[Span]:
    """A line of `text` without its indentation; None if there is no such line."""
    lines = split_lines(text)
    if not 0 < line <= len(lines):
        return None
    content = lines[line - 1].rstrip()
    return Span(line, len(content) - len(content.lstrip()), line, len(content))


def _type_of(payload: bytes) -> Optional[str]:
    """The name of the dataclass, or of another type, that is encoded; None if nothing is."""
    try:
        # Numbers are not converted: one of many digits takes long.
        value = json.loads(payload.decode("utf-8", "surrogatepass"), parse_int=str, parse_float=str)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict):
        return cast(Dict[str, Any], value).get("$")
    return type(value).__name__


def _not_reached(request: Analyze, index: int) -> Problem:
    kernel = request.kernels[index]
    message = "not analysed: the time limit of {:g} s was over before".format(request.time_limit_s)
    return Problem("timeout", message, kernel.span, kernel.name)
