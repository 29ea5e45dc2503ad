"""The columns of a table that fit a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

# Spaces beside a column.
_PADDING = 2


def fitting_columns(
    names: Sequence[str],
    rows: Sequence[Mapping[str, str]],
    room: int,
    least_important: Sequence[str],
) -> list[str]:
    """The columns `names` that fit into `room` characters.

    Parameters
    ----------
    names
        All columns.
    rows
        The cells of each row by column.
    room
        Characters of a line.
    least_important
        The columns that may be left out, in this order.
    """
    widths = {
        name: max(len(text) for text in (name, *(row.get(name, "") for row in rows))) + _PADDING
        for name in names
    }
    for name in least_important:
        if sum(widths.values()) > room:
            widths.pop(name, None)
    return list(widths)
