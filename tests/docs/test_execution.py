"""The commands and programs of the documentation, executed on kernels of the names that it uses."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from docs.snippets import COMMANDS, ROOT, snippets

pytestmark = pytest.mark.slow

KERNEL = """
import tilelang
import tilelang.language as T


# tirlens: matmul(1024, 1024, 1024)
@tilelang.jit(out_idx=[2])
def matmul(M, N, K, block_M=128, num_stages=2):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(N // 128, M // block_M, threads=128) as (bx, by):
            A_shared = T.alloc_shared((block_M, 64), "float16")
            B_shared = T.alloc_shared((64, 128), "float16")
            C_local = T.alloc_fragment((block_M, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(K // 64, num_stages=num_stages):
                T.copy(A[by * block_M, k * 64], A_shared)
                T.copy(B[k * 64, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * block_M, bx * 128])

    return main
"""
PROGRAM = """
import torch
from kernels.gemm import matmul

a = torch.randn(512, 512, device="cuda", dtype=torch.float16)
matmul(512, 512, 512)(a, a)
with torch.cuda.nvtx.range("decode"):
    matmul(512, 512, 512)(a, a)
"""
# Traces of the names that the pages use: of the kernel above, and samples.
MEASURED = """\
file,kernel,call,bindings,framework_version,measured_device,samples,measured_s
{file},matmul,"matmul(1024, 1024, 1024)",,0.1.15,NVIDIA H100 80GB HBM3,100,1.2e-05
"""
MEASURED_FILES = (
    "trace.csv", "old.csv", "new.csv", "old1.csv", "old2.csv", "new1.csv", "new2.csv",
    "old/a.csv", "new/a.csv", "main/a.csv",
)  # fmt: skip
SAMPLES = {
    "ops_perf_results.csv": "tenstorrent_blackhole_20_oft.csv",
    "step.json": "torch_cuda.json",
    "trace.sqlite": "nsys_export_2023.4.sqlite",
}
# What needs a GPU, a cluster, minutes, an editor at the other end, or an answer.
_NOT_HERE = ("serve", "daemon", "mcp", "measure", "calibrate", "completion")


@dataclass(frozen=True)
class Workspace:
    folder: Path
    environment: dict[str, str]
    cuda_home: Path

    def run(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Execute a command, with NVIDIA's tools where it asks for machine code."""
        command = [sys.executable, "-m", "tirlens", *words]
        environment = dict(self.environment)
        if "--sass" in words:
            environment["CUDA_HOME"] = str(self.cuda_home)
        return subprocess.run(
            command, cwd=self.folder, env=environment, capture_output=True, text=True
        )


@pytest.fixture(scope="module")
def workspace(
    tmp_path_factory: pytest.TempPathFactory, tilelang_python: Path, cuda_home: Path
) -> Iterator[Workspace]:
    folder = tmp_path_factory.mktemp("reader")
    for name in ("kernels/gemm.py", "kernels.py", "kernel.py", "matmul.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(KERNEL)
    (folder / "matmul.py").write_text(
        KERNEL.replace("(M, N, K, block_M", "(M, N=1024, K=1024, block_M")
    )
    (folder / "kernels/__init__.py").write_text("")
    for name in MEASURED_FILES:
        (folder / name).parent.mkdir(exist_ok=True)
        # Folders of traces are compared for a folder of kernels.
        file = "kernels/gemm.py" if "/" in name else "kernels.py"
        (folder / name).write_text(MEASURED.format(file=file))
    for name, sample in SAMPLES.items():
        shutil.copy(ROOT / "tests/traces/samples" / sample, folder / name)
    (folder / "bench.py").write_text(PROGRAM)
    (folder / "pyproject.toml").write_text(f'[tool.tirlens]\npython = "{tilelang_python}"\n')
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "base"]):
        subprocess.run([*git, *words], cwd=folder, check=True)
    subprocess.run([*git, "update-ref", "refs/remotes/origin/main", "HEAD"], cwd=folder, check=True)
    path = f"{tilelang_python.parent}{os.pathsep}{os.environ['PATH']}"
    own = {"XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache")), "PATH": path}
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    # The path of a socket is short.
    with tempfile.TemporaryDirectory(prefix="tirlens-") as sockets:
        own["XDG_RUNTIME_DIR"] = sockets
        found = Workspace(folder, {**environment, **own}, cuda_home)
        # Its commands have the output and the status of others, in a third of the time.
        started = found.run("daemon", "start")
        assert started.returncode == 0, started.stderr
        yield found
        found.run("daemon", "stop")


def _executed() -> dict[str, tuple[str, ...]]:
    """The distinct commands that can run here, by the first place that shows each."""
    found: dict[tuple[str, ...], str] = {}
    for place, words in COMMANDS.items():
        if place.startswith("CONTRIBUTING"):
            continue  # Of the device that the page adds: `tests/unit/test_contributing.py`.
        is_here = words[0] not in _NOT_HERE and "mine.toml" not in words
        # Two versions of a framework are compared in `tests/gate/test_versions.py`.
        is_here = is_here and "old/bin/python" not in words and "--scheduler" not in words
        is_complete = not any(word.isupper() or word.startswith("[") for word in words)
        if is_here and is_complete and "pytest" not in words and "tests/examples" not in str(words):
            filled = tuple("kernels.py" if word.startswith("FILE") else word for word in words)
            if "--bundle" in filled:
                # No terminal is here that could ask.
                filled += ("--yes",)
            found.setdefault(filled, place)
    # A capture file is read by the commands behind the one that writes it.
    ordered = sorted(found.items(), key=lambda item: item[0][0] != "capture")
    return {place: words for words, place in ordered}


@pytest.mark.timeout(900)
def test_the_commands_end_well(workspace: Workspace) -> None:
    for place, words in _executed().items():
        done = workspace.run(*words)
        assert done.returncode == 0, f"{place}: {done.stderr}"
        assert done.stdout or done.stderr, place


def test_the_programs_of_the_api_run(tvm_python: Path) -> None:
    pages = ("README.md", "api.md")
    programs = [item for item in snippets("python") if item.page.name in pages]
    programs = [item for item in programs if "Analyzer" in item.text]
    assert len(programs) == len(pages)
    start = "import sys; sys.path.insert(0, 'tests/examples')\n"
    start += "from matmul_tvm import matmul_naive as prim_func\n"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "server")}
    for program in programs:
        command = [str(tvm_python), "-c", start + program.text]
        subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True)
