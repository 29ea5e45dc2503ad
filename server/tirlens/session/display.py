"""What of an analysis is displayed in the text: the reader's choice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Room:
    """The room of a text in the narrowest editor that displays it.

    Attributes
    ----------
    columns
        Columns of the text.
    lens_characters
        Characters of a lens.
    """

    columns: int
    lens_characters: int


@dataclass(frozen=True)
class Display:
    """What is displayed of one file.

    Attributes
    ----------
    detail
        One of `tirlens.settings.DETAILS`: ``all``, the ``hottest`` lines only, kernels that are
        ``marked`` by ``# tirlens: on``, or ``off``.
    hints, lenses, heat
        Whether there are hints, lenses, and marks of the hottest lines.
    smallest_share
        A line below this share of its kernel's time gets no hint.
    hint_columns
        A hint ends before this column.
    hint_changes
        Whether hints have the change since the last save.
    lens_characters
        The most characters of a lens.
    """

    detail: str
    hints: bool
    lenses: bool
    heat: bool
    smallest_share: float
    hint_columns: int
    hint_changes: bool
    lens_characters: int

    @property
    def only_marked(self) -> bool:
        """Whether only kernels that a directive marks are displayed."""
        return self.detail == "marked"

    @property
    def has_hints(self) -> bool:
        """Whether any hint is displayed."""
        return self.hints and self.detail != "off"

    @property
    def has_lenses(self) -> bool:
        """Whether any lens is displayed."""
        return self.lenses and self.detail != "off"
