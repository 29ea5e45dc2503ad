"""TIRLens beside the frameworks' own estimators, on kernels whose counts are known in closed form.

    PYTHONPATH=server PYTHON_WITH_TILELANG tests/benchmarks/against_analyzers.py
    PYTHONPATH=server PYTHON_WITH_TVM      tests/benchmarks/against_analyzers.py

Under tilelang it runs `tilelang.tools.Analyzer` (which wants a device object; one is made up, since
the counts do not depend on it), under apache-tvm `tvm.s_tir.analysis.estimate_tir_flops`.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

from tirlens import Analyzer

EXAMPLES = Path(__file__).parents[1] / "examples"


@dataclass(frozen=True)
class Case:
    """`flop` and `global_bytes` are what the kernel issues, worked out by hand (or None)."""

    name: str
    function: Any
    flop: int
    global_bytes: int | None


def tilelang_cases() -> Iterator[Case]:
    gemm, attention = _module("gemm_tilelang"), _module("attention_tilelang")
    for n in (1024, 4096, 8192):
        traffic = 2 * (2 * n * n * (n // 128) + n * n)
        yield Case(f"gemm {n}^3", gemm.matmul.get_tir(M=n, N=n, K=n), 2 * n**3, traffic)
    m, n, k, batch = 1000, 1024, 512, 16
    # Eight tiles of 128 rows cover the 1000, and the product runs over all of their rows.
    traffic = 2 * batch * (m * k * (n // 128) + k * n * 8 + m * n)
    function = gemm.batched_matmul.get_tir(batch, m, n, k)
    yield Case("batched gemm, rows of 1000", function, 2 * batch * 1024 * n * k, traffic)
    batch, heads, length, dim, rows, columns = 8, 32, 4096, 128, 128, 64
    tiles = sum(-(-(block + 1) * rows // columns) for block in range(length // rows))
    products = batch * heads * tiles * 2 * 2 * rows * columns * dim
    traffic = 2 * batch * heads * (2 * length * dim + tiles * 2 * columns * dim)
    function = attention.attention.get_tir(batch, heads, length, dim)
    yield Case("causal attention (products only)", function, products, traffic)


def tvm_cases() -> Iterator[Case]:
    module = _module("matmul_tvm")
    yield Case("matmul_naive 1024^3", module.matmul_naive, 2 * 1024**3, None)
    yield Case("scale_and_add, tail", module.scale_and_add, 2 * 1_000_000, 3 * 2 * 1_000_000)
    triangular = _module("triangular_tvm")
    rows = 1024
    scores = 2 * 64 * rows * (rows + 1) // 2
    yield Case("causal scores, a guard", triangular.causal_scores, scores, None)
    rows = 4096
    triangle = 2 * rows * (rows + 1) // 2
    yield Case("triangular matvec", triangular.lower_triangular_matvec, triangle, None)


def tilelang_estimate() -> Callable[[Any], tuple[int | None, int | None]]:
    from tilelang.tools import Analyzer as Theirs

    device = SimpleNamespace(compute_capability="80", bandwidth=[750, 12080])

    def estimate(function: Any) -> tuple[int | None, int | None]:
        result = Theirs.analysis(function, device)
        return int(result.total_flops), int(result.total_global_bytes)

    return estimate


def tvm_estimate() -> Callable[[Any], tuple[int | None, int | None]]:
    import tvm
    from tvm.s_tir.analysis import estimate_tir_flops

    def estimate(function: Any) -> tuple[int | None, int | None]:
        return int(estimate_tir_flops(tvm.IRModule({"main": function}))), None

    return estimate


def main() -> None:
    if importlib.util.find_spec("tilelang") is not None:
        name, cases, estimate = "tilelang.tools.Analyzer", tilelang_cases(), tilelang_estimate()
    else:
        name, cases, estimate = "estimate_tir_flops", tvm_cases(), tvm_estimate()
    print(f"{'kernel':34}{'what':>13}{'by hand':>20}{name:>26}{'tirlens':>20}")
    for case in cases:
        ours = Analyzer.analysis(case.function, "h100-sxm")
        (report,) = ours.reports
        flop = report.flop
        if "products only" in case.name:
            flop = sum(n for kind, n in report.flop_by_class.items() if kind.startswith("tensor"))
        try:
            theirs = estimate(case.function)
        except Exception as error:
            theirs = (None, None)
            print(f"{case.name:34}{name} raised {type(error).__name__}: {str(error)[:60]}")
        for what, truth, their, our in (
            ("FLOP", case.flop, theirs[0], flop),
            ("global bytes", case.global_bytes, theirs[1], ours.total_global_bytes),
        ):
            if truth is not None:
                print(f"{case.name:34}{what:>13}{truth:>20}{their!s:>26}{our!s:>20}")


def _module(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


if __name__ == "__main__":
    main()
