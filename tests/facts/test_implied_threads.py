"""What all threads of an axis execute although no loop over its index encloses it."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.requests import request_of
from support.workers import TVM, analyzed
from tirlens import model
from tirlens.hardware import load
from tirlens.model.report import KernelReport

pytestmark = pytest.mark.slow

HEAD = """
from tvm.script import tirx as T

@T.prim_func(s_tir=True)
def main(A: T.Buffer((8192,), "float32"), B: T.Buffer((8192,), "float32")):
    S = T.alloc_buffer((256,), "float32", scope="shared")
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        for ty in T.thread_binding(8, thread="threadIdx.y"):
            x = T.alloc_buffer((1,), "float32", scope="local")
"""


def report(body: str, folder: Path) -> KernelReport:
    text = HEAD + "".join(f"            {line}\n" for line in body.splitlines())
    result = analyzed(TVM, request_of(folder / "main.py", text))
    assert result.kernels, result
    return model.analyze(result.kernels[0], load("h100-sxm"), {})


COPY = """\
for tx in T.thread_binding(32, thread="threadIdx.x"):
    S[ty * 32 + tx] = A[bx * 256 + ty * 32 + tx]
"""


@pytest.mark.parametrize(
    ("body", "flop"),
    [
        # Behind the loop over the lanes, and before it.
        (COPY + "x[0] = S[ty] * T.float32(2)", 32 * 256),
        ("x[0] = A[ty] * T.float32(2)\n" + COPY, 32 * 256),
        # In a serial loop beside it, and in a branch.
        ("for k in range(4):\n    x[0] = A[k] * T.float32(2)\n" + COPY, 4 * 32 * 256),
        ("if ty < 4:\n    x[0] = A[ty] * T.float32(2)\n" + COPY, 32 * 128),
        # In a loop that has the other one as well.
        (
            "for k in range(4):\n    x[0] = A[k] * T.float32(2)\n"
            + "".join(f"    {line}\n" for line in COPY.splitlines()),
            4 * 32 * 256,
        ),
        # In the loop over the lanes, and in a kernel that has none.
        (COPY + "    x[0] = S[tx] * T.float32(2)", 32 * 256),
        ("x[0] = A[ty] * T.float32(2)", 32 * 8),
    ],
)
def test_every_thread_executes_it(body: str, flop: int, tmp_path: Path) -> None:
    assert report(body, tmp_path).flop == flop


FRAGMENTS = """\
F = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_a")
G = T.alloc_buffer((16, 16), "float16", scope="wmma.matrix_b")
H = T.alloc_buffer((16, 16), "float32", scope="wmma.accumulator")
"""
PRODUCT = "T.evaluate(T.tvm_mma_sync(H.data, 0, F.data, 0, G.data, 0, H.data, 0))\n"


@pytest.mark.parametrize("body", [PRODUCT + COPY, COPY + PRODUCT])
def test_a_product_of_a_warp_has_all_of_its_operations(body: str, tmp_path: Path) -> None:
    assert report(FRAGMENTS + body, tmp_path).flop == 32 * 8 * 2 * 16**3
