"""A real file in Emacs with Eglot, on a terminal: trust, lenses, hints, hovers, saves, problems."""

from __future__ import annotations

import fcntl
import json
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from editors.debian import Emacs, emacs
from vscode.cache import server_python
from vscode.workspace import BROKEN, TVM, lay_out

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

REPOSITORY = Path(__file__).resolve().parents[2]
_VERDICT = r"(waits for|too few blocks|[\w ]+ \d+% (busy|of peak))"
_TIME = r"\d[\d.]* [num]?s"
_ESTIMATE = rf"(about )?{_TIME}( \(.+?\))?"
_ROWS, _COLUMNS = 60, 180


def seen_in(program: Emacs, folder: Path, script: str, **given: Any) -> dict[str, Any]:
    """What an Emacs on a terminal says that loads `script`, a file beside this one."""
    answer = folder / "seen.json"
    home = folder / "home"
    home.mkdir()
    given["answer"] = str(answer)
    terminal, inside = pty.openpty()
    fcntl.ioctl(inside, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, _COLUMNS, 0, 0))
    screen = bytearray()

    def read() -> None:
        with suppress(OSError):  # The terminal is gone.
            while data := os.read(terminal, 1 << 16):
                screen.extend(data)

    loaded = str(Path(__file__).with_name(script))
    process = subprocess.Popen(
        # Emacs wants the terminal to be its own: only a new session's first process can have it.
        [sys.executable, "-c", _OWN_TERMINAL, *program.command, "-nw", "-Q", "-l", loaded],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        cwd=folder,
        env={
            **os.environ,
            **program.environment,
            # As after an installation: `tirlens` is a command.
            "PATH": os.pathsep.join((str(server_python().parent), os.environ["PATH"])),
            "GIVEN": json.dumps(given),
            "HOME": str(home),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache"),
            "TERM": "xterm",
        },
        start_new_session=True,
    )
    os.close(inside)
    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    try:
        status = process.wait(500)
    finally:
        process.kill()
        process.wait()
        reader.join(5)
        os.close(terminal)
    seen: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
    shown = screen[-3000:].decode("utf-8", "replace")
    assert (status, seen.get("error")) == (0, None), f"{seen}\n{shown!r}"
    return seen


_OWN_TERMINAL = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""


def test_emacs(tmp_path: Path, cuda_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    program = emacs()
    workspace = lay_out(tmp_path / "workspace", has_sizes=True)
    file = workspace / TVM["file"]
    lines = file.read_text().splitlines()
    seen = seen_in(
        program,
        tmp_path,
        "emacs.el",
        package=str(REPOSITORY / "server/emacs/tirlens.el"),
        command=[str(server_python()), "-m", "tirlens", "serve"],
        file=str(file),
        trusted=f"{workspace}/",
        operation=TVM["operation"],
        definition=f"def {TVM['name']}(",
        device="h100-sxm",
        other="a100-80-sxm",
        before=r"range(1024)",
        after="range(512)",
        changed="(-",
        broken=str(workspace / BROKEN["file"]),
    )
    kernel = next(n for n, line in enumerate(lines, 1) if f"def {TVM['name']}(" in line)

    assert len(seen["untrusted"]) == 5
    assert {lens["text"].strip() for lens in seen["untrusted"]} == {
        "untrusted: analysis needs to run this file"
    }
    (title,) = (lens["text"] for lens in seen["lenses"] if lens["line"] == kernel)
    assert re.match(rf"{_ESTIMATE} \| {_VERDICT}", title), title
    assert f"| {TVM['size']} |" in title
    assert title.endswith("| h100-sxm\n")

    hinted = {lines[hint["line"] - 1].strip(): hint["text"].strip() for hint in seen["hints"]}
    for code in TVM["hinted"]:
        labels = [label for line, label in hinted.items() if code in line]
        assert labels, f"no hint on {code}: {hinted}"
        assert all(re.match(rf"{_TIME} (<?[\d.]+%|overlapped)", label) for label in labels), labels
    for code in TVM["plain"]:
        assert not any(code in line for line in hinted), hinted

    assert re.match(rf"\*\*`C\[i, j\].*`\*\*: {_TIME}, .*% of {TVM['name']}", seen["hover"])
    assert "FFMA" in seen["sass"] and " | [B" in seen["sass"]
    assert all(lens["text"].endswith("| a100-80-sxm\n") for lens in seen["on_other_device"])
    (changed,) = (lens["text"] for lens in seen["saved"] if lens["line"] == kernel)
    assert re.search(r"\(-[45]\d%\)", changed), "half the iterations"
    (problem,) = seen["problems"]
    assert _broken_line(workspace) == problem["line"]
    assert BROKEN["message"] in problem["text"]
    assert seen["stopped"], "the server ends when asked"


def _broken_line(workspace: Path) -> int:
    """The line of the broken file at which it is broken."""
    text = (workspace / BROKEN["file"]).read_text()
    return next(n for n, line in enumerate(text.splitlines(), 1) if line.endswith("range(16)"))
