"""TVMScript of earlier versions has the facts that the same function has in today's words."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[str], Result]

TODAY = "from tvm.script import tirx as T\nfrom tvm.script import ir as I\n"
OLD = "from tvm.script import tir as T\nfrom tvm.script import ir as I\n"
# A text in today's words; what is said otherwise in the old ones follows it.
BLOCKS = """
@T.prim_func(s_tir=True)
def kernel(a: T.handle, B: T.Buffer((64,), "float32")):
    A = T.match_buffer(a, (64, 32), "float16")
    S = T.sblock_alloc_buffer((64, 32), "float32", scope="shared")
    for i in T.thread_binding(64, thread="blockIdx.x"):
        for j in T.thread_binding(32, thread="threadIdx.x"):
            with T.sblock("load"):
                vi, vj = T.axis.remap("SS", [i, j])
                T.sblock_attr({"auto_copy": 1})
                S[vi, vj] = T.Cast("float32", A[vi, vj])
        for k in range(32):
            with T.sblock("sum"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + T.exp(S[vi, vk])
"""
FLAT = """
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((1024,), "float32"), B: T.Buffer((1024,), "float32")):
    bx = T.env_thread("blockIdx.x")
    tx = T.env_thread("threadIdx.x")
    T.launch_thread(bx, 8)
    T.launch_thread(tx, 128)
    s = T.alloc_buffer([128], "float32", scope="shared").data
    S = T.decl_buffer((128,), data=s, scope="shared")
    S[tx] = A[bx * 128 + tx]
    B[bx * 128 + tx] = S[tx] * T.float32(2)
"""
SIZES = """
@T.prim_func(s_tir=True)
def kernel(a: T.handle, b: T.handle, n: T.int32):
    rows = T.int64()
    columns = T.int64()
    A = T.match_buffer(a, (rows, columns), "float32")
    B = T.match_buffer(b, (rows, n), "float32")
    for i, j in T.grid(rows, columns):
        with T.sblock("b"):
            v, w = T.axis.remap("SS", [i, j])
            B[v, T.int64(0)] = A[v, w]
"""
MODULE = """
@I.ir_module
class kernel:
    @T.prim_func(private=True, s_tir=True)
    def main(A: T.Buffer((64,), "float32"), B: T.Buffer((64,), "float32")):
        for i in range(64):
            with T.sblock("b"):
                v = T.axis.spatial(64, i)
                B[v] = T.sqrt(A[v])
"""
MMA = """
@T.prim_func(s_tir=True)
def kernel(A: T.Buffer((256,), "float16")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        with T.sblock("mma"):
            T.reads()
            T.writes()
            C = T.sblock_alloc_buffer((8,), "float16", scope="local")
            T.evaluate(T.cuda.mma_fill_legacy(8, C.data, 0, dtype="float16"))
"""
BLOCK = (("sblock_alloc_buffer", "alloc_buffer"), ("sblock", "block"), ("(s_tir=True)", ""))
CASES = {
    "blocks": (BLOCKS, BLOCK),
    "subscripts": (BLOCKS, (*BLOCK, ('T.Buffer((64,), "float32")', 'T.Buffer[(64,), "float32"]'))),
    "axes": (BLOCKS, (*BLOCK, ('"float16")', '"float16", axis_separators=[])'))),
    "flat": (
        FLAT,
        (
            ("(s_tir=True)", ""),
            (
                'T.alloc_buffer([128], "float32", scope="shared").data',
                'T.allocate([128], "float32", "shared")',
            ),
            ("T.decl_buffer(", "T.Buffer("),
        ),
    ),
    "sizes": (
        SIZES,
        (
            *BLOCK[1:],
            ("rows = T.int64()", 'rows = T.SizeVar("rows", "int64")'),
            ("columns = T.int64()", "columns = T.int64(is_size_var=True)"),
        ),
    ),
    "module": (MODULE, ((", s_tir=True", ""), ("sblock", "block"))),
    "mma": (MMA, (*BLOCK, ("cuda.mma_fill_legacy", "mma_fill"))),
}  # fmt: skip


@pytest.fixture(scope="session")
def run(each_tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("old")
    found = worker_client.find_interpreter(folder, setting=each_tvm_python)
    with worker_client.BlockingClient(found) as client:
        yield lambda text: client.analyze(request_of(folder / "old.py", text, limit_s=30.0))


def _facts(result: Result) -> KernelFacts:
    (facts,) = result.kernels
    return facts


@pytest.mark.parametrize("case", CASES)
def test_the_words_of_earlier_versions_mean_what_they_did(run: Run, case: str) -> None:
    text, words = CASES[case]
    old = text
    for today, before in words:
        assert today in old
        old = old.replace(today, before)
    result = run(OLD + old)
    (told,) = result.problems
    assert told.span is not None
    assert (told.kind, told.span.line) == ("unsupported", 1)
    assert "has no tvm.tir: its names are read as those of tvm.tirx" in told.message
    assert _plain(_facts(result)) == _plain(_facts(run(TODAY + text)))


def test_a_relax_module_with_struct_info(run: Run) -> None:
    """Arguments and classes of Relax before 0.26, in a module with a kernel, and in a function."""
    text = """
import tvm
from tvm import relax
from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tir as T


@I.ir_module
class Twice:
    @T.prim_func
    def double(A: T.Buffer((32, 32), "float32"), B: T.Buffer((32, 32), "float32")):
        for i, j in T.grid(32, 32):
            with T.block("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function
    def main(x: R.Tensor((32, 32), "float32")) -> R.Tensor((32, 32), "float32"):
        cls = Twice
        with R.dataflow():
            y = R.call_tir(cls.double, (x,), out_sinfo=R.Tensor((32, 32), "float32"))
            z = R.call_dps_packed("extern", (y,), out_sinfo=R.Tensor((32, 32), "float32"))
            R.output(z)
        return z


assert isinstance(relax.TensorStructInfo((4,), "float32"), relax.TensorStructInfo)
"""
    result = run(text)
    assert [problem.kind for problem in result.problems] == ["unsupported"]
    assert "double" in {facts.name for facts in result.kernels}


def _plain(facts: KernelFacts) -> str:
    """The facts without columns, which differ where words are longer."""
    return re.sub(r"column=\d+", "", str(facts))


def test_what_tvm_prints_needs_no_import(run: Run) -> None:
    text = BLOCKS
    for today, before in BLOCK:
        text = text.replace(today, before)
    result = run("# from tvm.script import tir as T\n" + text)
    assert [problem.span and problem.span.line for problem in result.problems] == [1]
    assert _facts(result).name == "kernel"


def test_a_word_that_is_gone_is_named(run: Run) -> None:
    text = FLAT.replace("(s_tir=True)", "").replace("T.alloc_buffer([128]", "T.allocate_const([1]")
    problem = run(OLD + text).problems[-1]
    assert "corresponds to tvm.script.tir.allocate_const of earlier versions" in problem.message
    assert problem.span is not None
    assert problem.span.line == 10


def test_they_are_read_with_the_tvm_of_tilelang(tilelang_python: Path, tmp_path: Path) -> None:
    text = SIZES
    for today, before in CASES["sizes"][1]:
        text = text.replace(today, before)
    found = worker_client.find_interpreter(tmp_path, setting=tilelang_python)
    with worker_client.BlockingClient(found) as client:
        result = client.analyze(request_of(tmp_path / "old.py", OLD + text, limit_s=30.0))
    assert [problem.kind for problem in result.problems] == ["unsupported"]
    assert _facts(result).name == "kernel"


def test_targets_and_devices_answer_as_they_did(tilelang_python: Path, tmp_path: Path) -> None:
    text = (
        OLD
        + """
import tvm
from tvm.tir import PrimExpr

target = tvm.target.Target({"kind": "cuda", "arch": "sm_90"})
assert (target.arch, target.mcpu) == ("sm_90", None)
device = tvm.cuda(0)
assert device.exist and device.multi_processor_count > 8 and not tvm.opencl(0).exist
N = device.warp_size

def size(n: PrimExpr) -> PrimExpr:
    return n * 2

@T.prim_func
def kernel(A: T.Buffer((N,), "float32")):
    for i in range(N):
        A[i] = T.float32(0)
"""
    )
    found = worker_client.find_interpreter(tmp_path, setting=tilelang_python)
    with worker_client.BlockingClient(found) as client:
        result = client.analyze(request_of(tmp_path / "old.py", text, limit_s=60.0))
    assert [problem.kind for problem in result.problems] == ["unsupported"]
    assert _facts(result).name == "kernel"
