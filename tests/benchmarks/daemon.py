"""How long `tirlens analyze` takes with and without a daemon.

    python tests/benchmarks/daemon.py PYTHON FILE... [--rounds N]

``PYTHON`` is an interpreter with the framework and what the files import.  Each file is copied to a
workspace of its own beside the modules that it imports from its folder, and analysed in a table.
``first`` is the first analysis, ``same`` one of the unchanged file, ``edited`` one after a change
of a kernel's body; medians of ``--rounds``, in seconds.  No file of the package is written.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from package_saves import edited

_TIRLENS = (sys.executable, "-m", "tirlens")


class Workspace:
    """A copy of one file, where it imports what the original does."""

    def __init__(self, folder: Path, python: str, file: Path) -> None:
        self._python, self._text = python, file.read_text()
        self._environment = {name: value for name, value in os.environ.items() if name != "CI"}
        self._environment |= {
            "XDG_RUNTIME_DIR": str(folder),
            "XDG_CACHE_HOME": str(folder / "cache"),
        }
        root = _package_root(file)
        self.folder = folder / "workspace"
        self.folder.mkdir()
        (self.folder / "pyproject.toml").touch()
        target = self.folder / file.relative_to(root)
        _link_siblings(root, self.folder, file)
        target.write_text(self._text)
        self.file = target.relative_to(self.folder)

    def run(self, *argv: str, daemon: bool = True) -> float:
        """The seconds that a command takes."""
        environment = self._environment | {"TIRLENS_DAEMON": "1" if daemon else "0"}
        began_s = time.perf_counter()
        subprocess.run(
            [*_TIRLENS, *argv], cwd=self.folder, env=environment, capture_output=True, check=False
        )
        return time.perf_counter() - began_s

    def analyze(self, daemon: bool, number: int | None = None) -> float:
        """The seconds of an analysis; with `number` of the file edited in this manner."""
        if number is not None:
            (self.folder / self.file).write_text(edited(self._text, number))
        argv = ("analyze", str(self.file), "--python", self._python, "--timeout", "120")
        return self.run(*argv, daemon=daemon)


def _package_root(file: Path) -> Path:
    """The folder from which the modules of the file's package are imported."""
    folder = file.parent
    while (folder / "__init__.py").exists():
        folder = folder.parent
    return folder


def _link_siblings(root: Path, target: Path, file: Path) -> None:
    """Link what is beside the file and beside the folders that it is in."""
    place, here = root, target
    for part in file.relative_to(root).parts:
        for item in place.iterdir():
            if item.name != part and not (here / item.name).exists():
                (here / item.name).symlink_to(item)
        place, here = place / part, here / part
        if place != file:
            here.mkdir()


def times(python: str, file: Path, rounds: int, daemon: bool) -> tuple[float, float, float]:
    """The seconds of the first analysis, of the same file, and of an edited one."""
    with tempfile.TemporaryDirectory(prefix="tirlens-") as name:
        workspace = Workspace(Path(name), python, file)
        if daemon:
            workspace.run("daemon", "start")
        try:
            first_s = workspace.analyze(daemon)
            same = [workspace.analyze(daemon) for _ in range(rounds)]
            changed = [workspace.analyze(daemon, number + 1) for number in range(rounds)]
        finally:
            workspace.run("daemon", "stop")
    return first_s, statistics.median(same), statistics.median(changed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("python")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seconds")
    print(f"{'daemon':>7} {'first':>7} {'same':>7} {'edited':>7}")
    for file in options.files:
        for daemon in (False, True):
            found = times(options.python, file.absolute(), options.rounds, daemon)
            row = " ".join(f"{value:7.2f}" for value in found)
            print(f"{'yes' if daemon else 'no':>7} {row}  {file}", flush=True)


if __name__ == "__main__":
    main()
