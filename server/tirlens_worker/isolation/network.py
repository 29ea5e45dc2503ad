"""No network while user code runs: not to the world, and not to services of this machine either.

On Linux the kernel refuses sockets of any family but AF_UNIX and AF_NETLINK (`seccomp`).  An audit
hook says so in Python's words, and is all there is on other systems: it binds code that goes
through Python's `socket`, and no C code and no other program.
"""

from __future__ import annotations

import sys
from typing import Any, Tuple

_AF_UNIX, _AF_NETLINK = 1, 16
_EVENTS = frozenset(
    ["socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "socket.sendto"]
)


class NetworkClosedError(PermissionError):
    """User code wanted to use the network."""


def close() -> None:
    """Have Python refuse the network in this process.  This cannot be undone."""
    sys.addaudithook(_refuse)


def _refuse(event: str, arguments: Tuple[Any, ...]) -> None:
    is_socket = event == "socket.__new__" and arguments[1] not in (_AF_UNIX, _AF_NETLINK, -1)
    if is_socket or event in _EVENTS:
        raise NetworkClosedError("no network while a file is analysed: {}".format(event))
