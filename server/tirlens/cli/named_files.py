"""The files that a command names."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from tirlens.cli.errors import UsageError

_SKIPPED_FOLDERS = {"node_modules", "__pycache__", "site-packages", "build", "dist"}


def paths_of(names: Sequence[str]) -> list[Path]:
    """The files that files, folders and patterns name, each once; of a folder the Python files.

    Raises:
        UsageError: a name matches no file.
    """
    found: dict[Path, None] = {}
    for name in names:
        path = Path(name)
        if path.is_dir():
            matches = list(_python_files(path))
        elif path.exists():
            matches = [path]
        else:
            matches = [Path(item) for item in sorted(glob.glob(name, recursive=True))]  # noqa: PTH207
        if not matches:
            wrong = "no Python files in this folder" if path.is_dir() else "no such file"
            raise UsageError(f"{name}: {wrong}")
        found.update(dict.fromkeys(matches))
    return list(found)


def _python_files(folder: Path) -> Iterator[Path]:
    for root, folders, files in os.walk(folder):
        folders[:] = sorted(
            item for item in folders if item not in _SKIPPED_FOLDERS and not item.startswith(".")
        )
        yield from (Path(root, item) for item in sorted(files) if item.endswith(".py"))
