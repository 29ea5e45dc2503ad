"""Several folders in one window: each file has the settings of its own project."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from support.rpc import Client

pytestmark = pytest.mark.slow
KERNEL = """
from tvm.script import tirx as T


@T.prim_func
def scale(A: T.Buffer((128000,), "float32")):
    for i in T.thread_binding(1000, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""


def test_each_folder_has_its_project(tmp_path: Path, tvm_python: Path) -> None:
    projects = {
        "one": 'device = "a100-80-sxm"',
        "two": 'device = "l4"\ninlay-hints = false',
        "three": None,
    }
    files: dict[str, Path] = {}
    for name, settings in projects.items():
        files[name] = tmp_path / name / "kernels" / "scale.py"
        files[name].parent.mkdir(parents=True)
        files[name].write_text(KERNEL)
        if settings is not None:
            (tmp_path / name / "pyproject.toml").write_text(f"[tool.tirlens]\n{settings}\n")
    of_window = {"device": "h200"}
    with Client() as client:
        client.initialize(trusted=True, interpreter=str(tvm_python), settings=of_window)
        uris = {name: client.open(file) for name, file in files.items()}
        for uri in uris.values():
            client.wait_ready(uri)
        devices = {
            name: client.command("tirlens.report", uri)["json"]["kernels"][0]["device"]["id"]
            for name, uri in uris.items()
        }
        assert devices == {"one": "a100-80-sxm", "two": "l4", "three": "h200"}
        assert {name for name, uri in uris.items() if client.hints(uri)} == {"one", "three"}


def test_each_folder_of_a_window_has_its_settings_and_its_interpreter(
    tmp_path: Path, tvm_python: Path
) -> None:
    files: dict[str, Path] = {}
    pythons: dict[str, str] = {}
    for name in ("outside", "one", "two", "two/inner"):
        files[name] = tmp_path / name / "scale.py"
        files[name].parent.mkdir(parents=True)
        files[name].write_text(KERNEL)
        environment = tmp_path / f"environment-{name.replace('/', '-')}"
        environment.symlink_to(tvm_python.parents[1])
        pythons[name] = str(environment / "bin/python")

    def folder(name: str, selected: str, **settings: object) -> dict[str, Any]:
        return {
            "path": str(files[name].parent),
            "interpreter": selected,
            "settings": settings,
        }

    folders = [
        folder("one", pythons["one"], device="a100-80-sxm"),
        folder("two", pythons["two"], device="l4", inlayHints=False),
        folder("two/inner", pythons["two"], device="h200", interpreter=pythons["two/inner"]),
    ]
    with Client() as client:
        client.initialize(
            trusted=True,
            interpreter=pythons["outside"],
            settings={"device": "b200"},
            folders=folders,
        )
        uris = {name: client.open(file) for name, file in files.items()}

        def status(name: str) -> tuple[str, str]:
            client.wait_ready(uris[name])
            said = [
                params
                for method, params in client.notifications
                if method == "tirlens/status" and params["uri"] == uris[name]
            ]
            return said[-1]["device"], said[-1]["interpreter"]

        devices = {"outside": "b200", "one": "a100-80-sxm", "two": "l4", "two/inner": "h200"}
        assert {name: status(name) for name in uris} == {
            name: (device, pythons[name]) for name, device in devices.items()
        }
        assert {name for name, uri in uris.items() if not client.hints(uri)} == {"two"}

        # Another choice for one folder concerns its files only.
        changed = [folders[0], folder("two", pythons["one"], device="b200"), folders[2]]
        before = {name: len(client.states(uri)) for name, uri in uris.items()}
        client.notify("workspace/didChangeConfiguration", {"settings": {"folders": changed}})
        client.wait(lambda: client.states(uris["two"])[before["two"] :][-1:] == ["ready"])
        assert status("two") == ("b200", pythons["one"])
        assert client.hints(uris["two"])
        assert status("one") == ("a100-80-sxm", pythons["one"])
