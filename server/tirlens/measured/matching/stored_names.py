"""The name of the file of measured times."""

from __future__ import annotations

from pathlib import Path

FILE_NAME = "tirlens-measured.toml"


def is_stored(path: Path) -> bool:
    """Whether `path` has the name of a file of measured times."""
    return path.name == FILE_NAME
