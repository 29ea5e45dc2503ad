"""The Python API runs in the environment of the kernels, which has no package of the server."""

from __future__ import annotations

import subprocess
import sys

# What the server and the command line are installed with.
PACKAGES = ("pygls", "lsprotocol", "cattrs", "platformdirs", "rich", "shtab", "yaml", "numpy")


def test_the_api_imports_no_package() -> None:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{blocked}; from tirlens import Analyzer"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
