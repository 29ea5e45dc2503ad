"""Machine code of real kernels by real tools, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import execute_here

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def lower(
    cuda_home: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Any:
    """Runs ``tirlens lower`` with NVIDIA's tools and a cache of its own."""
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def run(*arguments: object) -> tuple[int, str, str]:
        status = execute_here(["lower", *map(str, arguments)])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def test_a_kernel_of_tvm(lower: Any, tvm_python: Path, tmp_path: Path) -> None:
    path = EXAMPLES / "matmul_tvm.py"
    options = (path, "--kernel", "matmul_tiled", "--python", tvm_python, "--device", "a100-80-sxm")
    status, out, err = lower(*options, "--emit", "sass", "--format", "json")
    assert status == 0, err
    (kernel,) = json.loads(out)["kernels"]
    (compiled,) = kernel["compiled"]
    assert kernel["registers_per_thread"] == compiled["registers_per_thread"] > 8
    assert (compiled["stack_bytes"], compiled["spill_store_bytes"]) == (0, 0)
    # Two tiles of 32 x 32 floats.
    assert compiled["static_shared_bytes"] == 2 * 32 * 32 * 4
    sass = kernel["texts"]["sass"]
    text = sass["text"].splitlines()
    assert len(text) == len(sass["lines"])
    assert sum("FFMA" in line for line in text) >= 32 and any("BAR.SYNC" in line for line in text)
    # What was made of a source is stored, and is the same when it is asked for again.
    (stored,) = tmp_path.rglob("machine-code/*.json")
    before = stored.stat().st_mtime_ns
    assert json.loads(lower(*options, "--emit", "sass", "--format", "json")[1])["kernels"] == [
        kernel
    ]
    assert stored.stat().st_mtime_ns == before


def test_lines_of_a_product_of_tilelang(lower: Any, tilelang_python: Path) -> None:
    path = EXAMPLES / "gemm_tilelang.py"
    options = ("--kernel", "matmul", "--python", tilelang_python, "--device", "h100-sxm")
    status, out, err = lower(path, *options, "--sass")
    assert status == 0, err
    source = path.read_text().splitlines()
    product = 1 + next(n for n, line in enumerate(source) if "T.gemm(" in line)
    row, *products = [line for line in out.splitlines() if "HGMMA" in line]
    assert products and all(line.startswith(f"{product:>5} | [B") for line in products)
    # What the line became, above the instructions.
    assert row.startswith(f"{product:>5} | // {product:>4}")
    assert f"HGMMA.64x128x16.F32 x{len(products)}, WARPGROUP.DEPBAR" in row
    assert any("UTMALDG.2D x" in line and "(TMA load)" in line for line in out.splitlines())
    assert "registers a thread" in err and "stack frame 0 bytes" in err
