"""The versions that users pin to compare with: a file's text, or a commit of its repository.

They are stored in the user's own folder, outside of the repository, and hold after a restart.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import platformdirs

from tirlens.file_reader import read_bytes
from tirlens.file_writer import replace_text
from tirlens.ide.notebook_file import SUFFIX, NotebookError, read_notebook


@dataclass(frozen=True)
class Baseline:
    """The version of a file that its kernels are compared with."""

    name: str
    text: str


@dataclass(frozen=True)
class _Pin:
    """What is stored: the `text` of a file, or the `commit` of the repository at `path`."""

    path: str
    name: str
    pinned_at_s: float
    text: str | None = None
    commit: str | None = None


class Pins:
    """The pinned versions of files and repositories.

    Parameters
    ----------
    folder
        Where they are stored, a file each.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or platformdirs.user_state_path("tirlens") / "baselines"
        self._texts: dict[tuple[str, str], str | None] = {}

    def find(self, path: Path) -> Baseline | None:
        """The baseline of the file `path`: the later one of its text and its repository's commit.

        None if there is none, or the commit had no such file.
        """
        real = Path(os.path.realpath(path))
        pins = [pin for place in (real, *real.parents) if (pin := self._load(place))]
        pin = max(pins, key=lambda item: item.pinned_at_s, default=None)
        if pin is None:
            return None
        text = pin.text if pin.commit is None else self._text_at(pin.commit, pin.path, real)
        return None if text is None else Baseline(pin.name, text)

    def pin_text(self, path: Path, text: str, /) -> str:
        """Pin the text of the file `path`; the baseline's name, which is the present time.

        Raises:
            OSError: it cannot be stored.
        """
        real = os.path.realpath(path)
        name = time.strftime("pinned %Y-%m-%d %H:%M")
        self._store(_Pin(real, name, time.time(), text=text))
        return name

    def pin_commit(self, path: Path, revision: str, /) -> str:
        """Pin a revision of the repository of the file `path`; the name of the baseline.

        Raises:
            GitError: there is no git, no repository or no such revision.
            OSError: it cannot be stored.
        """
        from tirlens import repository

        root = Path(os.path.realpath(repository.root_of_git(path.parent)))
        commit = repository.commit_of(root, revision)
        if commit is None:
            raise repository.GitError(f"the repository {root} has no revision {revision[:80]}")
        self._store(_Pin(str(root), revision, time.time(), commit=commit))
        return revision

    def clear(self, path: Path) -> None:
        """Forget the baseline of the file `path` and that of its repository."""
        real = Path(os.path.realpath(path))
        for place in (real, *real.parents):
            with contextlib.suppress(OSError):
                self._file(place).unlink(missing_ok=True)

    def _text_at(self, commit: str, root: str, path: Path) -> str | None:
        from tirlens import repository

        key = commit, str(path)
        if key not in self._texts:
            content = repository.text_at(Path(root), commit, path)
            if content is not None and path.suffix == SUFFIX:
                content = _text_of_notebook(content)
            self._texts[key] = content
        return self._texts[key]

    def _file(self, place: Path) -> Path:
        return self._folder / f"{hashlib.sha256(os.fsencode(place)).hexdigest()[:32]}.json"

    def _load(self, place: Path) -> _Pin | None:
        try:
            pin = _Pin(**json.loads(read_bytes(self._file(place))))
        except (OSError, ValueError, TypeError):
            return None
        return pin if pin.path == str(place) else None

    def _store(self, pin: _Pin) -> None:
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        # Another server may read it at any time.
        replace_text(self._file(Path(pin.path)), json.dumps(asdict(pin)), mode=0o600)


def _text_of_notebook(content: str) -> str | None:
    try:
        return read_notebook(content).text
    except NotebookError:
        return None
