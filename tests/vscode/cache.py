"""Things that the editor tests install once, in the user's cache folder, whoever comes first."""

from __future__ import annotations

import fcntl
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import platformdirs

_REPOSITORY = Path(__file__).resolve().parents[2]


def once(name: str, fill: Callable[[Path], None]) -> Path:
    """The folder `name`, filled by `fill` unless an earlier call has completed it."""
    root = platformdirs.user_cache_path("tirlens-test") / "editors"
    root.mkdir(parents=True, exist_ok=True)
    folder = root / name
    with (root / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "complete").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir()
            fill(folder)
            (folder / "complete").touch()
    return folder


def run(command: list[str], folder: Path, environment: dict[str, str] | None = None) -> None:
    """Runs a command in `folder`; what it said is in the error if it fails."""
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, timeout=1200
    )
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} in {folder}:\n{done.stdout}\n{done.stderr}")


def python_with(name: str, *requirements: str) -> Path:
    """The interpreter of an environment that has `requirements`."""

    def fill(folder: Path) -> None:
        run([sys.executable, "-m", "venv", str(folder)], folder)
        pip = [str(folder / "bin/python"), "-m", "pip", "install", "--quiet"]
        run([*pip, *requirements], folder)

    return once(name, fill) / "bin/python"


def server_python() -> Path:
    """The Python that runs the tests, in which the server of this checkout is installed.

    Raises:
        RuntimeError: another tirlens, or none, is installed there.
    """
    code = "import tirlens; print(tirlens.__file__)"
    # Isolated: what pytest puts on the path does not count, for an editor has no part in it.
    command = [sys.executable, "-I", "-c", code]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
    if not found or _REPOSITORY not in Path(found).resolve().parents:
        raise RuntimeError(f"{sys.executable} -m pip install -e '{_REPOSITORY}[dev]' comes first")
    return Path(sys.executable)
