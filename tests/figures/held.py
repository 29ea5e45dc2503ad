"""Figures as text, and their comparison with the files of this folder.

``TIRLENS_RENEW_FIGURES=1 pytest tests/figures`` writes the files anew: a changed figure is a
changed line of the diff, which the reviewer of the change reads.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

RENEW = "TIRLENS_RENEW_FIGURES"
_DIGITS = 6


def assert_held(path: Path, text: str) -> None:
    """Fails if `text` is not that of the file at `path`, which a renewal writes."""
    if os.environ.get(RENEW):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    held = path.read_text().splitlines() if path.exists() else []
    assert text.splitlines() == held, f"figures differ from {path}; {RENEW}=1 writes them anew"


def figure(value: object) -> str:
    """A value as text: exact integers, other numbers with six digits, ``?`` for None."""
    if value is None:
        return "?"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return f"{value:.{_DIGITS}g}"
    if isinstance(value, Mapping):
        items = sorted((figure(key), figure(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}: {item}" for key, item in items) + "}"
    if isinstance(value, (tuple, list)):
        return "(" + ", ".join(map(figure, value)) + ")"
    if isinstance(value, (set, frozenset)):
        return "{" + ", ".join(sorted(map(figure, value))) + "}"
    return str(value)


def line(*, of: str, **figures: object) -> str:
    """``of: name value, name value``."""
    return f"{of}: " + ", ".join(f"{name} {figure(value)}" for name, value in figures.items())
