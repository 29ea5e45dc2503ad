"""A solution of a benchmark's run has the inputs of the problem whose number its path has."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tirlens.evaluation.problem_numbers import files_of_number, problem_number
from tirlens.evaluation.search_result import Target
from tirlens.repository.search import find_calls
from tirlens.repository.word_index import WordIndex

SOLUTION = """
import torch
import tilelang
import tilelang.language as T

@tilelang.jit
def scale(n, block=128):
    @T.prim_func
    def main(A: T.Tensor((n,), "float16"), B: T.Tensor((n,), "float16")):
        with T.Kernel(n, threads=128) as i:
            pass
    return main

class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width

    def forward(self, x):
        return scale(self.width, block=x.shape[0])(x)
"""
PROBLEM = """
import torch
BATCH, WIDTH = 512, 2048

class Model(torch.nn.Module):
    pass

def get_inputs():
    return [torch.randn(BATCH, WIDTH)]

def get_init_inputs():
    return [WIDTH]
"""
OTHER = PROBLEM.replace("2048", "64")


@pytest.mark.parametrize(
    ("path", "number"),
    [
        ("KernelBench/level1/12_Matmul_with_diagonal_matrices_.py", (1, 12)),
        ("runs/a/level_1_problem_12_sample_0_kernel.py", (1, 12)),
        ("runs/level2/40_Gemm_Scaling/sample_3/kernel.py", (2, 40)),
        ("solutions/level3_7.py", (3, 7)),
        ("out/L2-P40/kernel.py", (2, 40)),
        ("out/L1/23.py", (1, 23)),
        ("generated/12_tilelang.py", (None, 12)),
        ("problem_4/solution.py", (None, 4)),
        ("kernels/gemm_128.py", None),
        ("kernels/model1/gemm.py", None),
    ],
)
def test_the_number_of_a_path(path: str, number: tuple[int | None, int] | None) -> None:
    assert problem_number(path) == number


def test_the_same_level_comes_first_and_another_one_is_left_out() -> None:
    files = ["b/12_x.py", "level2/12_x.py", "level1/12_x.py", "level1/13_x.py"]
    found = list(files_of_number("runs/level_1_problem_12_kernel.py", files))
    assert found == ["level1/12_x.py", "b/12_x.py"]


@pytest.mark.parametrize(
    ("path", "files"),
    [
        (
            "runs/today/level_1_problem_12_sample_0_kernel.py",
            {
                "runs/today/level_1_problem_1_sample_0_kernel.py": SOLUTION,
                "runs/early/level_1_problem_12_sample_0_kernel.py": SOLUTION,
                "data/level1/1_square.py": OTHER,
                "data/level1/12_diagonal.py": PROBLEM,
                "data/level2/12_diagonal.py": OTHER,
            },
        ),
        (
            "solutions/level2/40_gemm/kernel.py",
            {
                "solutions/level2/4_gemm/kernel.py": SOLUTION,
                "problems/level2/40_Gemm_Scaling.py": PROBLEM,
                "problems/level2/4_Gemm.py": OTHER,
            },
        ),
    ],
)
def test_the_inputs_are_those_of_its_problem(
    path: str, files: Mapping[str, str], tmp_path: Path
) -> None:
    for name, text in {path: SOLUTION, **files}.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    index = WordIndex(tmp_path)
    index.refresh()
    target = Target(path, "scale")
    found = [call.expression for call in find_calls(index, [target])[target].calls]
    assert found == ["scale(n=2048, block=512)"]
