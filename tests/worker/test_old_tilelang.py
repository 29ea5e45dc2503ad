"""Code for other versions of tilelang has the facts that the same code has in today's words."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

IMPORTS = "import tilelang\nimport tilelang.language as T\n"
MATMUL = """
@tilelang.jit(out_idx=[2])
def matmul(M, N, K):
    @T.prim_func
    def main(
        A: T.Tensor((M, K), "float16"),
        B: T.Tensor((K, N), "float16"),
        C: T.Tensor((M, N), "float16"),
    ):
        with T.Kernel(T.ceildiv(N, 128), T.ceildiv(M, 128), threads=128) as (bx, by):
            A_shared = T.alloc_shared((128, 32), "float16")
            B_shared = T.alloc_shared((32, 128), "float16")
            C_local = T.alloc_fragment((128, 128), "float32")
            T.clear(C_local)
            for k in T.Pipelined(T.ceildiv(K, 32), num_stages=2):
                T.copy(A[by * 128, k * 32], A_shared)
                T.copy(B[k * 32, bx * 128], B_shared)
                T.gemm(A_shared, B_shared, C_local)
            T.copy(C_local, C[by * 128, bx * 128])
    return main
"""
INTRINSICS = """import tilelang
from tilelang.intrinsics.mma_layout import get_swizzle_layout
from tilelang.intrinsics import TensorCoreIntrinEmitter
from tilelang.quantize import get_lop3_intrin_group
from tilelang.utils.tensor import map_torch_type
assert str(map_torch_type("float16")) == "torch.float16"
assert get_swizzle_layout.__module__ == "tilelang.cuda.intrinsics.layout.mma_layout"
"""
CALL = "\nkernel = matmul(1024, 1024, 512)\n"


def _only(result: Result) -> KernelFacts:
    assert (result.problems, result.needs) == ((), ())
    (facts,) = result.kernels
    return facts


def _plain(facts: KernelFacts) -> str:
    """The facts without positions, which differ where words are longer, and without remarks."""
    text = re.sub(r"(end_)?(line|column)=\d+", "", str(replace(facts, caveats=())))
    return re.sub(r"source='.*?', arith", "", text)


@pytest.mark.parametrize(
    ("today", "before"),
    [
        (IMPORTS, "from tvm import tl as tilelang\nimport tvm.tl.language as T\n"),
        ("T.gemm(", "T.gemm_v2("),
        ('(128, 128), "float32"', '(8 * T.DataType("float16").bits, 128), "float32"'),
        ("@tilelang.jit(", "@tilelang.autotuner.jit(skip_check=True, profiler='auto', "),
        (
            "import tilelang\n",
            "import tilelang\nfrom tilelang.utils.target import determine_target\n",
        ),
        ("import tilelang\n", INTRINSICS),
    ],
)
def test_old_words_mean_what_they_did(run_tilelang: Run, today: str, before: str) -> None:
    text = IMPORTS + MATMUL + CALL
    assert today in text
    old = _only(run_tilelang(text.replace(today, before, 1)))
    assert _plain(old) == _plain(_only(run_tilelang(text)))


def test_a_name_that_is_nowhere_is_still_missing(run_tilelang: Run) -> None:
    text = IMPORTS + "from tilelang.intrinsics import no_such_thing\n" + MATMUL + CALL
    result = run_tilelang(text)
    (problem,) = result.problems
    assert "no_such_thing" in problem.message and problem.kind == "import"


def test_advice_to_the_compiler_that_it_no_longer_takes_is_left_out(run_tilelang: Run) -> None:
    text = IMPORTS + MATMUL + CALL
    today = _only(run_tilelang(text))
    old = _only(run_tilelang(text.replace("B_shared, C_local)", "B_shared, C_local, k_pack=2)")))
    (caveat,) = [item for item in old.caveats if "k_pack" in item.message]
    assert caveat.message.endswith("gemm() has no argument 'k_pack': it is left out")
    assert not [item for item in today.caveats if "k_pack" in item.message]
    assert _plain(old) == _plain(today)


def test_an_argument_that_is_no_advice_is_not_left_out(run_tilelang: Run) -> None:
    text = IMPORTS + MATMUL.replace("B_shared, C_local)", "B_shared, C_local, pe=2)") + CALL
    result = run_tilelang(text)
    (problem,) = result.problems
    assert result.kernels == () and "gemm() has no argument 'pe'" in problem.message


def test_weights_of_four_bits_are_unpacked_as_tilelang_did(run_tilelang: Run) -> None:
    text = (
        IMPORTS
        + """
from tilelang.quantize import _tir_packed_to_unsigned_convert
@tilelang.jit
def unpack(N):
    @T.prim_func
    def main(A: T.Tensor((N // 2,), "uint8"), B: T.Tensor((N,), "float16")):
        with T.Kernel(T.ceildiv(N, 128), threads=128) as bx:
            for i in T.Parallel(128):
                B[bx * 128 + i] = {}
    return main
kernel = unpack(4096)
"""
    )
    call = '_tir_packed_to_unsigned_convert("uint", 8)(4, A[bx * 64 + i // 2], i % 2, "float16")'
    plain = 'T.Cast("float16", (A[bx * 64 + i // 2] >> T.Cast("uint8", i % 2 * 4)) & T.uint8(15))'
    old = _only(run_tilelang(text.format(call)))
    assert _plain(old) == _plain(_only(run_tilelang(text.format(plain))))


def test_a_kernel_that_is_lowered_by_its_caller_is_read(run_tilelang: Run) -> None:
    text = (
        IMPORTS
        + MATMUL.replace("@tilelang.jit(out_idx=[2])\n", "")
        + """
def check(M, N, K):
    program = matmul(M, N, K)
    module, params = tilelang.lower(program)
    return module

check(512, 512, 512)
"""
    )
    facts = _only(run_tilelang(text))
    assert facts.call == "matmul(512, 512, 512)"


@pytest.mark.parametrize("jit", ["tilelang.jit(out_idx=[2])", "tilelang.jit", "jit"])
def test_a_finished_function_may_be_compiled_by_a_decorator(run_tilelang: Run, jit: str) -> None:
    lines = MATMUL.replace("@tilelang.jit(out_idx=[2])\n", "").replace(
        "    @T.prim_func", f"    @{jit}\n    @T.prim_func"
    )
    facts = _only(run_tilelang(IMPORTS + "from tilelang import jit\n" + lines + CALL))
    assert _plain(facts) == _plain(_only(run_tilelang(IMPORTS + MATMUL + CALL)))
