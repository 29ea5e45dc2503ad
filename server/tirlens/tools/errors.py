"""The error of a tool: what is wrong with a request, and what to send instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class ToolError(Exception):
    """A request that has no answer.

    Attributes
    ----------
    kind
        One word for programs, such as ``argument``, ``not-allowed``, ``no-kernels``.
    message
        What is wrong, in a sentence.
    send
        Arguments to send instead or in addition; empty where none would help.
    """

    def __init__(self, kind: str, message: str, send: Mapping[str, Any] | None = None) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.send = dict(send or {})

    def as_json(self) -> dict[str, Any]:
        """The error as values of JSON."""
        found: dict[str, Any] = {"error": self.kind, "message": self.message}
        return {**found, "send": self.send} if self.send else found
