"""Puts the server into the extension: ``python bundle.py``, or ``python bundle.py --check VSIX``.

`bundled` gets the packages of the server as its wheel has them, the wheels of
`server-requirements.txt`, each checked against its hash, and `bundled/__main__.py`.  A Python runs
the folder itself (``python -I -S bundled serve``): no installed package has a part in it.
``--check`` ends with status 1 where an extension lacks a file of the server or a picture of its
page, or is too large.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

CLIENT = Path(__file__).resolve().parent
SERVER = CLIENT.parent / "server"
REQUIREMENTS = CLIENT / "server-requirements.txt"
BUNDLED = CLIENT / "bundled"
# Wheels that were downloaded before.
WHEELS = CLIENT / "build" / "wheels"
# The packages of the wheel (pyproject.toml).
PACKAGES = ("tirlens", "tirlens_counting", "tirlens_sass", "tirlens_worker", "tirlens_x86")
MOST_BYTES = 8_000_000
# The addresses of the repository's files in marketplaces.
RAW = "https://github.com/tirlens/tirlens/raw/HEAD/"
START = '''"""Starts the server with the packages of this folder: ``python -I -S FOLDER serve``."""

import sys

from tirlens.__main__ import main

sys.exit(main())
'''


def requirements() -> dict[str, str]:
    """The hash of each required wheel by the requirement, such as ``pygls==2.1.1``."""
    text = REQUIREMENTS.read_text(encoding="utf-8")
    return dict(re.findall(r"^(\S+==\S+) --hash=sha256:([0-9a-f]{64})$", text, re.MULTILINE))


def wheels() -> list[Path]:
    """The required wheels, downloaded unless they are there.

    Raises:
        RuntimeError: one of them is no universal wheel, or not among those that were asked for.
    """
    wanted = set(requirements().values())
    found = {_hash(path): path for path in WHEELS.glob("*.whl")}
    if not wanted <= found.keys():
        WHEELS.mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--require-hashes"]
        # For no platform in particular, so that there is nothing but universal wheels.
        options = ["--no-deps", "--only-binary", ":all:", "--platform", "any"]
        places = ["--dest", str(WHEELS), "--requirement", str(REQUIREMENTS)]
        subprocess.run([*command, *options, *places], check=True)
        found = {_hash(path): path for path in WHEELS.glob("*.whl")}
    if missing := wanted - found.keys():
        raise RuntimeError(f"no wheels with the hashes {', '.join(sorted(missing))}")
    chosen = sorted(found[one] for one in wanted)
    if compiled := [path.name for path in chosen if not path.name.endswith("-none-any.whl")]:
        raise RuntimeError(f"not universal: {', '.join(compiled)}")
    return chosen


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def server_files() -> Iterator[Path]:
    """The files of the server's wheel, below `SERVER`."""
    for package in PACKAGES:
        for path in sorted((SERVER / package).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                yield path.relative_to(SERVER)


def build() -> None:
    """Fill `BUNDLED` anew."""
    with tempfile.TemporaryDirectory(dir=CLIENT) as name:
        folder = Path(name) / "bundled"
        folder.mkdir()
        (folder / "__main__.py").write_text(START, encoding="utf-8", newline="\n")
        for path in server_files():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(SERVER / path, folder / path)
        for wheel in wheels():
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
        shutil.rmtree(BUNDLED, ignore_errors=True)
        folder.rename(BUNDLED)


def complaints(vsix: Path) -> list[str]:
    """What is wrong with an extension."""
    size = vsix.stat().st_size
    found = [f"{size} bytes, more than {MOST_BYTES}"] if size > MOST_BYTES else []
    with zipfile.ZipFile(vsix) as archive:
        names = set(archive.namelist())
        for path in server_files():
            name = f"extension/bundled/{path.as_posix()}"
            if name not in names:
                found.append(f"lacks {path}")
            elif archive.read(name) != (SERVER / path).read_bytes():
                found.append(f"has another {path}")
        found += missing_pictures(archive.read("extension/readme.md").decode("utf-8"))
    for wheel in wheels():
        with zipfile.ZipFile(wheel) as archive:
            lacks = {f"extension/bundled/{name}" for name in archive.namelist()} - names
        found += [f"lacks {name}" for name in sorted(lacks)]
    compiled = [name for name in names if name.endswith((".so", ".pyd", ".dylib", ".pyc"))]
    return [*found, *(f"has {name}, which is compiled" for name in sorted(compiled))]


def missing_pictures(readme: str) -> list[str]:
    """The pictures of the page in marketplaces that are not at their addresses."""
    addresses = re.findall(r"!\[[^\]]*\]\(([^)]+)\)", readme)
    files = [(one, one.removeprefix(RAW)) for one in addresses]
    return [
        f"names the picture {address}, which is no file of the repository"
        for address, path in files
        if path == address or ".." in path or not (CLIENT.parent / path).is_file()
    ]


def main() -> int:
    """Build or check; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--check", type=Path, metavar="VSIX")
    vsix = parser.parse_args().check
    if vsix is None:
        build()
        return 0
    found = complaints(vsix)
    for line in found:
        print(f"{vsix}: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
