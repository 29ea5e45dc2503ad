"""Commands in namespaces of their own, for tests that fill disks or end processes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

_UNSHARE = ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--kill-child"]


def _are_possible() -> bool:
    if not sys.platform.startswith("linux") or shutil.which("unshare") is None:
        return False
    return subprocess.run([*_UNSHARE, "true"], capture_output=True).returncode == 0


needed = pytest.mark.skipif(not _are_possible(), reason="no user and mount namespaces")


def run_with_tmpfs(
    folder: str, size: str, command: Sequence[str], work: Path
) -> subprocess.CompletedProcess[str]:
    """Run a command where `folder`, at the root, is an empty tmpfs of a `size`.

    The root's folders are those of the machine; `work` is the folder of the new root.
    """
    root = work / "root"
    for entry in Path("/").iterdir():
        if entry.is_symlink():
            (root / entry.name).parent.mkdir(exist_ok=True)
            (root / entry.name).symlink_to(entry.readlink())
        elif entry.is_dir():
            (root / entry.name).mkdir(parents=True)
    (root / folder.lstrip("/")).mkdir(parents=True)
    binds = "\n".join(
        f'mount --rbind "/{entry.name}" "{root}/{entry.name}"'
        for entry in Path("/").iterdir()
        if entry.is_dir() and not entry.is_symlink()
    )
    script = f"""set -e
mount --make-rprivate /
{binds}
mount -t tmpfs -o size={size} none "{root}{folder}"
exec chroot "{root}" "$@"
"""
    return subprocess.run(
        [*_UNSHARE, "sh", "-c", script, "sh", *command],
        env={**os.environ, "XDG_CACHE_HOME": str(work / "cache")},
        capture_output=True,
        text=True,
        timeout=100,
    )
