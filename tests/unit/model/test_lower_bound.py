"""The lower bound of a function without a schedule: no schedule of it is faster."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import facts, gemm, leaves, workload
from tirlens.hardware import catalogue, load
from tirlens.model import analyze
from tirlens.model.reporting.lower_bound import _matrix_class, _roofline_times
from tirlens.model.tree.moved import Traffic
from tirlens.model.tree.table import Table
from tirlens_worker.facts import Access, Arith, Branch, Buffer, Expr, KernelFacts, Loop, Node, Store

N = 4096
GPUS = [name for name in catalogue() if load(name).kind == "gpu"]


def loops(body: tuple[Node, ...], *extents: tuple[str, int]) -> Node:
    for name, extent in reversed(extents):
        body = (Loop("serial", name, 0, extent, body),)
    return body[0]


def elementwise(source: str, target: str, *operations: str) -> Node:
    store = Store(
        f"{target}[i, j] = f({source}[i, j])",
        tuple(Arith(one, "float32") for one in operations),
        (Access(source, "read", ("i", "j")), Access(target, "write", ("i", "j"))),
    )
    return loops((store,), ("i", N), ("j", N))


def array(name: str, dtype: str = "float32", *, is_parameter: bool = True) -> Buffer:
    return Buffer(name, name, dtype, (N, N), is_parameter=is_parameter)


def product(dtype: str, accumulator: str, size: int = N) -> KernelFacts:
    """A product of matrices as it is written without a schedule."""
    result: tuple[Expr, ...] = ("i", "j")
    add = Store(
        "C[i, j] = C[i, j] + cast(A[i, k]) * cast(B[k, j])",
        (
            Arith("cast", dtype, accumulator=accumulator),
            Arith("mul", accumulator),
            Arith("add", accumulator),
        ),
        (
            Access("C", "read", result),
            Access("A", "read", ("i", "k")),
            Access("B", "read", ("k", "j")),
            Access("C", "write", result),
        ),
    )
    init = Store("C[i, j] = 0", (), (Access("C", "write", result),))
    start = Branch(("==", "k", 0), (init,), kind="init")
    body = loops((start, add), ("i", size), ("j", size), ("k", size))
    buffers = tuple(
        Buffer(name, name, kind, (size, size), is_parameter=True)
        for name, kind in (("A", dtype), ("B", dtype), ("C", accumulator))
    )
    return facts((body,), buffers)


def bound_s(kernel: KernelFacts, device: str = "h100-sxm") -> float:
    report = analyze(kernel, load(device))
    assert report.schedule == "unscheduled" and report.time_s is not None
    return report.time_s


def test_arrays_that_fusion_removes_do_not_count() -> None:
    chain = facts(
        (elementwise("A", "B", "add"), elementwise("B", "D", "exp"), elementwise("D", "C", "mul")),
        (array("A"), array("B", is_parameter=False), array("D", is_parameter=False), array("C")),
    )
    fused = facts((elementwise("A", "C", "add", "exp", "mul"),), (array("A"), array("C")))
    least_bytes = 2 * N * N * 4
    assert analyze(chain, load("h100-sxm")).compulsory_bytes == least_bytes
    assert bound_s(chain) == bound_s(fused) == pytest.approx(least_bytes / 3.35e12)


def test_results_in_between_that_the_caller_takes_count() -> None:
    both = facts(
        (elementwise("A", "B", "add"), elementwise("B", "C", "mul")),
        (array("A"), array("B"), array("C")),
    )
    assert analyze(both, load("h100-sxm")).compulsory_bytes == 3 * N * N * 4


def test_initial_values_of_sums_are_no_operations() -> None:
    assert analyze(product("float32", "float32", 256), load("h100-sxm")).flop == 2 * 256**3


@pytest.mark.parametrize("device", GPUS)
@pytest.mark.parametrize("size", [2048, 8192])
def test_no_schedule_of_a_product_is_faster(device: str, size: int) -> None:
    least = bound_s(product("float16", "float32", size), device)
    for tile, stages, threads in ((128, 3, 128), (128, 2, 256), (64, 2, 128)):
        scheduled = gemm(size, size, size, tile, tile, 32, stages=stages, threads=threads)
        seconds = analyze(scheduled, load(device)).time_s
        assert seconds is None or least < seconds


@pytest.mark.parametrize(
    ("dtype", "accumulator", "flop_per_s"),
    [
        ("float16", "float32", 989.4e12),
        ("bfloat16", "float32", 989.4e12),
        ("float8_e4m3fn", "float32", 1978.9e12),
        ("float32", "float32", 66.9e12),
        ("float64", "float64", 33.5e12),
    ],
)
def test_matrix_units_compute_what_they_can(
    dtype: str, accumulator: str, flop_per_s: float
) -> None:
    size = 8192
    least = bound_s(product(dtype, accumulator, size))
    assert least == pytest.approx(2 * size**3 / flop_per_s, rel=0.01)


def test_half_precision_sums_take_the_faster_rate_of_a_board_that_has_two() -> None:
    single, half = (
        bound_s(product("float16", accumulator, 8192), "rtx-4090")
        for accumulator in ("float32", "float16")
    )
    assert single == pytest.approx(2 * half, rel=0.01)


def test_parts_add_up_to_the_bound() -> None:
    report = analyze(product("float16", "float32"), load("h100-sxm"))
    assert sum(entry.time_s or 0 for entry in report.loops) == pytest.approx(report.time_s)
    assert report.roofline_time_s == report.time_s


@pytest.mark.parametrize(
    ("dtype", "accumulator", "operations", "expected"),
    [
        ("float16", "float32", ("mul", "add"), "tensor.float16"),
        ("float16", "float32", ("fma",), "tensor.float16"),
        ("float16", "float32", ("mul", "add", "cast"), "tensor.float16"),
        ("float16", "float32", ("add", "cast"), None),
        ("float16", "float32", ("mul", "cast"), None),
        ("int8", "int32", ("mul", "add"), None),
        ("float32", "float32", ("mul", "add"), None),
    ],
)
def test_sums_of_products_that_matrix_units_compute(
    dtype: str, accumulator: str, operations: tuple[str, ...], expected: str | None
) -> None:
    made = product(dtype, accumulator, 64)
    *_, leaf = leaves(made)
    source = replace(leaf.source, arith=tuple(Arith(one, accumulator) for one in operations))
    assert _matrix_class(replace(leaf, source=source)) == expected
    # A product that is stored, and not added, is none; nor are indices.
    entries = tuple(
        one for one in leaf.count.accesses if (one.access.buffer, one.access.mode) != ("C", "read")
    )
    stored = replace(leaf, source=source, count=replace(leaf.count, accesses=entries))
    assert _matrix_class(stored) is None
    index = replace(source, arith=tuple(replace(one, index=True) for one in source.arith))
    assert _matrix_class(replace(leaf, source=index)) is None


def test_roofline_times_of_statements() -> None:
    """The longest class of a unit counts; DRAM only where its bytes are known."""
    made = product("float32", "float32", 64)
    tree = workload(made).tree
    number = len(leaves(made))
    idle, busy = Traffic(), Traffic(dram_read_bytes=6.0, dram_write_bytes=4.0)
    traffic = Table([idle] * (number - 1) + [busy])
    flop = 2 * 64**3
    for rate, dram in ((2.0, 5.0), (2.0, None)):
        *_, last = found = list(
            _roofline_times(tree, traffic, {"fp32": flop}, lambda _, rate=rate: rate, dram)
        )
        assert found[:-1] == [{}] * (number - 1)
        assert last == {"fp32": flop / rate, **({} if dram is None else {"dram": 10 / dram})}
