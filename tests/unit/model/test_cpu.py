"""CPU kernels: vectorization, dependency chains, cores, and the level that lines come from."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.hardware import load
from tirlens.hardware.cpu_core import CACHE_LINE_BYTES
from tirlens.model import analyze
from tirlens.model.cpu.memory.footprints import access_pattern
from tirlens.model.cpu.memory.layer_conditions import CacheCapacity, resident_fraction
from tirlens.model.report import KernelReport, ReadWrite
from tirlens_worker.facts import (
    Access,
    Arith,
    Buffer,
    Expr,
    KernelFacts,
    Launch,
    Loop,
    LoopKind,
    Span,
    Statement,
    Store,
)

DEVICE = load("x86-avx2")
FLOAT = "float32"


def facts(
    arrays: dict[str, tuple[int, ...]], loops: Sequence[Loop], leaf: Statement
) -> KernelFacts:
    """One statement in a nest of loops, the first outermost."""
    node: Loop | Statement = leaf
    for loop in reversed(loops):
        node = replace(loop, body=(node,))
    return KernelFacts(
        name="kernel",
        definition="kernel",
        span=Span(1, 0, 1, 6),
        framework="tvm",
        framework_version="",
        call="kernel",
        call_source="module-level",
        variables=(),
        buffers=tuple(
            Buffer(name, name, FLOAT, shape, is_parameter=True) for name, shape in arrays.items()
        ),
        launch=Launch(),
        body=(node,),
    )


def loop(var: str, extent: int, kind: LoopKind = "serial") -> Loop:
    return Loop(kind, var, 0, extent, ())


def store(reads: dict[str, tuple[Expr, ...]], write: tuple[str, tuple[Expr, ...]], *ops: str):
    path = ("fma",) if "mul" in ops and "add" in ops else ops
    accesses = [Access(name, "read", index, path=path) for name, index in reads.items()]
    accesses.append(Access(write[0], "write", write[1]))
    return Store("store", tuple(Arith(op, FLOAT) for op in ops), tuple(accesses))


def matmul(order: str, size: int = 256, kinds: dict[str, LoopKind] | None = None) -> KernelFacts:
    leaf = store(
        {"A": ("i", "k"), "B": ("k", "j"), "C": ("i", "j")}, ("C", ("i", "j")), "mul", "add"
    )
    loops = [loop(name, size, (kinds or {}).get(name, "serial")) for name in order]
    return facts(dict.fromkeys("ABC", (size, size)), loops, leaf)


def timed(report: KernelReport) -> float:
    assert report.status == "ok" and report.time_s is not None, report.message
    return report.time_s


def test_a_float_sum_is_a_dependency_chain() -> None:
    report = analyze(matmul("ijk"), DEVICE)
    assert DEVICE.cpu is not None
    chain = 256**3 * DEVICE.cpu.latency_clk / DEVICE.clock_hz
    assert timed(report) == pytest.approx(chain, rel=0.15)
    assert (report.bound, report.bound_class) == ("latency", "latency")
    assert "dependency chain" in report.bound_reason
    assert "1 of 16 cores" in report.bound_reason


def test_a_footprint_within_the_caches_has_no_dram_traffic() -> None:
    report = analyze(matmul("ikj", 640), DEVICE)
    assert report.dram_bytes == ReadWrite(0, 0)
    assert report.compulsory_bytes is not None and report.compulsory_bytes > 0


def test_an_integer_sum_is_vectorized() -> None:
    integers = replace(
        matmul("ijk"),
        buffers=tuple(replace(b, dtype="int32") for b in matmul("ijk").buffers),
    )
    (outer,) = integers.body
    assert isinstance(outer, Loop)

    def typed(node: Loop | Statement) -> Loop | Statement:
        if isinstance(node, Loop):
            return replace(node, body=tuple(typed(child) for child in node.body))  # type: ignore[arg-type]
        return replace(node, arith=tuple(replace(a, dtype="int32") for a in node.arith))

    report = analyze(replace(integers, body=(typed(outer),)), DEVICE)
    assert report.bound != "latency"


def test_unit_stride_is_faster_than_a_sum_or_a_large_stride() -> None:
    times = [timed(analyze(matmul(order), DEVICE)) for order in ("ikj", "ijk", "jki")]
    assert times[0] * 5 < times[1] and times[0] * 5 < times[2]


@pytest.mark.parametrize("cores", [2, 16])
def test_a_parallel_loop_is_divided_among_the_cores(cores: int) -> None:
    device = replace(DEVICE, sm_count=cores)
    serial = timed(analyze(matmul("ikj"), device))
    shared = timed(analyze(matmul("ikj", kinds={"i": "parallel"}), device))
    assert serial / cores <= shared <= 1.5 * serial / cores
    # 17 rows on 16 cores take two rounds.
    odd = facts({"A": (17, 65536)}, [loop("i", 17, "parallel"), loop("j", 65536)], _scale())
    even = facts({"A": (32, 65536)}, [loop("i", 32, "parallel"), loop("j", 65536)], _scale())
    if cores == 16:
        assert timed(analyze(odd, device)) == pytest.approx(timed(analyze(even, device)), rel=0.05)


def _scale() -> Statement:
    return store({"A": ("i", "j")}, ("A", ("i", "j")), "mul")


@pytest.mark.parametrize(("size", "bound"), [(1 << 10, "l1"), (1 << 22, "l3"), (1 << 25, "dram")])
def test_the_footprint_decides_the_level_of_a_stream(size: int, bound: str) -> None:
    # Three arrays of 4 KiB, 16 MiB and 128 MiB; the last-level cache has 32 MiB.
    leaf = store({"A": ("i",), "B": ("i",)}, ("C", ("i",)), "add")
    arrays = dict.fromkeys("ABC", (size // (1 if bound != "l3" else 4),))
    report = analyze(facts(arrays, [loop("i", arrays["A"][0])], leaf), DEVICE)
    if bound == "l1":
        assert report.dram_bytes.total == 0
    else:
        assert report.bound == bound
    if bound == "dram":
        assert report.dram_bytes.total is not None
        assert report.dram_bytes.total == pytest.approx(4 * 4 * size, rel=0.02)


def test_lines_that_all_cores_read_are_in_the_last_level_cache_once() -> None:
    # 12 MiB fit in a cache of 32 MiB, on any number of cores.
    report = analyze(matmul("ikj", 1024, {"i": "parallel"}), DEVICE)
    assert report.dram_bytes.total is not None and report.dram_bytes.total < 1 << 20
    assert report.bound == "l3" and "cores work" not in report.bound_reason


def test_rows_of_a_stencil_stay_in_l1_while_they_fit() -> None:
    """The layer condition: three rows fit in L1, or each row is transferred three times."""

    def transfers_per_element(width: int) -> float:
        rows = (1 << 21) // width
        leaf = Store(
            "store",
            (Arith("add", FLOAT, 2),),
            (
                Access("A", "read", ("i", "j")),
                Access("A", "read", (("+", "i", 1), "j")),
                Access("A", "read", (("+", "i", 2), "j")),
                Access("B", "write", ("i", "j")),
            ),
        )
        arrays = {"A": (rows + 2, width), "B": (rows, width)}
        report = analyze(facts(arrays, [loop("i", rows), loop("j", width)], leaf), DEVICE)
        assert report.l2_bytes is not None
        return report.l2_bytes / (4 * rows * width)

    short, long = transfers_per_element(512), transfers_per_element(16384)
    # A once, and B twice: fetched and written back.
    assert short == pytest.approx(3, rel=0.1)
    assert long == pytest.approx(5, rel=0.1)


def test_library_functions_are_called_for_each_element() -> None:
    leaf = store({"A": ("i",)}, ("B", ("i",)), "exp")
    report = analyze(facts({"A": (8192,), "B": (8192,)}, [loop("i", 8192)], leaf), DEVICE)
    assert DEVICE.cpu is not None
    assert report.bound == "sfu" and "one element at a time" in report.bound_reason
    assert timed(report) == pytest.approx(8192 * DEVICE.cpu.call_clk / DEVICE.clock_hz, rel=0.1)


def test_a_power_of_two_stride_uses_few_sets() -> None:
    cache = CacheCapacity.of_cache(32768, 8)
    rows = [access_pattern([(stride, 256)], 4) for stride in (1024, 1088)]
    assert [row.lines for row in rows] == [256, 256]
    assert resident_fraction(cache.occupied_bytes(rows[0]), cache) < 0.1
    assert resident_fraction(cache.occupied_bytes(rows[1]), cache) > 0.9


def copied(rows: int, columns: int, order: str, transposed: str = "") -> KernelFacts:
    """A copy of rows of floats; the array `transposed` is accessed by columns."""
    indices: dict[str, tuple[Expr, ...]] = {"A": ("i", "j"), "B": ("i", "j")}
    shapes = {"A": (rows, columns), "B": (rows, columns)}
    if transposed:
        indices[transposed], shapes[transposed] = ("j", "i"), (columns, rows)
    leaf = store({"A": indices["A"]}, ("B", indices["B"]))
    extents = {"i": rows, "j": columns}
    return facts(shapes, [loop(name, extents[name]) for name in order], leaf)


@pytest.mark.parametrize(
    ("rows", "walks"), [(256, False), (512, False), (1024, True), (4096, True)]
)
def test_columns_of_more_pages_than_tlb_entries_need_page_walks(rows: int, walks: bool) -> None:
    """Two arrays with one page per row; the TLB has 1536 entries."""
    report = analyze(copied(rows, 1024 + 16, "ji"), DEVICE)
    assert (report.utilisation.get("tlb", 0.0) > 0.2) == walks


def test_contiguous_rows_expose_no_page_walks() -> None:
    report = analyze(copied(4096, 1024 + 16, "ij"), DEVICE)
    assert report.utilisation.get("tlb", 0.0) < 0.01


def test_a_scattered_store_costs_more_than_a_scattered_load() -> None:
    """A store fetches its line and writes it back."""
    loads, stores = (copied(600, 600, "ij", transposed=name) for name in "AB")
    assert timed(analyze(stores, DEVICE)) > 1.1 * timed(analyze(loads, DEVICE))


def test_short_rows_expose_the_latency_of_their_first_lines() -> None:
    """The same copy, in whole rows and in strips of 256 floats."""
    whole = copied(4096, 4096, "ij")
    indices = ("i", ("+", ("*", "s", 256), "j"))
    strips = facts(
        {"A": (4096, 4096), "B": (4096, 4096)},
        [loop("s", 16), loop("i", 4096), loop("j", 256)],
        store({"A": indices}, ("B", indices)),
    )
    assert timed(analyze(strips, DEVICE)) > 1.2 * timed(analyze(whole, DEVICE))


@given(
    st.lists(st.tuples(st.integers(1, 4), st.integers(1, 6)), min_size=1, max_size=4),
    st.integers(0, 3),
)
def test_pattern_lines_equal_enumerated_lines(steps: list[tuple[int, int]], sizes: int) -> None:
    """The strides of the digits do not overlap."""
    size = CACHE_LINE_BYTES * (sizes + 1)
    digits: list[tuple[int, int]] = []
    span = size
    for gap, count in steps:
        stride = span * gap
        digits.append((stride, count))
        span = stride * count
    offsets = [
        sum(index * stride for index, (stride, _) in zip(chosen, digits, strict=True))
        for chosen in itertools.product(*(range(count) for _, count in digits))
    ]
    lines = {
        line
        for offset in offsets
        for line in range(offset // CACHE_LINE_BYTES, (offset + size - 1) // CACHE_LINE_BYTES + 1)
    }
    assert access_pattern(digits, size).lines == len(lines)


def stencil(shape: tuple[int, ...], kind: LoopKind = "serial") -> KernelFacts:
    """A star of the neighbours along each dimension, stored at the middle."""
    names = "ijk"[: len(shape)]
    middle: tuple[Expr, ...] = tuple(("+", name, 1) for name in names)
    accesses: list[Access] = []
    for axis, name in enumerate(names):
        for distance in (0, 2):
            index = (*middle[:axis], ("+", name, distance), *middle[axis + 1 :])
            accesses.append(Access("A", "read", index, path=("add",)))
    accesses.append(Access("B", "write", middle))
    leaf = Store("store", (Arith("add", FLOAT),) * len(accesses), tuple(accesses))
    loops = [loop(name, size - 2) for name, size in zip(names, shape, strict=True)]
    loops[0] = replace(loops[0], kind=kind)
    return facts({"A": shape, "B": shape}, loops, leaf)


@pytest.mark.parametrize("device", ["x86-avx2", "x86-avx512", "arm-neoverse"])
@pytest.mark.parametrize(
    "shape, kind",
    [
        ((9000, 9000), "serial"),
        ((9000, 9000), "parallel"),
        ((30000, 3000), "serial"),
        ((2000, 200, 200), "serial"),
    ],
)
def test_a_stencil_whose_rows_stay_in_a_cache_moves_its_arrays(
    device: str, shape: tuple[int, ...], kind: LoopKind
) -> None:
    """Lines of A are read, those of B are read (write-allocate) and written back."""
    report = analyze(stencil(shape, kind), load(device))
    elements = math.prod(size - 2 for size in shape)
    read, written = report.dram_bytes.read, report.dram_bytes.write
    assert read == pytest.approx(2 * 4 * elements, rel=0.06)
    assert written == pytest.approx(4 * elements, rel=0.04)


@pytest.mark.parametrize("device", ["x86-avx2", "x86-avx512", "arm-neoverse"])
@pytest.mark.parametrize("kind", ["serial", "parallel"])
def test_no_loop_moves_more_than_dram_can(device: str, kind: LoopKind) -> None:
    leaf = store({"A": ("i", "j")}, ("B", ("i", "j")), "add")
    loops = [loop("i", 16384, kind), loop("j", 16384, "vectorized")]
    report = analyze(facts(dict.fromkeys("AB", (16384, 16384)), loops, leaf), load(device))
    assert report.dram_bytes.total is not None and report.dram_fraction is not None
    least_s = report.dram_bytes.total / load(device).dram.bytes_per_s
    assert timed(report) >= least_s and report.dram_fraction <= 1


def gathered(elements: int, table: int, width: int = 1) -> ReadWrite:
    """DRAM bytes of a loop that copies rows of `width` elements from places that data select."""
    shapes = {"I": (elements,), "A": (table, width), "B": (elements, width)}
    leaf = store({"A": (("load", "I", "i"), "j"), "I": ("i",)}, ("B", ("i", "j")))
    return analyze(facts(shapes, [loop("i", elements), loop("j", width)], leaf), DEVICE).dram_bytes


@pytest.mark.parametrize("times", [16, 64, 256])
def test_a_gather_moves_a_line_for_each_element(times: int) -> None:
    elements = 1 << 22
    lines = elements * times * 4 // CACHE_LINE_BYTES
    distinct = lines * -math.expm1(-elements / lines)
    others = 2 * 4 * elements
    found = gathered(elements, elements * times)
    assert found.read is not None
    assert distinct * CACHE_LINE_BYTES * 0.98 < found.read - others
    assert found.read - others < elements * CACHE_LINE_BYTES * 1.001


def test_a_gather_from_a_table_in_a_cache_moves_the_other_arrays() -> None:
    elements = 1 << 26
    found = gathered(elements, 1024)
    assert found.read == pytest.approx(2 * 4 * elements, rel=0.01)
    assert found.write == pytest.approx(4 * elements, rel=0.01)


def test_a_gather_of_rows_moves_the_rows() -> None:
    rows, width = 1 << 19, 256
    found = gathered(rows, rows * 16, width)
    assert found.read == pytest.approx(rows * width * 4 * 2, rel=0.05)
