"""An edit that is offered was tried: made by hand and analysed again, it saves what it promises."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.environments import environment
from tirlens.cli import main

pytestmark = pytest.mark.slow

TILELANG, TVM = "tilelang-0.1.15", "tvm-0.27.0.post1"
KERNELS = Path(__file__).parent / "kernels"
EXAMPLES = Path(__file__).parents[1] / "examples"
CASES = [
    (TILELANG, KERNELS / "editable.py", "few_threads(8192)", "h100-sxm"),
    (TILELANG, KERNELS / "editable.py", "in_turn(8192)", "a100-80-sxm"),
    (TILELANG, KERNELS / "editable.py", "in_turn(8192)", "h100-sxm"),
    (TILELANG, KERNELS / "editable.py", "few_stages(16384)", "rtx-4090"),
    (TILELANG, KERNELS / "editable.py", "row_by_row(16384)", "h100-sxm"),
    (TILELANG, KERNELS / "editable.py", "small_tiles(8192)", "h100-sxm"),
    (TILELANG, KERNELS / "editable.py", "small_tiles(4096)", "a100-80-sxm"),
    (TVM, KERNELS / "tvm_rewrites.py", None, "h100-sxm"),
    (TVM, EXAMPLES / "matmul_tvm.py", None, "a100-80-sxm"),
    (TILELANG, EXAMPLES / "gemm_tilelang.py", None, "a100-80-sxm"),
    (TILELANG, EXAMPLES / "attention_tilelang.py", None, "h100-sxm"),
]
#: tilelang cannot pipeline a loop in which a tile is loaded and then written again.
REFUSED = """
import tilelang.language as T

N = 8192


@T.prim_func
def masked(
    A: T.Tensor((N, N), "float16"), B: T.Tensor((N, N), "float16"), C: T.Tensor((N, N), "float16")
):
    with T.Kernel(N // 128, N // 128, threads=256) as (bx, by):
        a = T.alloc_shared((128, 64), "float16")
        b = T.alloc_shared((64, 128), "float16")
        c = T.alloc_fragment((128, 128), "float32")
        T.clear(c)
        for k in T.serial(N // 64):
            T.copy(A[by * 128, k * 64], a)
            for i, j in T.Parallel(128, 64):
                if k * 64 + j >= N - 7:
                    a[i, j] = 0
            T.copy(B[k * 64, bx * 128], b)
            T.gemm(a, b, c)
        T.copy(c, C[by * 128, bx * 128])
"""


def analyzed(
    capsys: pytest.CaptureFixture[str], name: str, path: Path, call: str | None, device: str
) -> dict[Any, dict[str, Any]]:
    options = [] if call is None else ["--call", call]
    main(
        ["analyze", str(path), *options, "--device", device, "--format", "json", "--python",
         str(environment(name))]
    )  # fmt: skip
    kernels = json.loads(capsys.readouterr().out)["kernels"]
    return {(kernel["definition"], kernel["name"], kernel["call"]): kernel for kernel in kernels}


def written(text: str, edit: dict[str, Any]) -> str:
    lines = text.split("\n")
    first, last = lines[edit["line"] - 1], lines[edit["end_line"] - 1]
    before = [*lines[: edit["line"] - 1], first[: edit["column"]]]
    after = [last[edit["end_column"] :], *lines[edit["end_line"] :]]
    return "\n".join(before) + edit["new_text"] + "\n".join(after)


@pytest.mark.parametrize(("name", "path", "call", "device"), CASES)
def test_each_offered_edit_saves_what_it_promises(
    name: str,
    path: Path,
    call: str | None,
    device: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    text = path.read_text(encoding="utf-8")
    for key, before in analyzed(capsys, name, path, call, device).items():
        for advice in before["advice"]:
            saving_s, roofline_s = advice["saving_s"], before["roofline_time_s"] or 0.0
            if saving_s is not None and advice["rule"] != "no-tensor-core":
                assert before["time_s"] - saving_s >= roofline_s * (1 - 1e-9)
            if advice["edit"] is None:
                continue
            changed = tmp_path / path.name
            changed.write_text(written(text, advice["edit"]), encoding="utf-8")
            after = analyzed(capsys, name, changed, call, device)[key]
            assert before["time_s"] - after["time_s"] == pytest.approx(saving_s, rel=1e-6)
            assert saving_s >= 0.03 * before["time_s"]


def test_what_the_framework_refuses_is_no_advice(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "refused.py"
    path.write_text(REFUSED)
    rules: list[set[str]] = []
    for options in (["--no-lower"], []):
        main(
            ["analyze", str(path), "--device", "a100-80-sxm", "--format", "json", *options,
             "--python", str(environment(TILELANG))]
        )  # fmt: skip
        (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
        rules.append({advice["rule"] for advice in kernel["advice"]})
    # By the model alone it would help.
    assert "not-pipelined" in rules[0] and "not-pipelined" not in rules[1]


def test_what_was_not_lowered_has_no_edit(capsys: pytest.CaptureFixture[str]) -> None:
    """Only the lowering would say whether tilelang accepts it."""
    main(
        ["analyze", str(KERNELS / "editable.py"), "--call", "few_threads(8192)", "--no-lower",
         "--format", "json", "--python", str(environment(TILELANG))]
    )  # fmt: skip
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["advice"] and all(advice["edit"] is None for advice in kernel["advice"])
