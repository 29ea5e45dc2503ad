"""Several folders in one window: each file has the settings of its own project."""

from __future__ import annotations

from pathlib import Path

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
