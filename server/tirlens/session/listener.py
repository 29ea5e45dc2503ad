"""What the session tells, and to whom."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tirlens.session.document import Document


@dataclass(frozen=True)
class Status:
    """The state of one file for a status item.

    `state`: ``analyzing``, ``ready``, ``untrusted``, ``no-framework``, ``idle`` (cancelled), or
    ``error`` after a defect of ours, of which `message` tells.
    """

    uri: str
    state: str
    message: str = ""
    interpreter: str | None = None
    why: str = ""
    frameworks: Mapping[str, str] | None = None
    device: str | None = None


class Listener(Protocol):
    """Who is told of what happens; every call is made on the event loop."""

    def analysed(self, document: Document, *, hints: bool, lenses: bool) -> None:
        """An open file has another analysis; whether that shows in its hints and in its lenses."""

    def read(self, document: Document) -> None:
        """What the text alone says of an open file may have changed."""

    def redraw(self) -> None:
        """The settings have changed what is shown of all files."""

    def status(self, status: Status) -> None:
        """The state of a document, or of the server, is another one."""

    def report_settings(self, problems: Sequence[str]) -> None:
        """Something is wrong with the settings, those of the editor or of a project."""

    def progress(self, uri: str, message: str | None, done: int, total: int) -> None:
        """An analysis is under way; `message` is None when it ends."""
