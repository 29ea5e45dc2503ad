"""Programs of Debian and Ubuntu, unpacked in the tests' own cache folder: nothing is installed."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from vscode.cache import once, run

_RELEASE = 30  # The first Emacs that says what it trusts, and whose Eglot is as it is used here.


@dataclass(frozen=True)
class Emacs:
    """How an Emacs is started."""

    command: tuple[str, ...]
    environment: dict[str, str]


@dataclass(frozen=True)
class Helix:
    """How a Helix is started."""

    command: tuple[str, ...]
    environment: dict[str, str]


def helix() -> Helix:
    """The Helix of Debian 13 with its own C library, brought here by apt."""
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        pytest.skip("no apt to bring Helix")
    try:
        root = once("helix-25", _fill_helix)
    except RuntimeError as error:
        pytest.skip(f"Helix could not be brought: {error}")
    program = root / "usr/lib/hx"
    libraries = next((root / "usr/lib").glob("*-linux-gnu"))
    loader = next(libraries.glob("ld-linux-*"))
    command = (str(loader), "--library-path", str(libraries), str(program / "hx"))
    return Helix(command, {"HELIX_RUNTIME": str(program / "runtime")})


def _fill_helix(folder: Path) -> None:
    options = _own_lists(folder, ("trixie",))
    run(["apt-get", *options, "update"], folder)
    run(["apt-get", *options, "download", "hx", "libc6", "libgcc-s1"], folder)
    for package in folder.glob("*.deb"):
        run(["dpkg", "--extract", str(package), str(folder)], folder)
    shutil.rmtree(folder / "lists")


def emacs() -> Emacs:
    """The machine's own Emacs if it is new enough, or else Debian's newest, brought here by apt."""
    own = shutil.which("emacs")
    if own and _release(own) >= _RELEASE:
        return Emacs((own,), {})
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        pytest.skip(f"no Emacs {_RELEASE} here, and no apt to bring one")
    try:
        return _unpacked(once(f"emacs-{_RELEASE}", _fill))
    except RuntimeError as error:
        pytest.skip(f"no Emacs {_RELEASE} here, and none could be brought: {error}")


def _release(command: str) -> int:
    said = subprocess.run([command, "--version"], capture_output=True, text=True, check=False)
    found = re.search(r"GNU Emacs (\d+)", said.stdout)
    return int(found.group(1)) if found else 0


def _fill(folder: Path) -> None:
    """Fetch Emacs with what it needs and this machine lacks, and unpack it."""
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    backports = f"{codename}-backports"
    options = _own_lists(folder, (codename, backports))
    run(["apt-get", *options, "update"], folder)
    fetch = ["install", "--yes", "--no-install-recommends", "--download-only"]
    run(["apt-get", *options, *fetch, "--target-release", backports, "emacs-nox"], folder)
    for package in (folder / "cache/archives").glob("*.deb"):
        run(["dpkg", "--extract", str(package), str(folder)], folder)
    shutil.rmtree(folder / "cache")
    shutil.rmtree(folder / "lists")


def _own_lists(folder: Path, suites: Sequence[str]) -> list[str]:
    """Options by which apt reads and writes in `folder`: of these suites of this mirror."""
    codename = platform.freedesktop_os_release()["VERSION_CODENAME"]
    asked = ["apt-get", "indextargets", "--format", "$(CODENAME) $(REPO_URI)"]
    sources = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split("\n")
    mine = next((line.split()[1] for line in sources if line.startswith(codename + " ")), None)
    if mine is None:
        raise RuntimeError(f"apt knows no source of {codename}")
    (folder / "sources.list").write_text("".join(f"deb {mine} {suite} main\n" for suite in suites))
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True)
    places = {
        "Dir::Etc::sourcelist": folder / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": folder / "lists",
        "Dir::Cache": folder / "cache",
        "Debug::NoLocking": "1",
        "APT::Sandbox::User": "",
    }
    return [part for name, value in places.items() for part in ("-o", f"{name}={value}")]


def _unpacked(folder: Path) -> Emacs:
    """An Emacs that is not where it was built for."""
    (shared,) = (folder / "usr/share/emacs").glob("[0-9]*")
    (dump,) = (folder / "usr/libexec/emacs").rglob("*.pdmp")
    lisp = [shared / "lisp", *(item for item in (shared / "lisp").rglob("*") if item.is_dir())]
    libraries = {str(item.parent) for item in (folder / "usr/lib").rglob("*.so*")}
    environment = {
        "EMACSLOADPATH": os.pathsep.join(map(str, lisp)),
        "EMACSDATA": str(shared / "etc"),
        "EMACSPATH": str(dump.parent),
        "LD_LIBRARY_PATH": os.pathsep.join(sorted(libraries)),
    }
    return Emacs((str(folder / "usr/bin/emacs-nox"), f"--dump-file={dump}"), environment)
