"""The configurations of editors in the documentation, as they are printed there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from editors.debian import emacs
from editors.test_emacs import seen_in
from editors.test_neovim import neovim
from vscode.cache import server_python
from vscode.workspace import TVM, lay_out

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

REPOSITORY = Path(__file__).resolve().parents[2]
PAGE = (REPOSITORY / "server/docs/editor.md").read_text()
SERVE = ["tirlens", "serve"]


def snippets(heading: str, language: str) -> list[str]:
    """The blocks of code in `language` below a heading of the page."""
    section = re.split(r"^## ", PAGE.split(f"## {heading}\n", 1)[1], flags=re.MULTILINE)[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


def test_helix_is_configured_as_its_documentation_says() -> None:
    languages, editor = map(tomllib.loads, snippets("Helix", "toml"))
    server = languages["language-server"]["tirlens"]
    assert [server["command"], *server["args"]] == [*SERVE, "--trust-workspace"]
    (python,) = languages["language"]
    assert (python["name"], python["language-servers"][0]) == ("python", "tirlens")
    assert editor["editor"]["lsp"]["display-inlay-hints"] is True


def test_zed_sublime_text_and_kate_are_configured_to_start_the_server() -> None:
    zed, sublime, kate = map(json.loads, snippets("Other editors", "json"))
    binary = zed["lsp"]["tirlens"]["binary"]
    assert [binary["path"], *binary["arguments"]] == SERVE
    assert "tirlens" in zed["languages"]["Python"]["language_servers"]
    assert sublime["clients"]["tirlens"]["command"] == SERVE
    assert sublime["clients"]["tirlens"]["enabled"] is True
    assert kate["servers"]["python"]["command"] == SERVE
    assert re.match(kate["servers"]["python"]["highlightingModeRegex"], "Python")


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("number", "expected"), [(0, "h100-sxm"), (1, "h100-sxm")], ids=["plugin folder", "init.lua"]
)
def test_neovim(number: int, expected: str, tmp_path: Path) -> None:
    workspace = lay_out(tmp_path / "workspace")
    snippet = snippets("Neovim", "lua")[number]
    snippet = snippet.replace("/path/to/tirlens", str(REPOSITORY))
    seen = _seen(tmp_path, snippet.replace("~/kernels", str(workspace)), workspace, expected)
    assert seen["hints"] > 5


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_neovim_runs_nothing_without_trust(tmp_path: Path) -> None:
    snippet = snippets("Neovim", "lua")[1].replace(", '--trust-workspace'", "")
    workspace = lay_out(tmp_path / "workspace")
    assert _seen(tmp_path, snippet, workspace, "untrusted")["hints"] == 0


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_eglot_alone(tmp_path: Path) -> None:
    _, snippet = snippets("Emacs", "elisp")
    configuration = tmp_path / "init.el"
    configuration.write_text(snippet)
    workspace = lay_out(tmp_path / "workspace")
    file = workspace / TVM["file"]
    seen = seen_in(
        emacs(),
        tmp_path,
        "emacs_snippet.el",
        configuration=str(configuration),
        file=str(file),
        operation=TVM["operation"],
    )
    lines = file.read_text().splitlines()
    hinted = {lines[hint["line"] - 1] for hint in seen["hints"]}
    for code in TVM["hinted"]:
        assert any(code in line for line in hinted), (code, seen)
    assert "% of matmul_naive" in seen["hover"].replace("\\", "")


def _seen(folder: Path, snippet: str, workspace: Path, expected: str) -> dict[str, Any]:
    """What Neovim displays of a file with `snippet` as the user's configuration."""
    configuration = folder / "init.lua"
    configuration.write_text(snippet)
    answer = folder / "seen.json"
    script = Path(__file__).with_name("neovim_snippet.lua")
    done = subprocess.run(
        [
            *(str(neovim()), "--headless", "-i", "NONE", "-u", str(configuration)),
            *(str(workspace / TVM["file"]), "-c", f"luafile {script}"),
        ],
        cwd=workspace,
        env={
            **os.environ,
            "PATH": os.pathsep.join((str(server_python().parent), os.environ["PATH"])),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "XDG_DATA_HOME": str(folder / "data"),
            "XDG_STATE_HOME": str(folder / "state"),
            "ANSWER": str(answer),
            "EXPECTED": expected,
        },
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    seen: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
    assert seen.get("error", "no answer") == "no answer" and answer.exists(), (seen, done.stderr)
    return seen
