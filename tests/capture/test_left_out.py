"""What a capture leaves out, and what it cannot know, is said."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

KERNELS = """
import tilelang
import tilelang.language as T


@tilelang.jit(out_idx=[-1])
def add(n, dtype="float32", block=1024):
    @T.prim_func
    def main(A: T.Tensor((n,), dtype), B: T.Tensor((n,), dtype), C: T.Tensor((n,), dtype)):
        with T.Kernel(T.ceildiv(n, block), threads=256) as bx:
            for i in T.Parallel(block):
                C[bx * block + i] = A[bx * block + i] + B[bx * block + i]
    return main


@tilelang.jit
def scale(factor=2.0, block=256):
    n = T.dynamic("n")

    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=256) as bx:
            for i in T.Parallel(block):
                if bx * block + i < n:
                    B[bx * block + i] = A[bx * block + i] * factor
    return main


@tilelang.autotune(configs=[{"block": 1 << power} for power in range(7, 11)])
@tilelang.jit(out_idx=[-1])
def tuned(n, block=None):
    @T.prim_func
    def main(A: T.Tensor((n,), "float32"), B: T.Tensor((n,), "float32")):
        with T.Kernel(T.ceildiv(n, block), threads=128) as bx:
            for i in T.Parallel(block):
                B[bx * block + i] = A[bx * block + i]
    return main
"""
DATA = """
import torch
from kern import add, scale

f = scale(2.0)


def launch(array):
    f(array, torch.empty_like(array))


counts = torch.tensor([5, 0, 7, 1], device="cuda")
for c in counts.tolist():
    if c:
        launch(torch.empty(256 * c, device="cuda"))     # known: 1280, 1792, 256
big = torch.rand(1 << 20, device="cuda")
launch(big[big > 0.5])                                  # a mask: 1048576 at most
small = torch.arange(1000, device="cuda")
launch(small[small % 4 == 0].float())                   # known: 250
res = torch.empty(1024, device="cuda")
f(torch.ones(1024, device="cuda"), res)                 # known: 1024
m = int(res.sum().item())
launch(torch.empty(max(m, 1) + 2, device="cuda"))       # a sum of results: 3 in place of it
chosen = (big > 0.5).nonzero()
rows = chosen.shape[0]
launch(torch.zeros(rows // 4, device="cuda"))           # a number of indices: 262144 at most
tokens = torch.randint(0, 8, (1 << 18,), device="cuda")
most = torch.bincount(tokens, minlength=8).max().item()
launch(torch.empty(most * 64, device="cuda"))           # a number of tokens: 64 in place of it
launch(torch.unique(tokens).float())                    # distinct values: 262144 at most
a = torch.ones(most * 128, device="cuda")
add(most * 128)(a, a)                                   # an argument: 128
for _ in range(5):
    launch(torch.empty(512, device="cuda"))             # known: 512
"""
KNOWN = {1280, 1792, 256, 250, 1024, 512}
STEP = """
import torch
from kern import add, tuned

n = 1 << 20
a, w = torch.randn(n, device="cuda"), torch.randn(1024, 1024, device="cuda")
for _ in range(10):
    c = add(n)(a, a)
    y = torch.nn.functional.relu(w) @ w.t()
    view = y.t().reshape(1024, 1024)[:, :8]
tuned(4096)(torch.empty(4096, device="cuda"))
"""
SLEEPER = """
import time
import torch
from kern import add

f, a = add(4096), torch.ones(4096, device="cuda")
while True:
    f(a, a)
    open("running", "w").close()
    time.sleep(0.1)
"""


SECTIONS = """
import torch
from torch.profiler import record_function
from kern import add

f, a = add(4096), torch.ones(4096, device="cuda")
with torch.cuda.nvtx.range("warm-up {}", 1):
    for _ in range(3):
        f(a, a)
        a @ a

@record_function("decode")
def decode():
    f(a, a)
    torch.cuda.nvtx.range_push("attention")
    f(a, a)
    torch.cuda.nvtx.range_pop()

for _ in range(4):
    decode()
handle = torch.cuda.nvtx.range_start("tail")
f(a, a)
torch.cuda.nvtx.range_end(handle)
torch.cuda.nvtx.mark("end")
f(a, a)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    (tmp_path / "kern.py").write_text(KERNELS)
    return tmp_path


def command(folder: Path, *arguments: str) -> tuple[list[str], dict[str, Any]]:
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache"), "COLUMNS": "160"}
    return [sys.executable, "-m", "tirlens", *arguments], {
        "cwd": folder, "env": environment, "text": True,
        "stdout": subprocess.PIPE, "stderr": subprocess.PIPE,
    }  # fmt: skip


def capture(folder: Path, python: Path, text: str, *options: str) -> tuple[int, str]:
    (folder / "program.py").write_text(text)
    line, settings = command(
        folder, "capture", "--python", str(python), *options, "--", "python", "program.py"
    )
    done = subprocess.run(line, check=False, **settings)
    return done.returncode, done.stderr


def calls_in(path: Path) -> list[dict[str, Any]]:
    return [call for one in json.loads(path.read_text())["kernels"] for call in one["calls"]]


def test_sizes_that_depend_on_data_are_marked(folder: Path, tilelang_python: Path) -> None:
    status, said = capture(folder, tilelang_python, DATA)
    assert status == 0, said
    calls = calls_in(folder / "tirlens-captured.json")
    sizes = {call["sizes"]["n"]: call.get("unknown_sizes", []) for call in calls if "sizes" in call}
    assert {size for size, unknown in sizes.items() if not unknown} == KNOWN
    assert {size for size, unknown in sizes.items() if unknown} == {1048576, 3, 262144, 64}
    (added,) = [call for call in calls if "sizes" not in call]
    assert (added["call"], added["unknown_sizes"]) == ("add(128)", ["argument 1"]) or (
        added["call"] == "add(n=128)" and added["unknown_sizes"] == ["n"]
    )
    assert "n=1048576 depends on data" in said
    line, settings = command(
        folder, "report", "--python", str(tilelang_python), "--format", "json", "--no-lower",
        "tirlens-captured.json",
    )  # fmt: skip
    kernels = json.loads(subprocess.run(line, check=False, **settings).stdout)["kernels"]
    for kernel in kernels:
        size = kernel["bindings"].get("n")
        if size is not None:
            assert ("n" in kernel["assumed"]) == (size not in KNOWN)
            said_of = [note["message"] for note in kernel["caveats"]]
            assert any("depends on data" in one for one in said_of) == (size not in KNOWN)


def test_operations_of_other_libraries_have_a_row(folder: Path, tilelang_python: Path) -> None:
    status, said = capture(folder, tilelang_python, STEP)
    assert status == 0, said
    data = json.loads((folder / "tirlens-captured.json").read_text())
    assert data["others"] == {"torch.matmul": 10, "torch.relu": 10, "torch.randn": 2}
    assert "a tuner would choose among 4 configurations: 1 launches have no call" in said
    line, settings = command(
        folder, "report", "--python", str(tilelang_python), "--no-lower", "tirlens-captured.json"
    )
    table = subprocess.run(line, check=False, **settings).stdout.splitlines()
    (total,) = [row for row in table if row.startswith("sum of these kernels")]
    assert total.split()[4] == "10" and "100%" not in total
    (others,) = [row for row in table if row.startswith("torch.matmul, torch.relu")]
    assert "23" in others.split() and "not known" in others
    assert "of the sum" in table[0]
    assert not any(row.startswith("tuned") for row in table[: table.index(others)])


def test_a_termination_keeps_what_was_recorded(folder: Path, tilelang_python: Path) -> None:
    (folder / "program.py").write_text(SLEEPER)
    line, settings = command(
        folder, "capture", "--python", str(tilelang_python), "--", "python", "program.py"
    )
    with subprocess.Popen(line, **settings) as process:
        deadline = time.monotonic() + 120
        while not (folder / "running").exists() and time.monotonic() < deadline:
            time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=30)
    assert process.returncode == 0, said
    assert f"by signal {signal.SIGTERM.value}" in said
    (call,) = calls_in(folder / "tirlens-captured.json")
    assert call["launches"] >= 1


def test_a_capture_file_in_another_folder_finds_its_kernels(
    folder: Path, tilelang_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (folder / "out").mkdir()
    for path in (folder / "out/tirlens-captured.json", elsewhere / "step.json"):
        status, said = capture(folder, tilelang_python, STEP, "--output", str(path))
        assert status == 0, said
        files = {kernel["file"] for kernel in json.loads(path.read_text())["kernels"]}
        assert {(path.parent / file).resolve() for file in files} == {folder / "kern.py"}
        line, settings = command(
            folder, "analyze", "--python", str(tilelang_python), "--format", "json", "--no-lower",
            str(path),
        )  # fmt: skip
        step = json.loads(subprocess.run(line, check=False, **settings).stdout)["step"]
        assert (step["launches"], step["kernels"][0]["definition"]) == (10, "add")


def test_sections_that_a_program_marks(folder: Path, tilelang_python: Path) -> None:
    """NVTX without CUDA, a decorator and nested ranges; reports of parts."""
    status, said = capture(folder, tilelang_python, SECTIONS)
    assert status == 0, said
    assert "sections: warm-up 1, decode, attention, tail, end" in said
    data = json.loads((folder / "tirlens-captured.json").read_text())
    assert data["sections"] == ["warm-up 1", "decode", "attention", "tail", "end"]
    (call,) = calls_in(folder / "tirlens-captured.json")
    assert call["launches"] == 13
    assert call["sections"] == [
        [[], "end", 1], [["decode"], "attention", 3], [["decode"], "decode", 1],
        [["decode", "attention"], "attention", 4], [["tail"], "tail", 1],
        [["warm-up 1"], "warm-up 1", 3],
    ]  # fmt: skip
    for options, launches in (
        ([], 13),
        (["--signpost", "decode"], 8),
        (["--start-signpost", "decode", "--end-signpost", "end"], 9),
    ):
        line, settings = command(
            folder, "report", "--python", str(tilelang_python), "--no-lower", "--format", "json",
            *options, "tirlens-captured.json",
        )  # fmt: skip
        done = subprocess.run(line, check=False, **settings)
        assert json.loads(done.stdout)["step"]["launches"] == launches, done.stderr
    line, settings = command(folder, "report", "--signpost", "prefill", "tirlens-captured.json")
    done = subprocess.run(line, check=False, **settings)
    assert done.returncode == 2 and "no section 'prefill'; there are: warm-up 1" in done.stderr
