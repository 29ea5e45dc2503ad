"""The pictures of the extension's page: `pip install pillow && python tests/vscode/film.py`."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image

_HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(_HERE.parent)]

from vscode.code_server import CLIENT, build_extension, code_server  # noqa: E402
from vscode.install import install  # noqa: E402
from vscode.screenshot import LOOKS  # noqa: E402
from vscode.workspace import lay_out, quiet_settings  # noqa: E402

_COLOURS = 64
_STILLS = ("hints.png", "devices.png", "report.png")


def main() -> None:
    """Renew the pictures in the extension's folder."""
    editor = install()
    media = CLIENT / "media"
    with tempfile.TemporaryDirectory(prefix="tirlens-film-") as name:
        folder = Path(name)
        workspace = lay_out(folder / "workspace")
        shutil.copy(CLIENT / "samples/gemm_tilelang.py", workspace)
        frames = folder / "frames"
        frames.mkdir()
        settings = quiet_settings() | LOOKS | {"editor.fontSize": 13}
        vsix = build_extension(editor)
        with code_server(
            editor, folder / "editor", vsix=vsix, settings=settings, trust_everything=True
        ) as address:
            given = {
                "address": address,
                "folder": str(workspace),
                "file": "gemm_tilelang.py",
                "playwright": str(editor.playwright),
                "chromium": str(editor.chromium),
                "frames": str(frames),
                "media": str(media),
            }
            command = [str(editor.node), str(_HERE / "film.mjs"), json.dumps(given)]
            subprocess.run(command, check=True, timeout=600)
        order = json.loads((frames / "frames.json").read_text())
        pictures = [few_colours(frames / picture) for picture, _ in order]
        pictures[0].save(
            media / "film.gif",
            save_all=True,
            append_images=pictures[1:],
            duration=[shown_ms for _, shown_ms in order],
            loop=0,
            optimize=True,
        )
    for still in _STILLS:
        few_colours(media / still).save(media / still, optimize=True)


def few_colours(path: Path) -> Image.Image:
    """The picture in a file with as many colours as a screen of text needs."""
    with Image.open(path) as picture:
        return picture.convert("RGB").quantize(_COLOURS, dither=Image.Dither.NONE)


if __name__ == "__main__":
    main()
