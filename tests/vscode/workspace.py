"""The folder that the windows open: one example of each framework, and a broken file."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from support.environments import environment

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"

# What the scenarios look for: `hinted` and `plain` are pieces of lines with and without a hint.
TVM = {
    "file": "tvm/matmul_tvm.py",
    "name": "matmul_naive",
    "size": "1024x1024 fp32",
    "operation": "C[i, j] = C[i, j] + A",
    "operationFlop": "2.15 GFLOP",
    "word": "C",
    "hinted": ["for i in T.thread_binding(1024", "A_shared[ty, tx] = A["],
    "plain": ["from tvm.script", "def matmul_naive", "for j in T.thread_binding(1024"],
}
TILELANG = {
    "file": "tilelang/gemm_tilelang.py",
    "name": "matmul",
    "size": "8192x8192x8192 fp16",
    "operation": "T.gemm(",
    "operationFlop": "1.1 TFLOP",
    "word": "gemm",
    "hinted": ["for k in T.Pipelined(", "T.gemm("],
    "plain": ["import tilelang.language", "T.alloc_fragment("],
    "launch": "with T.Kernel(",
    "pipelined": "for k in T.Pipelined(",
    "otherCall": "matmul(M=1024, N=1024, K=1024)",
    "otherFlop": "2.15 GFLOP",
    "second": "batched_matmul",
    "secondSize": "16x1000x1024x512 fp16",
}
# A file in a folder without an environment.
ALONE = {"file": "alone/gemm_alone.py", "message": "the file needs tilelang"}
# Its cells: notes, imports below a magic, the factory of the first example, its call.
NOTEBOOK = {
    "file": "cells.ipynb",
    "code": "import tilelang.language",
    "operation": "T.gemm(",
    "size": "2048x2048x2048 fp16",
    "call": "kernel = matmul.compile(M=2048, N=2048, K=2048)",
    "otherCall": "kernel = matmul.compile(M=1024, N=2048, K=2048)",
    "otherSize": "1024x2048x2048 fp16",
}
# A file whose analysis takes longer than it takes to open a picker.
SLOW = {"file": "tvm/slow.py"}
BROKEN = {"file": "tvm/broken.py", "severity": "error", "message": "expected ':'"}

_BROKEN_TEXT = """\
from tvm.script import tirx as T


@T.prim_func
def broken(a: T.Buffer((16,), "float32")):
    for i in range(16)
        a[i] = 0.0
"""


def lay_out(
    folder: Path,
    *,
    marker: Path | None = None,
    own_environment: bool = True,
    has_sizes: bool = False,
) -> Path:
    """Fills `folder`, at whose top tilelang's environment is unless `own_environment` is false.

    Running the tilelang file leaves `marker` behind. Its settings add sizes to the lenses if it
    `has_sizes`.
    """
    for kernel, version in ((TVM, "tvm-0.27.0.post1"), (TILELANG, "tilelang-0.1.15")):
        name, example = kernel["file"].split("/")
        part = folder / name
        part.mkdir(parents=True)
        shutil.copy(EXAMPLES / example, part)
        # As in a project: the nearest `.venv` has the framework.
        (part / ".venv").symlink_to(environment(version).parents[1])
    if own_environment:
        (folder / ".venv").symlink_to(environment("tilelang-0.1.15").parents[1])
    if has_sizes:
        parts = '["time", "verdict", "work", "size"]'
        (folder / "pyproject.toml").write_text(
            f"[tool.tirlens]\nlens-parts = {parts}\nlens-characters = 140\n"
        )
    (folder / BROKEN["file"]).write_text(_BROKEN_TEXT)
    slow = EXAMPLES / TVM["file"].split("/")[1]
    (folder / SLOW["file"]).write_text(f"_ = __import__('time').sleep(6)\n{slow.read_text()}")
    sample = (folder / TILELANG["file"]).read_text()
    (folder / NOTEBOOK["file"]).write_text(_notebook(sample))
    alone = folder / ALONE["file"]
    alone.parent.mkdir()
    shutil.copy(EXAMPLES / TILELANG["file"].split("/")[1], alone)
    if marker is not None:
        file = folder / TILELANG["file"]
        touch = f"\n_ran = __import__('pathlib').Path({str(marker)!r}).touch()\n"
        file.write_text(file.read_text() + touch)
    return folder


def lay_out_folders(parent: Path) -> Path:
    """Two projects with their own framework, interpreter and settings; the file of their workspace.

    Neither has a `.venv`: of one the Python extension knows the interpreter, of the other a
    setting of TIRLens.
    """
    settings: dict[str, dict[str, object]] = {
        "tvm": {
            "python.defaultInterpreterPath": str(environment("tvm-0.27.0.post1")),
            "tirlens.device": "a100-80-sxm",
            "tirlens.lensParts": ["time", "size"],
        },
        "tilelang": {
            "tirlens.interpreter": "${workspaceFolder}/tools/bin/python",
            "tirlens.device": "h200",
            "tirlens.show": "hottest",
            "tirlens.lensParts": ["time", "verdict", "size"],
        },
    }
    for kernel in (TVM, TILELANG):
        name, example = kernel["file"].split("/")
        folder = parent / name
        (folder / ".vscode").mkdir(parents=True)
        (folder / ".vscode/settings.json").write_text(json.dumps(settings[name], indent=2))
        shutil.copy(EXAMPLES / example, folder)
    for link, version in (("tilelang/tools", "tilelang-0.1.15"), ("tvm/other", "tvm-0.27.0.post1")):
        (parent / link).symlink_to(environment(version).parents[1])
    file = parent / "two.code-workspace"
    file.write_text(json.dumps({"folders": [{"path": "tvm"}, {"path": "tilelang"}]}))
    return file


def _notebook(sample: str) -> str:
    imports = f"%pip install tilelang\nimport tilelang\n{NOTEBOOK['code']} as T"
    start = sample.index("@tilelang.jit")
    factory = sample[start : sample.index("\n\n\n", start)]
    cells: list[dict[str, object]] = [
        {"cell_type": "markdown", "metadata": {}, "source": "# A matrix product"}
    ]
    cells += [
        {"cell_type": "code", "metadata": {}, "source": text, "outputs": []}
        for text in (imports, factory, NOTEBOOK["call"])
    ]
    return json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 4})


def quiet_settings() -> dict[str, object]:
    """Settings that keep the editor from looking through the environments."""
    return {
        "files.watcherExclude": {"**/.venv/**": True},
        "search.exclude": {"**/.venv": True},
        "files.exclude": {"**/.venv": True},
    }


def old_python(folder: Path) -> Path:
    """A program that says of itself that it is Python 3.8."""
    folder.mkdir()
    program = folder / "python"
    program.write_text("""#!/bin/sh\necho '{"python": [3, 8]}'\n""")
    program.chmod(0o755)
    return program
