"""The browser of the editor's tests: the machine's Chromium, or else one from npm.

`@sparticuz/chromium` is Chromium's headless shell with the libraries that a slim container lacks.
Its files are Brotli archives, which Node unpacks. The fonts are those of `fonts-dejavu-core`.
"""

from __future__ import annotations

import shutil
import stat
from pathlib import Path

from vscode.cache import once, run
from vscode.node import node_environment

CHROMIUM = "153.0.0"
FONTS = "2.37.3"
_NAMES = ("chromium", "chromium-browser", "google-chrome")
_FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>{folder}/node_modules/dejavu-fonts-ttf/ttf</dir><cachedir>{folder}/font-cache</cachedir></fontconfig>
"""
_START = """#!/bin/sh
export LD_LIBRARY_PATH={folder}/libraries/lib FONTCONFIG_FILE={folder}/fonts.conf
exec {folder}/chromium "$@"
"""
_UNPACK = """
const { createReadStream, createWriteStream } = require("node:fs");
const { pipeline } = require("node:stream");
const { createBrotliDecompress } = require("node:zlib");
const [from, to] = process.argv.slice(1);
pipeline(createReadStream(from), createBrotliDecompress(), createWriteStream(to), (error) => {
  if (error) throw error;
});
"""


def chromium() -> Path:
    """The program that starts the browser, which is installed if the machine has none."""
    for name in _NAMES:
        if found := shutil.which(name):
            return Path(found)
    return once(f"chromium-{CHROMIUM}", _fill) / "start"


def _fill(folder: Path) -> None:
    environment = node_environment()
    packages = [f"@sparticuz/chromium@{CHROMIUM}", f"dejavu-fonts-ttf@{FONTS}"]
    run(["npm", "install", "--ignore-scripts", *packages], folder, environment)
    packed = folder / "node_modules/@sparticuz/chromium/bin"

    def unpack(name: str, to: Path) -> None:
        run(["node", "-e", _UNPACK, str(packed / name), str(to)], folder, environment)

    unpack("chromium.br", folder / "chromium")
    for name, to in (("al2023", "libraries"), ("swiftshader", ".")):
        archive = folder / f"{name}.tar"
        unpack(f"{name}.tar.br", archive)
        shutil.unpack_archive(archive, folder / to)
        archive.unlink()
    shutil.rmtree(folder / "node_modules/@sparticuz")
    (folder / "fonts.conf").write_text(_FONTS.format(folder=folder))
    (folder / "start").write_text(_START.format(folder=folder))
    for program in ("chromium", "start"):
        (folder / program).chmod(stat.S_IRWXU)
