"""Integer arithmetic on data has one unit, in loops, dot products and matrix units."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.requests import request_of
from support.workers import TILELANG, TVM, analyzed
from tirlens import model
from tirlens.hardware import load
from tirlens.ide import counters, labels, lenses, tables
from tirlens.model.report import KernelReport

pytestmark = pytest.mark.slow

HEADS = {
    TVM: "from tvm.script import tirx as T\n",
    TILELANG: "import tilelang\nimport tilelang.language as T\n",
}


def report_of(text: str, folder: Path, environment: str, device: str = "h100-sxm") -> KernelReport:
    request = request_of(folder / "kernel.py", HEADS[environment] + text)
    (facts,) = analyzed(environment, request).kernels
    return model.analyze(facts, load(device), {})


PRODUCT = """
@T.prim_func
def bmm(A: T.Buffer((64, 512, 512), "int8"), B: T.Buffer((64, 512, 512), "int8"),
        C: T.Buffer((64, 512, 512), "int32")):
    for b, i, j, k in T.grid(64, 512, 512, 512):
        C[b, i, j] = C[b, i, j] + T.Cast("int32", A[b, i, k]) * T.Cast("int32", B[b, k, j])
"""
GEMM = """
@T.prim_func
def gemm(A: T.Tensor((128, 64), "int8"), B: T.Tensor((64, 128), "int8"),
         C: T.Tensor((128, 128), "int32")):
    with T.Kernel(1, threads=128):
        As = T.alloc_shared((128, 64), "int8")
        Bs = T.alloc_shared((64, 128), "int8")
        Cl = T.alloc_fragment((128, 128), "int32")
        T.clear(Cl)
        T.copy(A, As)
        T.copy(B, Bs)
        T.gemm(As, Bs, Cl)
        T.copy(Cl, C)
"""
DOT = """
@T.prim_func
def dot(A: T.Tensor((4096,), "int8"), B: T.Tensor((4096,), "int8"), C: T.Tensor((1024,), "int32")):
    with T.Kernel(8, threads=128) as bx:
        t = T.get_thread_binding()
        a = T.alloc_local((4,), "int8")
        b = T.alloc_local((4,), "int8")
        c = T.alloc_local((1,), "int32")
        for i in T.vectorized(4):
            a[i] = A[bx * 512 + t * 4 + i]
            b[i] = B[bx * 512 + t * 4 + i]
        c[0] = 0
        T.dp4a(a, b, c)
        C[bx * 128 + t] = c[0]
"""


@pytest.mark.parametrize(
    ("text", "environment", "device", "iop"),
    [
        (PRODUCT, TVM, "x86-avx2", 2 * 64 * 512**3),
        (GEMM, TILELANG, "h100-sxm", 2 * 128 * 128 * 64),
        (DOT, TILELANG, "h100-sxm", 2 * 4096),
    ],
    ids=["loops", "matrix", "dot product"],
)
def test_products_of_integers(
    text: str, environment: str, device: str, iop: int, tmp_path: Path
) -> None:
    report = report_of(text, tmp_path, environment, device)
    operations = report.operations
    assert (operations.iop, operations.float_ops) == (iop, 0)
    figure = labels.quantity(iop, "IOP")
    assert figure in lenses.work(report.operations, report.dram_bytes.total)
    assert tables.kernel_cells(report)["FLOP"] == figure
    assert dict(tables.particulars(report))["work"].startswith(figure)
    assert (
        f"| [integer operations](https://tirlens.github.io/tirlens/glossary/#iop) | {figure} |"
        in (counters.kernel(report))
    )
    assert "0 FLOP" not in counters.kernel(report)
    assert report.arithmetic_intensity == pytest.approx(iop / report.dram_bytes.total)
    assert sum(entry.operations.iop or 0 for entry in report.loops) == iop
    assert report.peak_fraction is None or report.peak_fraction <= 1


HASH = """
@T.prim_func
def hash(X: T.Tensor((1 << 20,), "uint32"), Y: T.Tensor((1 << 20,), "uint32")):
    with T.Kernel(4096, threads=256) as bx:
        t = T.get_thread_binding()
        h = T.alloc_local((1,), "uint32")
        h[0] = X[bx * 256 + t]
        for k in T.unroll(64):
            h[0] = (h[0] ^ (h[0] >> T.uint32(13))) * T.uint32(1540483477)
        Y[bx * 256 + t] = h[0]
"""


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "rtx-4090", "mi300x"])
@pytest.mark.parametrize("text", [HASH, DOT], ids=["hash", "dot product"])
def test_integers_outside_of_matrix_units_have_a_peak(
    text: str, device: str, tmp_path: Path
) -> None:
    """An instruction of the integer units does two operations at most, a dp4a eight."""
    report, spec = report_of(text, tmp_path, TILELANG, device), load(device)
    iop, time_s = report.operations.iop, report.time_s
    assert iop and time_s and report.peak_fraction is not None and report.ridge_point is not None
    each = 8 if text is DOT else 2
    peak = each * spec.peaks["int32"].flop_per_s
    assert report.peak_fraction == pytest.approx(iop / time_s / peak)
    assert report.ridge_point == pytest.approx(peak / spec.dram.bytes_per_s)
    assert 0 < report.peak_fraction <= 1
    assert "% of peak" in counters.kernel(report)


COMPARED = """
@T.prim_func
def clamp(X: T.Tensor((4096,), "int32"), Y: T.Tensor((4096,), "int32")):
    with T.Kernel(16, threads=256) as bx:
        for i in T.Parallel(256):
            x = X[bx * 256 + i]
            Y[bx * 256 + i] = T.if_then_else(x > 3, x, 0)
"""


def test_comparisons_and_selections_count_none_as_those_of_floating_point(tmp_path: Path) -> None:
    of_float = COMPARED.replace("int32", "float32").replace("3, x, 0", "3.0, x, 0.0")
    for text in (COMPARED, of_float):
        report = report_of(text, tmp_path, TILELANG)
        assert (report.flop, report.int_ops) == (0, 0)
        assert report.time_s


MIXED = """
@T.prim_func
def dequantize(A: T.Buffer((4096,), "int8"), B: T.Buffer((4096,), "float32")):
    for i in range(4096):
        B[i] = T.Cast("float32", A[i] >> T.int8(4)) * T.float32(2) + T.float32(1)
"""


def test_both_units_where_both_have_a_part(tmp_path: Path) -> None:
    report = report_of(MIXED, tmp_path, TVM, "x86-avx2")
    assert (report.flop, report.int_ops) == (2 * 4096, 4096)
    assert lenses.work(report.operations, report.dram_bytes.total).startswith("8.19 kFLOP")
    assert dict(tables.particulars(report))["work"].startswith("8.19 kFLOP, 4.1 kIOP;")


BITONIC = """
@T.prim_func
def sort(X: T.Tensor((256, 64), "int32"), Y: T.Tensor((256, 64), "int32")):
    with T.Kernel(16, threads=64) as bx:
        S = T.alloc_shared((16, 64), "int32")
        T.copy(X[bx * 16, 0], S)
        for a in T.serial(6):
            for c in T.serial(a + 1):
                for i, j in T.Parallel(16, 64):
                    p = {partner}
                    if p > j:
                        x = S[i, j]
                        y = S[i, p]
                        if (x > y) == ((j & (2 << a)) == 0):
                            S[i, j] = y
                            S[i, p] = x
        T.copy(S, Y[bx * 16, 0])
"""


@pytest.mark.parametrize(
    "partner", ["j ^ (1 << (a - c))", "j ^ (1 << (a - c) << 0)", "T.bitwise_xor(j, 1 << (a - c))"]
)
def test_a_bitonic_network_has_counts_and_a_time(partner: str, tmp_path: Path) -> None:
    report = report_of(BITONIC.format(partner=partner), tmp_path, TILELANG)
    assert report.status == "ok"
    assert report.time_s
    assert report.flop == 0
    # 21 steps; in each, half of the 16 x 64 positions have a partner above them.
    pairs = 16 * 21 * 512
    (compared,) = {
        entry.executions for _, entry in report.walk() if entry.label.startswith("x = S")
    }
    assert compared == pairs


BUTTERFLY = """
@T.prim_func(s_tir=True)
def hadamard(X: T.Buffer((64, 256), "{dtype}")):
    for b in T.thread_binding(64, thread="blockIdx.x"):
        for t in T.thread_binding(256, thread="threadIdx.x"):
            for s in range(8):
                for r in range({rounds}):
                    if (t ^ (1 << (s - r))) > t:
                        X[b, t] = X[b, t] + X[b, t ^ (1 << (s - r))]
"""


@pytest.mark.parametrize(("dtype", "unit"), [("int32", "IOP"), ("float32", "FLOP")])
def test_a_butterfly_in_a_triangle(dtype: str, unit: str, tmp_path: Path) -> None:
    text = BUTTERFLY.format(dtype=dtype, rounds="s + 1")
    report = report_of(text, tmp_path, TVM)
    assert report.operations.main == 64 * 128 * 36
    assert unit in lenses.work(report.operations, report.dram_bytes.total)
