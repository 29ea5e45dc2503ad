"""VS Code for the tests: code-server, Node 24 and playwright-core, installed once per version.

Everything comes from npm; Chromium is the system's. `install()` returns where things are and
costs nothing once the folder is there (about two minutes and 820 MB the first time).
"""

from __future__ import annotations

import os
import platform
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

from vscode.cache import once, run

CODE_SERVER = "4.139.1"
NODE = "24.21.0"
PLAYWRIGHT = "1.65.1"
VSCE = "3.6.2"
AXE = "4.14.1"

_ARCHITECTURES = {"x86_64": "x64", "aarch64": "arm64"}
_NODE_PACKAGE = f"node-{sys.platform}-{_ARCHITECTURES.get(platform.machine(), platform.machine())}"
_CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome")


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
        environment = dict(os.environ)
        environment["PATH"] = f"{self.node.parent}{os.pathsep}{environment.get('PATH', '')}"
        # Native modules have to be built against the headers of the Node that loads them.
        environment["npm_config_nodedir"] = str(self.node.parent.parent)
        environment["npm_config_update_notifier"] = "false"
        environment["npm_config_fund"] = environment["npm_config_audit"] = "false"
        return environment


def chromium() -> Path:
    """The browser, or an error that says how to install one."""
    for name in _CHROMIUM_NAMES:
        if found := shutil.which(name):
            return Path(found)
    raise FileNotFoundError("no Chromium: apt-get install chromium fonts-dejavu-core")


def install() -> Editor:
    """The tools in the user's cache folder, installing them if they are not there yet."""
    browser = chromium()

    def at(folder: Path) -> Editor:
        return Editor(folder, folder / "node/node_modules" / _NODE_PACKAGE / "bin/node", browser)

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
    _npm(editor, "node", "install", "--no-save", f"{_NODE_PACKAGE}@{NODE}")
    _npm(editor, "code-server", "install", "--ignore-scripts", f"code-server@{CODE_SERVER}")
    vscode = "code-server/node_modules/code-server/lib/vscode"
    _npm(editor, vscode, "install", "--omit=dev", "--ignore-scripts")
    # Without its native part there are no log files.
    _npm(editor, vscode, "rebuild", "@vscode/spdlog")
    _npm(editor, f"{vscode}/extensions", "install", "--omit=dev", "--ignore-scripts")
    _npm(editor, "playwright", "install", "--ignore-scripts", f"playwright-core@{PLAYWRIGHT}")
    _npm(editor, "vsce", "install", "--ignore-scripts", f"@vscode/vsce@{VSCE}")


def _npm(editor: Editor, folder: str, *arguments: str) -> None:
    where = editor.folder / folder
    where.mkdir(parents=True, exist_ok=True)
    run(["npm", *arguments], where, editor.environment())
