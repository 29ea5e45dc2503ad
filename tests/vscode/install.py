"""VS Code for the tests: code-server and playwright-core, installed once per version.

`install()` returns where things are and costs nothing once the folder is there (about two minutes
and 820 MB the first time).
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from vscode.browser import chromium
from vscode.cache import once, run
from vscode.node import NODE, node_environment, node_folder

CODE_SERVER = "4.139.1"
PLAYWRIGHT = "1.65.1"
VSCE = "3.6.2"
AXE = "4.14.1"


@dataclass(frozen=True, slots=True)
class Editor:
    """Where one installed set of tools lives."""

    folder: Path
    node: Path
    chromium: Path

    @property
    def entry(self) -> Path:
        """The script that starts code-server."""
        return self.folder / "code-server/node_modules/code-server/out/node/entry.js"

    @property
    def playwright(self) -> Path:
        return self.folder / "playwright/node_modules/playwright-core/index.mjs"

    @property
    def vsce(self) -> Path:
        return self.folder / "vsce/node_modules/@vscode/vsce/vsce"

    def environment(self) -> dict[str, str]:
        """The process environment in which `node` and `npm` are those of this set."""
        return node_environment()


def install() -> Editor:
    """The tools in the user's cache folder, installing them if they are not there yet."""
    browser = chromium()

    def at(folder: Path) -> Editor:
        return Editor(folder, node_folder() / "node", browser)

    name = f"code-server-{CODE_SERVER}-node-{NODE}-playwright-{PLAYWRIGHT}-vsce-{VSCE}"
    return at(once(name, lambda folder: _fill(at(folder))))


def axe(editor: Editor) -> Path:
    """The file of axe-core."""
    name = f"axe-core-{AXE}"

    def fill(folder: Path) -> None:
        command = ["npm", "install", "--ignore-scripts", f"axe-core@{AXE}"]
        run(command, folder, editor.environment())

    return once(name, fill) / "node_modules/axe-core/axe.min.js"


def _fill(editor: Editor) -> None:
    _npm(editor, "code-server", "install", "--ignore-scripts", f"code-server@{CODE_SERVER}")
    vscode = "code-server/node_modules/code-server/lib/vscode"
    _npm(editor, vscode, "install", "--omit=dev", "--ignore-scripts")
    # Its native part writes VS Code's own log files, which help only to find out why a test fails.
    if shutil.which("c++") and shutil.which("make"):
        _npm(editor, vscode, "rebuild", "@vscode/spdlog")
    _npm(editor, f"{vscode}/extensions", "install", "--omit=dev", "--ignore-scripts")
    _npm(editor, "playwright", "install", "--ignore-scripts", f"playwright-core@{PLAYWRIGHT}")
    _npm(editor, "vsce", "install", "--ignore-scripts", f"@vscode/vsce@{VSCE}")


def _npm(editor: Editor, folder: str, *arguments: str) -> None:
    where = editor.folder / folder
    where.mkdir(parents=True, exist_ok=True)
    run(["npm", *arguments], where, editor.environment())
