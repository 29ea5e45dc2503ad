"""The pieces that an analysis has sent, combined to the `Result` of its request."""

from __future__ import annotations

import json
from typing import Dict, List, Sequence

from .. import codec
from ..analysis import FILE, KERNEL, LOWERED, NEEDS, PROBLEM
from ..facts import Span
from ..lines import split_lines
from ..protocol import Analyze, Problem

_FIELDS = (
    ("kernels", KERNEL),
    ("lowered", LOWERED),
    ("needs", NEEDS),
    ("problems", PROBLEM),
    ("files", FILE),
)


class Pieces:
    """What is known so far of the answer to one request."""

    def __init__(self, request: Analyze) -> None:
        self._request = request
        self._pieces: Dict[bytes, List[bytes]] = {tag: [] for _, tag in _FIELDS}

    def take(self, tag: bytes, payload: bytes) -> None:
        """Keep a piece as `analysis.analyse` tells it; tags of no piece are passed over."""
        if tag in self._pieces:
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
        return b"".join(parts) + tail.encode()


def line_span(text: str, line: int) -> Span:
    """A line of `text` without its indentation."""
    lines = split_lines(text)
    content = lines[line - 1].rstrip() if 0 < line <= len(lines) else ""
    return Span(line, len(content) - len(content.lstrip()), line, len(content))


def _not_reached(request: Analyze, index: int) -> Problem:
    kernel = request.kernels[index]
    message = "not analysed: the time limit of {:g} s was over before".format(request.time_limit_s)
    return Problem("timeout", message, kernel.span, kernel.name)
