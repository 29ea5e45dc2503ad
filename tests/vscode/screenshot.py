"""The README's picture of the editor at work: `python tests/vscode/screenshot.py [FILE.png]`."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent)]

from vscode.code_server import build_extension, code_server  # noqa: E402
from vscode.install import install  # noqa: E402
from vscode.workspace import TILELANG, lay_out, quiet_settings  # noqa: E402

LOOKS = {
    # Below the line, so that the hints above it stay in the picture.
    "editor.hover.above": False,
    "workbench.activityBar.location": "hidden",
    "breadcrumbs.enabled": False,
    "editor.scrollbar.vertical": "hidden",
    "editor.scrollbar.horizontal": "hidden",
    "editor.renderLineHighlight": "none",
    "editor.occurrencesHighlight": "off",
    "editor.selectionHighlight": False,
    "editor.guides.indentation": False,
}


def main(picture: Path) -> None:
    editor = install()
    with tempfile.TemporaryDirectory(prefix="tirlens-screenshot-") as name:
        folder = Path(name)
        workspace = lay_out(folder / "workspace")
        settings = quiet_settings() | LOOKS
        vsix = build_extension(editor)
        with code_server(
            editor, folder / "editor", vsix=vsix, settings=settings, trust_everything=True
        ) as address:
            given = {
                "address": address,
                "folder": str(workspace),
                "playwright": str(editor.playwright),
                "chromium": str(editor.chromium),
                "picture": str(picture),
                "kernel": TILELANG,
            }
            command = [str(editor.node), str(_HERE / "screenshot.mjs"), json.dumps(given)]
            subprocess.run(command, check=True, timeout=300)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else _HERE / "screenshots/editor.png")
