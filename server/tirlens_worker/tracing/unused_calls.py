"""Calls that the text or the repository gives, but that yield no kernel that could be shown.

A call with assumed arguments takes their place; these caveats say which calls they are, and why.
"""

from __future__ import annotations

import os
from typing import Iterator, Sequence

from ..facts import Caveat, Span
from ..program.document import describe
from ..protocol import CallCandidate
from .failures import Failure

ACCESSES_NOTHING = "its kernel accesses no array"
# Others are counted.
_MOST = 2
# A default is no call that somebody wrote, and a call that is required has a problem of its own.
_WRITTEN = frozenset({"call-site", "repository", "captured", "typecheck", "settings"})


class EmptyKernelError(Exception):
    """The kernel of a call has no blocks, or they access no array."""

    def __init__(self) -> None:
        super().__init__(ACCESSES_NOTHING)


def caveats(failures: Sequence[Failure], kernel: Span) -> Iterator[Caveat]:
    """What to say of the calls in `failures` at a `kernel` whose arguments are assumed instead."""
    written = [item for item in failures if item.candidate.source in _WRITTEN]
    for item in written[:_MOST]:
        message = "{}{} is not used: {}".format(
            _short_text(item.candidate.expression), _place(item.candidate), _reason(item.error)
        )
        span = item.candidate.span
        yield Caveat(message, kernel if span is None or span.file is not None else span)
    rest = len(written) - _MOST
    if rest > 0:
        form = "{} more calls are not used" if rest > 1 else "{} more call is not used"
        yield Caveat(form.format(rest), kernel)


def _reason(error: BaseException) -> str:
    return ACCESSES_NOTHING if isinstance(error, EmptyKernelError) else describe(error)


def _place(candidate: CallCandidate) -> str:
    """`` (bench.py:12)`` for a call of another file."""
    span = candidate.span
    if span is None or span.file is None:
        return ""
    return " ({}:{})".format(os.path.basename(span.file), span.line)


def _short_text(text: str) -> str:
    return text if len(text) <= 100 else text[:97] + "..."
