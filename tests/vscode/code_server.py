"""One running code-server with folders of its own, ended with everything it started."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from vscode.cache import run
from vscode.install import Editor

CLIENT = Path(__file__).resolve().parents[2] / "vscode-client"

# A quiet window: nothing but the file, and no request to anywhere.
_QUIET = {
    "workbench.startupEditor": "none",
    "telemetry.telemetryLevel": "off",
    "chat.disableAIFeatures": True,
    "workbench.secondarySideBar.defaultVisibility": "hidden",
    "extensions.ignoreRecommendations": True,
    "extensions.autoUpdate": False,
    "extensions.autoCheckUpdates": False,
    "workbench.tips.enabled": False,
    "workbench.enableExperiments": False,
    "git.enabled": False,
    "editor.hover.delay": 100,
    "editor.minimap.enabled": False,
    "window.commandCenter": False,
    "workbench.layoutControl.enabled": False,
    "security.workspace.trust.startupPrompt": "never",
}


def build_extension(editor: Editor) -> Path:
    """The VSIX of the working tree."""
    run_script(editor, "package")
    return CLIENT / "tirlens.vsix"


def run_script(editor: Editor, name: str) -> None:
    """Run a script of the extension's package, one at a time, with its packages installed."""
    environment = editor.environment() | {"PYTHON": sys.executable}
    folder = os.open(CLIENT, os.O_RDONLY)
    try:
        fcntl.flock(folder, fcntl.LOCK_EX)
        # npm writes it when all packages are there.
        if not (CLIENT / "node_modules/.package-lock.json").is_file():
            run(["npm", "ci"], CLIENT, environment)
        run(["npm", "run", name], CLIENT, environment)
    finally:
        os.close(folder)


def package(editor: Editor, folder: Path) -> Path:
    """The VSIX of a small extension in `folder`."""
    (folder / "LICENSE").write_text("Apache-2.0")
    (folder / "README.md").write_text("For tests")
    vsix = folder / "extension.vsix"
    command = [str(editor.node), str(editor.vsce), "package", "--out", str(vsix)]
    run(command, folder, editor.environment())
    return vsix


@contextlib.contextmanager
def code_server(
    editor: Editor,
    folder: Path,
    *,
    vsix: Path,
    settings: Mapping[str, object],
    trust_everything: bool,
    others: Sequence[Path] = (),
) -> Iterator[str]:
    """Serve VS Code from `folder` (home, user data, extensions); yields its address.

    `others` are extensions beside that of TIRLens.
    """
    home = folder / "home"
    data = folder / "data"
    home.mkdir(parents=True)
    # The second is where a remote window looks for settings that belong to a machine: paths.
    for scope, values in (("User", {**_QUIET, **settings}), ("Machine", settings)):
        (data / scope).mkdir(parents=True)
        (data / scope / "settings.json").write_text(json.dumps(values, indent=2))
    (folder / "config.yaml").write_text("")
    environment = editor.environment() | {"HOME": str(home), "XDG_CACHE_HOME": str(home / ".cache")}
    # NVIDIA's tools are there when a test puts them into the cache.
    for name in ("CUDA_HOME", "CUDA_PATH"):
        environment.pop(name, None)
    folders = environment["PATH"].split(os.pathsep)
    kept = [path for path in folders if not Path(path, "nvdisasm").exists()]
    environment["PATH"] = os.pathsep.join(kept)
    # Variables of an editor that runs these tests would be taken for our own, and a path of
    # theirs would make this checkout importable where tirlens is not installed.
    for name in [name for name in environment if name.startswith(("VSCODE_", "PYTHON"))]:
        del environment[name]
    places = [
        *("--config", str(folder / "config.yaml")),
        *("--user-data-dir", str(data)),
        *("--extensions-dir", str(folder / "extensions")),
    ]
    start = [str(editor.node), str(editor.entry), *places]
    for extension in (vsix, *others):
        run([*start, "--install-extension", str(extension)], folder, environment)
    port = _free_port()
    command = [
        *start,
        *("--auth", "none", "--bind-addr", f"127.0.0.1:{port}"),
        *("--disable-telemetry", "--disable-update-check", "--disable-getting-started-override"),
        *(["--disable-workspace-trust"] if trust_everything else []),
    ]
    with (folder / "code-server.log").open("w") as log:
        process = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait_until_healthy(port, process, folder / "code-server.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _wait_until_healthy(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=2):
                return
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            time.sleep(0.2)
    raise RuntimeError(f"code-server did not start:\n{log.read_text()}")


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
