"""Other language servers for Python in the same window: ruff, and basedpyright in Pylance's place.

The extensions themselves are in a marketplace; their servers are in registries. An extension of a
few lines starts them.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from vscode.cache import once, run
from vscode.code_server import CLIENT, package
from vscode.install import Editor

BASEDPYRIGHT = "1.40.1"
_HERE = Path(__file__).resolve().parent


def servers(editor: Editor) -> dict[str, list[str]]:
    """The commands of the servers, by name."""
    name = f"basedpyright-{BASEDPYRIGHT}"

    def fill(folder: Path) -> None:
        command = ["npm", "install", "--ignore-scripts", f"basedpyright@{BASEDPYRIGHT}"]
        run(command, folder, editor.environment())

    script = once(name, fill) / "node_modules/basedpyright/langserver.index.js"
    return {
        "ruff": [str(Path(sys.executable).with_name("ruff")), "server"],
        "basedpyright": [str(editor.node), str(script), "--stdio"],
    }


def build(editor: Editor, folder: Path) -> Path:
    """The VSIX of the extension that starts them, made in `folder`."""
    folder.mkdir()
    shutil.copy(_HERE / "package.json", folder)
    bundle = ["--bundle", "--platform=node", "--format=cjs", "--external:vscode"]
    esbuild = [str(CLIENT / "node_modules/.bin/esbuild"), str(_HERE / "extension.mjs"), *bundle]
    modules = {"NODE_PATH": str(CLIENT / "node_modules")}
    run([*esbuild, f"--outfile={folder}/extension.js"], folder, editor.environment() | modules)
    return package(editor, folder)
