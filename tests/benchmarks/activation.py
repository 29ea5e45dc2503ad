"""How long the activation takes in VS Code: ``python tests/benchmarks/activation.py [WINDOWS]``.

VS Code counts what it does itself meanwhile, and what all extensions that are activated wait for
each other. An extension of a few lines in the same window has that time alone: the difference is
what this extension takes.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent)]

from vscode import python_extension  # noqa: E402
from vscode.code_server import build_extension, code_server  # noqa: E402
from vscode.install import install  # noqa: E402
from vscode.workspace import TILELANG, lay_out, quiet_settings  # noqa: E402


def main(windows: int) -> None:
    """Print the milliseconds that VS Code displays, in each window."""
    editor = install()
    with tempfile.TemporaryDirectory(prefix="tirlens-activation-") as name:
        folder = Path(name)
        workspace = lay_out(folder / "workspace")
        vsix = build_extension(editor)
        least = python_extension.build(editor, folder / "least")
        with code_server(
            editor,
            folder / "editor",
            vsix=vsix,
            settings=quiet_settings(),
            trust_everything=True,
            others=[least],
        ) as address:
            given = {
                "address": address,
                "folder": str(workspace),
                "file": TILELANG["file"],
                "playwright": str(editor.playwright),
                "chromium": str(editor.chromium),
                "windows": windows,
            }
            command = [str(editor.node), str(_HERE / "activation.mjs"), json.dumps(given)]
            subprocess.run(command, check=True, timeout=300 * windows)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
