"""Which processes may give orders to a daemon: those of its user that no analysis has started.

A daemon has what analysed code does not have: the network, and processes that outlive an analysis.
The code runs as the same user and can reach the socket, so both ends of a connection are checked: a
command sends its environment to no process of an analysis, either. The kernel says which process
has made or accepts a connection (unix(7), ``SO_PEERCRED``).
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

from tirlens.file_reader import read_text

# `tirlens_worker.isolation` names its processes so; code can rename itself, but not what it
# descends from.
_NAMES = frozenset({"tirlens-guard", "tirlens-worker", "tirlens-child"})
_MOST_ANCESTORS = 1000
_CREDENTIALS = struct.Struct("3i")


def is_trusted(connection: socket.socket) -> bool:
    """Whether the process at the other end is of this user, and of no analysis.

    Where the system does not say which process it is, the folder of the socket is private to the
    user.
    """
    found = _credentials(connection)
    if found is None:
        return True
    pid, user = found
    return user == os.getuid() and not is_of_analysis(pid)


def stopped_pid(connection: socket.socket) -> int | None:
    """The id of the process at the other end if it is stopped (SIGSTOP); None if it is not."""
    found = _credentials(connection)
    try:
        is_stopped = found is not None and _status(found[0])["State"].strip()[:1] in ("T", "t")
    except (OSError, KeyError):
        return None
    return found[0] if found is not None and is_stopped else None


def _credentials(connection: socket.socket) -> tuple[int, int] | None:
    """The process and the user at the other end; None where the system does not say."""
    option = getattr(socket, "SO_PEERCRED", None)
    if option is None:
        return None
    given = connection.getsockopt(socket.SOL_SOCKET, option, _CREDENTIALS.size)
    pid, user, _ = _CREDENTIALS.unpack(given)
    return pid, user


def is_of_analysis(pid: int) -> bool:
    """Whether a process is restricted as analysed code is, or descends from a worker.

    One that has ended, or that is not seen, counts as such.
    """
    try:
        # Each is inherited, and kept whatever the process does.
        if _depth(pid) != _depth(os.getpid()):
            return True
        if _filters(pid) > _filters(os.getpid()):
            return True
        return _descends_from_worker(pid)
    except (OSError, ValueError):
        return True


def _depth(pid: int) -> int:
    """The number of PID namespaces, one in the other, that a process is in."""
    # The namespace itself is not named for a process that is not dumpable, as a command is.
    return len(_status(pid).get("NSpid", "").split())


def _filters(pid: int) -> int:
    """The number of filters of system calls, which grows only (Linux 5.9 and later)."""
    status = _status(pid)
    return int(status.get("Seccomp_filters", status.get("Seccomp", "0")))


def _descends_from_worker(pid: int) -> bool:
    for _ in range(_MOST_ANCESTORS):
        if pid <= 1:
            return False
        status = _status(pid)
        if status["Name"].strip() in _NAMES:
            return True
        pid = int(status["PPid"])
    return True


def _status(pid: int) -> dict[str, str]:
    """The fields of ``/proc/PID/status``.

    Raises:
        OSError: there is no such process.
    """
    text = read_text(Path(f"/proc/{pid}/status"), errors="replace", limit_s=None)
    return dict(line.split(":", 1) for line in text.splitlines() if ":" in line)
