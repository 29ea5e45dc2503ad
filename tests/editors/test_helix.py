"""Helix, configured as the documentation prints it: hints, and what its code actions offer."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from editors.debian import Helix, helix
from editors.test_snippets import snippets
from vscode.cache import server_python
from vscode.workspace import TVM, lay_out

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_CONTROLS = re.compile(rb"\x1b\[[0-9;?]*[a-zA-Z]|\x1b[()][A-Z0-9]|\x1b\][^\x07]*\x07")
_LIMIT_S = 90


class Terminal:
    """A program on a terminal of 60 rows: what it writes, without its control sequences."""

    def __init__(self, command: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.process, self._terminal = pty.fork()
        if self.process == 0:
            os.chdir(folder)
            os.execve(command[0], command, environment)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 60, 180, 0, 0))
        self._written = b""

    def type(self, keys: str) -> None:
        """Press keys; what was written before is forgotten."""
        self._written = b""
        os.write(self._terminal, keys.encode())

    def wait(self, pattern: str) -> str:
        """What was written, as soon as it has `pattern`."""
        deadline_s = time.monotonic() + _LIMIT_S
        text = ""
        while time.monotonic() < deadline_s:
            self.read(0.2)
            text = _CONTROLS.sub(b"", self._written).decode("utf-8", "replace")
            if re.search(pattern, text):
                return text
        raise AssertionError(f"no {pattern} in {text[-3000:]!r}")

    def read(self, duration_s: float) -> None:
        """Read what is written for so long: a full terminal stops the program."""
        deadline_s = time.monotonic() + duration_s
        while (left_s := deadline_s - time.monotonic()) > 0:
            if select.select([self._terminal], [], [], left_s)[0]:
                self._written += os.read(self._terminal, 1 << 16)

    def end(self) -> None:
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)
        os.close(self._terminal)


@pytest.fixture
def environment(tmp_path: Path) -> Iterator[tuple[Helix, dict[str, str]]]:
    program = helix()
    folder = tmp_path / "config" / "helix"
    folder.mkdir(parents=True)
    languages, editor = snippets("Helix", "toml")
    (folder / "languages.toml").write_text(languages)
    (folder / "config.toml").write_text(editor)
    yield (
        program,
        {
            **os.environ,
            **program.environment,
            "PATH": os.pathsep.join((str(server_python().parent), os.environ["PATH"])),
            "XDG_CONFIG_HOME": str(folder.parent),
            "TERM": "xterm-256color",
        },
    )


def test_helix(environment: tuple[Helix, dict[str, str]], tmp_path: Path) -> None:
    program, variables = environment
    health = subprocess.run(
        [*program.command, "--health", "python"],
        env=variables,
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.search(r"✓\S* tirlens: ", health.stdout), health.stdout

    file = lay_out(tmp_path / "workspace") / TVM["file"]
    terminal = Terminal([*program.command, file.name], file.parent, variables)
    try:
        terminal.wait(r"\d+% \| 17 GFLOP \| \d+ MB")
        number = file.read_text().splitlines().index(f"def {TVM['name']}(") + 2
        terminal.type(f":{number}\r")
        terminal.type(" a")
        terminal.wait("TIRLens: Pin this version as the baseline")
    finally:
        terminal.end()
