"""A command as a terminal of a given width shows it."""

from __future__ import annotations

import fcntl
import os
import pty
import struct
import subprocess
import termios
from collections.abc import Mapping, Sequence
from pathlib import Path


def shown(
    command: Sequence[str], columns: int, environment: Mapping[str, str], folder: Path | None = None
) -> str:
    """What `command` writes to a terminal of `columns` characters a line, escape codes included.

    It is executed in `folder`, and must end with status 0.
    """
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    variables = {**os.environ, "TERM": "xterm-256color", **environment}
    for name in ("COLUMNS", "LINES"):
        variables.pop(name, None)
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=inside,
        stderr=subprocess.DEVNULL,
    )
    os.close(inside)
    found = b""
    try:
        while data := os.read(terminal, 1 << 16):
            found += data
    except OSError:
        pass  # The other end is closed.
    finally:
        os.close(terminal)
    assert process.wait(60) == 0
    return found.decode().replace("\r\n", "\n")
