"""Ends of statements, and of the evaluation, that are not their last line."""

from __future__ import annotations

from tirlens.evaluation.values import Value


class LimitError(Exception):
    """The evaluation has taken as many steps, or done as much work, as it may."""


class ReturnError(Exception):
    """A ``return`` with its value."""

    def __init__(self, value: Value) -> None:
        super().__init__()
        self.value = value


class BreakError(Exception):
    """A ``break``."""


class ContinueError(Exception):
    """A ``continue``."""


class RaisedError(Exception):
    """The evaluated code raises."""


ENDS = (RaisedError, ReturnError, BreakError, ContinueError)
"""All ends of a statement; a `LimitError` ends the evaluation."""
