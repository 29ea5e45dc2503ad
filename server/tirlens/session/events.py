"""The events of a session: plain data, in the order in which they occur."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tirlens.session.document import Document


@dataclass(frozen=True)
class Status:
    """The state of a file for a status item.

    Attributes
    ----------
    state
        ``analyzing``, ``ready``, ``untrusted``, ``no-framework``, ``idle`` (cancelled), or
        ``error`` after a defect of the server, which `message` describes.
    why
        Why this interpreter was chosen.
    frameworks
        Versions by name.
    device
        The id of the first kernel's device; None before it is known.
    """

    uri: str
    state: str
    message: str = ""
    interpreter: str | None = None
    why: str = ""
    frameworks: Mapping[str, str] | None = None
    device: str | None = None


@dataclass(frozen=True)
class TextRead:
    """What the text of an open file says without an analysis may have changed."""

    document: Document


@dataclass(frozen=True)
class ViewChanged:
    """An open file has another analysis, which shows in its hints or its lenses."""

    document: Document
    hints: bool
    lenses: bool


@dataclass(frozen=True)
class HintsChanged:
    """The hints of an open file are others, and a `ViewChanged` follows with its advice."""

    document: Document


@dataclass(frozen=True)
class FileClosed:
    """A file was closed: nothing of it is shown any more."""

    uri: str


@dataclass(frozen=True)
class DisplayChanged:
    """New settings change what is shown of all files."""


@dataclass(frozen=True)
class SettingsProblems:
    """The settings of the editor or of a project have errors."""

    messages: Sequence[str]


@dataclass(frozen=True)
class Progress:
    """The worker has analysed `done` of `total` kernels of a file."""

    uri: str
    message: str
    done: int
    total: int


@dataclass(frozen=True)
class ProgressEnded:
    """The worker has no analysis of a file under way any more."""

    uri: str


Event = (
    Status
    | TextRead
    | HintsChanged
    | ViewChanged
    | FileClosed
    | DisplayChanged
    | SettingsProblems
    | Progress
    | ProgressEnded
)
EventSink = Callable[[Event], None]
