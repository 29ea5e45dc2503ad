"""The Python API needs cattrs alone: the environment of the kernels is not to depend on more."""

from __future__ import annotations

import subprocess
import sys

import pytest

# What the server and the command line are installed with.
PACKAGES = ("pygls", "lsprotocol", "platformdirs", "rich", "shtab", "yaml", "numpy")


@pytest.mark.slow
def test_the_api_imports_no_other_package() -> None:
    blocked = f"import sys; sys.modules.update(dict.fromkeys({PACKAGES}))"
    done = subprocess.run(
        [sys.executable, "-c", f"{blocked}; from tirlens import Analyzer"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
