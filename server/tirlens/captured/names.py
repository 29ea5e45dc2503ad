"""The names of capture files."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path

FILE_NAME = "tirlens-captured.json"
PATTERN = "tirlens-captured*.json"


def is_capture(path: Path) -> bool:
    """Whether `path` has the name of a capture file."""
    return fnmatchcase(path.name, PATTERN)
