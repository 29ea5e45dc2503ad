"""Commands over several files: in parallel, lowered as a single file is, stored between runs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow
COPY = """
import tilelang
import tilelang.language as T
{imports}

@tilelang.jit
def {name}(N):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32"), B: T.Tensor((N,), "float32")):
        with T.Kernel(T.ceildiv(N, 1024), threads=128) as bx:
            S = T.alloc_shared((1024,), "float32")
            T.copy(A[bx * 1024], S)
            T.copy(S, B[bx * 1024])
    return main

{name}({size})
"""


def run(folder: Path, python: Path, *arguments: object) -> tuple[dict[str, Any], float, str]:
    """The kernels by definition as `analyze` gives them, the wall time, standard error."""
    began_s = time.monotonic()
    command = [
        *(sys.executable, "-m", "tirlens", "analyze", *map(str, arguments)),
        *("--python", str(python), "--format", "json"),
    ]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    wall_s = time.monotonic() - began_s
    kernels = json.loads(found.stdout)["kernels"] if found.stdout else []
    return {kernel["definition"]: kernel for kernel in kernels}, wall_s, found.stderr


def test_several_files(tmp_path: Path, tilelang_python: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    for number in range(4):
        text = COPY.format(name=f"copy_{number}", size=1 << 20, imports="")
        (source / f"file_{number}.py").write_text(text)
    (source / "sizes.py").write_text("SIZE = 1 << 20\n")
    imports = "from sizes import SIZE"
    (source / "imports.py").write_text(COPY.format(name="sized", size="SIZE", imports=imports))
    single, _, _ = run(tmp_path / "other", tilelang_python, source / "file_0.py")
    whole, cold_s, error = run(tmp_path, tilelang_python, source, "--jobs", 3)
    assert not error
    assert list(whole) == [*(f"copy_{number}" for number in range(4)), "sized"], "in their order"
    assert whole["copy_0"]["time_s"] == single["copy_0"]["time_s"]
    assert {kernel["launch_facts"] for kernel in whole.values()} == {"lowered"}
    again, warm_s, _ = run(tmp_path, tilelang_python, source)
    assert again == whole
    assert warm_s < cold_s / 2, "no worker was started"
    (source / "sizes.py").write_text("SIZE = 1 << 22\n")
    changed, _, _ = run(tmp_path, tilelang_python, source)
    assert changed["sized"]["global_bytes"]["read"] == 4 * (4 << 20)
    assert {**changed, "sized": whole["sized"]} == whole
    unlowered, _, _ = run(tmp_path, tilelang_python, source, "--no-lower", "--fresh")
    assert {kernel["launch_facts"] for kernel in unlowered.values()} == {"source"}
