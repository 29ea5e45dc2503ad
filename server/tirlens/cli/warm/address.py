"""The socket of the daemon of a workspace: in a folder that only its user can enter."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from pathlib import Path

_MARKERS = (".git", "pyproject.toml")
_MAX_PATH_BYTES = 100


class NoDaemonError(Exception):
    """There can be no daemon here; the text says why."""


def workspace_of(folder: Path) -> Path:
    """The nearest folder at or above `folder` with a repository or a project, else itself."""
    folder = Path(os.path.realpath(folder))
    for parent in (folder, *folder.parents):
        if any((parent / marker).exists() for marker in _MARKERS):
            return parent
    return folder


def socket_path(workspace: Path) -> Path:
    """The socket of the daemon of `workspace` under this Python and this user.

    Raises:
        NoDaemonError: the system has no sockets that pass descriptors, or the path is too long.
    """
    if sys.platform == "win32":
        raise NoDaemonError(
            "there is no daemon on Windows, whose sockets pass no descriptors; "
            "commands work without one"
        )
    key = f"{sys.prefix}\0{Path(__file__).parent}\0{workspace}"
    digest = hashlib.sha256(os.fsencode(key)).hexdigest()
    path = _folder() / f"{digest[:16]}.sock"
    if len(os.fsencode(path)) > _MAX_PATH_BYTES:
        raise NoDaemonError(f"the path of the socket is too long: {path}; set XDG_RUNTIME_DIR")
    return path


def is_private(folder: Path) -> bool:
    """Whether `folder` is a folder of this user that no other user can enter."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
    return is_own and not stat.S_IMODE(status.st_mode) & 0o077


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    if runtime and Path(runtime).is_absolute():
        return Path(runtime) / "tirlens"
    cache = os.environ.get("XDG_CACHE_HOME")
    # The same folder as `platformdirs` has, whose import takes longer than the rest.
    return (Path(cache) if cache else Path.home() / ".cache") / "tirlens" / "daemons"
