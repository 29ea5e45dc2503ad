"""The folders whose files may be read and executed, and the paths that requests name in them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tirlens.tools.errors import ToolError

_MOST_CHARACTERS = 4096
_MOST_LISTED = 12


@dataclass(frozen=True)
class Place:
    """A file that may be read, and the allowed folder that it is in, both without links."""

    path: Path
    folder: Path

    @property
    def name(self) -> str:
        """The path relative to the allowed folder."""
        return self.path.relative_to(self.folder).as_posix()


class AllowedFolders:
    """The folders that the user has allowed, each with all that is below it.

    Parameters
    ----------
    folders
        Folders of this machine. Links are followed once, here.

    Raises
    ------
    ValueError
        One of them is no folder.
    """

    def __init__(self, folders: Sequence[str | Path]) -> None:
        found: dict[Path, None] = {}
        for folder in folders:
            path = Path(os.path.realpath(Path(folder).expanduser()))
            if not path.is_dir():
                raise ValueError(f"{folder} is no folder")
            found[path] = None
        self.paths = tuple(found)

    def file(self, name: str, argument: str = "file") -> Place:
        """The file that a request names, by its path or relative to an allowed folder.

        Nothing of it is read. Of a file outside, not even whether it exists is said.

        Raises
        ------
        ToolError
            It is in no allowed folder, or there is no such file.
        """
        _check_text(name, argument)
        if not self.paths:
            raise ToolError(
                "not-allowed",
                "No folder is allowed, so no file is read or executed. The user allows one with "
                "the option --allow FOLDER of tirlens mcp.",
            )
        places = [place for place in map(self._place, self._candidates(name)) if place]
        if not places:
            raise ToolError(
                "not-allowed",
                f"{argument} {name!r:.300} is outside of the allowed folders "
                f"({', '.join(map(str, self.paths))}). Send a file inside one of them, or ask the "
                "user to start tirlens mcp with another --allow FOLDER.",
            )
        for place in places:
            if place.path.is_file():
                return place
        raise _missing(places[0], name, argument)

    def _candidates(self, name: str) -> list[Path]:
        path = Path(name)
        return [path] if path.is_absolute() else [folder / path for folder in self.paths]

    def _place(self, path: Path) -> Place | None:
        # Links and ".." are resolved before anything is compared.
        real = Path(os.path.realpath(path))
        inside = [folder for folder in self.paths if real.is_relative_to(folder)]
        # The innermost of nested folders has the fewest files around the kernel.
        return Place(real, max(inside, key=lambda one: len(one.parts))) if inside else None


def _check_text(name: str, argument: str) -> None:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        raise ToolError("argument", f"{argument} is no UTF-8. Send a path in UTF-8.") from None
    if not name or "\0" in name or len(name) > _MOST_CHARACTERS:
        raise ToolError(
            "argument",
            f"{argument} must be the path of a file, of 1 to {_MOST_CHARACTERS} characters and "
            "without a null character.",
        )


def _missing(place: Place, name: str, argument: str) -> ToolError:
    folder = place.path if place.path.is_dir() else place.path.parent
    try:
        found = sorted(path.name for path in folder.glob("*.py"))[:_MOST_LISTED]
    except OSError:
        found = []
    prefix = "" if folder == place.folder else f"{folder.relative_to(place.folder).as_posix()}/"
    known = [f"{prefix}{one}" for one in found]
    what = "is a folder" if place.path.is_dir() else "does not exist"
    hint = f" Python files there: {', '.join(known)}." if known else ""
    return ToolError(
        "no-file",
        f"{argument} {name!r:.300} {what}.{hint}",
        {argument: known[0]} if known else {},
    )
