"""Clocks and cache lines of CPU kernels by hand, from the rates of a core with AVX2.

Of `x86-avx2`: a vector of eight floats is loaded in 0.4 clocks and stored in 0.6, which do not
overlap; a single element takes 0.8 and 1.5 times as long, and its loads and stores overlap.  A
multiply-add takes 0.5 clocks, and its result 4.  Four instructions issue in a clock.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from support.kernels import workload
from tirlens.hardware import load
from tirlens.hardware.spec import Device
from tirlens.model.cpu.compiler import CompiledKernel, compile_loops
from tirlens.model.cpu.compiler.vector_width import VectorWidth, epilogue_iterations, width_of
from tirlens.model.cpu.in_core import time_core
from tirlens.model.cpu.memory import time_transfers
from tirlens.model.cpu.memory.footprints import access_pattern
from tirlens_worker.facts import Branch, Expr, KernelFacts, LoopKind

from .test_cpu import DEVICE, facts, loop, store
from .test_cpu_accesses import product

AVX512 = load("x86-avx512")
"""Vectors of 32 bytes in loops, registers of 64."""


def compiled(made: KernelFacts, device: Device = DEVICE) -> CompiledKernel:
    counted = workload(made)
    return compile_loops(counted.tree, counted.buffers, counted.shapes, device)


def stream(
    *ops: str, length: int = 1024, dtype: str = "float32", step: int = 1, shift: int = 0
) -> KernelFacts:
    """``C[i + shift] = A[i * step]`` after some operations; a negative step reads backwards."""
    index: Expr = ("*", "i", step) if step > 0 else ("-", length - 1, "i")
    target: Expr = ("+", "i", shift) if shift else "i"
    leaf = store({"A": (index,)}, ("C", (target,)), *ops)
    leaf = replace(leaf, arith=tuple(replace(one, dtype=dtype) for one in leaf.arith))
    made = facts({"A": (length * abs(step),), "C": (length + shift,)}, [loop("i", length)], leaf)
    return replace(made, buffers=tuple(replace(one, dtype=dtype) for one in made.buffers))


def row_sums() -> KernelFacts:
    """Four times the sums of eight rows of 60 elements, too many to unroll."""
    leaf = store({"A": ("a", "i", "k"), "C": ("i",)}, ("C", ("i",)), "add")
    loops = [loop("a", 4), loop("i", 8), loop("k", 60)]
    return facts({"A": (4, 8, 60), "C": (8,)}, loops, leaf)


def guarded_sums() -> KernelFacts:
    """``C[i] += A[i] * B[i, k]`` for the first 60 of 64 values of k."""
    leaf = store({"A": ("i",), "B": ("i", "k"), "C": ("i",)}, ("C", ("i",)), "mul", "add")
    made = facts({"A": (16,), "B": (16, 64), "C": (16,)}, [], leaf)
    steps = replace(loop("k", 64), body=(Branch(("<", "k", 60), (leaf,)),))
    return replace(made, body=(replace(loop("i", 16), body=(steps,)),))


def in_place(step: int) -> KernelFacts:
    """``A[i * step] *= 2``."""
    leaf = store({"A": (("*", "i", step),)}, ("A", (("*", "i", step),)), "mul")
    return facts({"A": (1024 * step,)}, [loop("i", 1024)], leaf)


def pairs() -> KernelFacts:
    """Two rows of 1024 floats, interleaved."""
    leaf = store({"A": ("f", "i")}, ("C", ("i", "f")))
    return facts({"A": (2, 1024), "C": (1024, 2)}, [loop("i", 1024), loop("f", 2, "unroll")], leaf)


def cycle() -> KernelFacts:
    """``T[i] = A[i] + 1``, and then ``A[i + 1] = T[i] * 2``."""
    first = store({"A": ("i",)}, ("T", ("i",)), "add")
    second = store({"T": ("i",)}, ("A", (("+", "i", 1),)), "mul")
    made = facts({"A": (1025,), "T": (1024,)}, [], first)
    return replace(made, body=(replace(loop("i", 1024), body=(first, second)),))


@pytest.mark.parametrize(
    ("made", "clocks"),
    [
        # 128 vectors: 128 loads, stores and products.
        (stream("mul"), {"arithmetic": 64, "load_store": 51.2 + 76.8, "instructions": 384}),
        # ``expf`` is called for each element, in nine clocks; a division takes five, a reciprocal
        # root 2.2 of them, and a product of integers two instructions of a third of a clock.
        (stream("exp"), {"call": 1024 * 9, "arithmetic": 0, "instructions": 256}),
        (stream("sin"), {"call": 1024 * 9 * 1.5, "instructions": 256}),
        (stream("div"), {"arithmetic": 128 * 5, "instructions": 384}),
        (stream("rsqrt"), {"arithmetic": 128 * 5 * 2.2, "instructions": 256 + 2.2 * 128}),
        (stream("mul", dtype="int32"), {"arithmetic": 256 * 0.3333, "instructions": 512}),
        (stream("div", dtype="int32"), {"arithmetic": 384 * 0.3333, "instructions": 640}),
        # Eighty dependent additions: 112 of them wait at a time, so that they take 4 / 112 of their
        # number each, which is longer than half a clock.
        (stream(*["add"] * 80), {"arithmetic": 128 * 80 * 80 * 4 / 112}),
        # Every second element: a shuffle of two vectors, of which only one is loaded at the end of
        # the array, so that eight iterations remain single.  Every fifth: gathers of nine clocks.
        (stream(step=2), {"load_store": 128 * 1.0 + 76.8, "entry": 1 + 8 * 0.6 * 1.5}),
        (stream(step=5), {"load_store": 128 * 9 + 76.8, "entry": 1}),
        # What was scattered is gathered from the cache, 2.5 clocks later for each element.
        (in_place(5), {"load_store": 128 * (9 + 8 * 2.5 + 10)}),
        # Two vectors are shuffled to pairs before they are stored, in one round.
        (pairs(), {"load_store": 256 * 0.4 + 256 * (1.0 + 0.6)}),
        # Both statements of an iteration follow each other, and the next one follows them.
        (cycle(), {"chain": 1024 * (4 + 4)}),
        # Sixteen elements of two bytes, which no gather takes, are moved one by one.
        (stream(step=5, dtype="float16"), {"load_store": 1024 * 1.5 + 64 * 0.6}),
        # One shuffle reverses a vector.
        (stream(step=-1), {"load_store": 128 * 1.4 + 76.8}),
        # A shifted vector of 32 bytes crosses a line of 64 in 28 of its 64 possible bytes.
        (stream(shift=1), {"load_store": 51.2 + 76.8 * (1 + 28 / 64)}),
        # Three of 1027 iterations are single, and eight of 1032 are half a vector of halves.
        (stream("mul", length=1027), {"entry": 1 + 3 * 0.6 * 1.5}),
        (stream("mul", length=1032, dtype="float16"), {"entry": 1 + 0.4 + 0.6}),
        # Rows of C that follow each other wait for the vectors that the last one stored: 5 clocks
        # to forward them, and 4 of the multiply-add, for each of 512 rows.
        (
            product("ikj", {"i": 16, "j": 64, "k": 32}),
            {
                "load_store": (512 + 4096 + 4096) * 0.4 + 4096 * 0.6,
                "arithmetic": 4096 * 0.5,
                "instructions": 512 + 4 * 4096,
                "chain": 512 * (5 + 4),
                "entry": 512,
            },
        ),
        # The reorder buffer of 224 instructions holds sums of 60 steps with three instructions, one
        # after the other: so much of the next sum overlaps, which is another one.
        (row_sums(), {"chain": 4 * 8 * 60 * 4 / (224 / 180)}),
        # A condition makes no gather of a scalar loop's load: 60 of 64 steps of 16 sums.
        (guarded_sums(), {"load_store": 960 * 0.6 * 1.5}),
        # A float sum over k is a chain of 32,768 multiply-adds; 512 loops are entered.
        (
            product("ijk", {"i": 16, "j": 32, "k": 64}),
            {
                "load_store": 32768 * 0.6 * 1.5,
                "arithmetic": 32768 * 0.5,
                "instructions": 4 * 32768,
                "chain": 32768 * 4,
                "entry": 512 * 4,
            },
        ),
    ],
)
def test_clocks_of_a_core(made: KernelFacts, clocks: dict[str, float]) -> None:
    (nest,) = compiled(made).nests
    found: Any = time_core(nest, DEVICE, 1.0)
    of_kernel = {
        name: getattr(found, name if name == "instructions" else f"{name}_clk") for name in clocks
    }
    assert of_kernel == pytest.approx(clocks)
    assert found.issue_clk == pytest.approx(found.instructions / 4)
    half: Any = time_core(nest, DEVICE, 0.5)
    assert half.instructions == pytest.approx(found.instructions / 2)
    assert half.throughput_clk == pytest.approx(found.throughput_clk / 2)


def gathered(lanes: int) -> KernelFacts:
    """Explicit vectors of elements that data select."""
    leaf = store({"A": (("load", "I", "i", "v"),)}, ("B", ("i", "v")))
    arrays = {"I": (99, lanes), "A": (1 << 20,), "B": (99, lanes)}
    return facts(arrays, [loop("i", 99), loop("v", lanes, "vectorized")], leaf)


def test_the_widest_registers_take_two_gathers_and_two_divisions() -> None:
    """Of sixteen floats, where loops are vectorized with eight."""
    assert AVX512.cpu is not None
    core = AVX512.cpu
    found = [
        time_core(nest, AVX512, 1.0)
        for made in (gathered(16), explicit(16, "div"))
        for nest in compiled(made, AVX512).nests
    ]
    sharing = core.load_store_sharing * core.wide_store_clk
    assert found[0].load_store_clk == pytest.approx(99 * (2 * core.gather_clk + sharing))
    assert found[1].arithmetic_clk == pytest.approx(99 * 2 * core.divide_clk)


def constants(columns: int, gap: int = 0, rows: int = 1) -> KernelFacts:
    """Rows that are set to a constant, with a gap after each element."""
    leaf = store({}, ("B", ("i", "f", ("*", "j", gap + 1))))
    loops = [loop("i", 4096), loop("f", rows, "unroll"), loop("j", columns, "unroll")]
    return facts({"B": (4096, rows, columns * (gap + 1))}, loops, leaf)


def single_column() -> KernelFacts:
    return facts({"B": (4096, 16)}, [loop("i", 4096)], store({}, ("B", ("i", 0))))


def explicit(lanes: int, *ops: str) -> KernelFacts:
    leaf = store({"A": ("i", "v")}, ("B", ("i", "v")), *(ops or ("add",)))
    return facts(
        {"A": (99, lanes), "B": (99, lanes)}, [loop("i", 99), loop("v", lanes, "vectorized")], leaf
    )


@pytest.mark.parametrize(
    ("made", "device", "width"),
    [
        (stream(), DEVICE, VectorWidth(8, 1, "vector")),
        (stream(), AVX512, VectorWidth(8, 1, "vector")),
        (stream(dtype="float16"), DEVICE, VectorWidth(16, 1, "vector")),
        # A sum over k of floats is not vectorized.
        (product("ijk", {"i": 16, "j": 32, "k": 64}), DEVICE, VectorWidth(1, 1, "narrow")),
        # Half a vector or less is narrow; two registers of AVX2, or one of AVX-512.
        (explicit(2), DEVICE, VectorWidth(2, 1, "narrow")),
        (explicit(4), DEVICE, VectorWidth(4, 1, "narrow")),
        (explicit(5), DEVICE, VectorWidth(5, 1, "vector")),
        (explicit(8), DEVICE, VectorWidth(8, 1, "vector")),
        (explicit(9), DEVICE, VectorWidth(9, 2, "vector")),
        (explicit(16), DEVICE, VectorWidth(16, 2, "vector")),
        (explicit(8), AVX512, VectorWidth(8, 1, "vector")),
        (explicit(16), AVX512, VectorWidth(16, 1, "wide")),
        (explicit(24), AVX512, VectorWidth(24, 2, "wide")),
        # Of twelve constants in a row the first eight are a vector; those with gaps are none.
        (constants(12), DEVICE, VectorWidth(8, 1, "vector")),
        (constants(12, gap=1), DEVICE, VectorWidth(1, 1, "narrow")),
        (constants(4, 0, 3), DEVICE, VectorWidth(4, 1, "narrow")),
        (single_column(), DEVICE, VectorWidth(1, 1, "narrow")),
    ],
)
def test_widths(made: KernelFacts, device: Device, width: VectorWidth) -> None:
    (nest,) = compiled(made, device).nests
    (statement,) = nest.statements
    assert width_of(statement, nest, device) == width


@pytest.mark.parametrize(
    ("digits", "run_bytes", "copies"),
    [
        ([(4, 100)], 400, ()),
        # A gap of less than a line touches every line; elements further apart do not.
        ([(64, 10)], 4 + 64 * 9, ()),
        ([(67, 10)], 4 + 67 * 9, ()),
        ([(68, 10)], 4, ((68, 10),)),
        # Rows of 256 bytes at 4096, in both directions, and a digit with one value.
        ([(-4096, 8), (4, 64), (1 << 20, 1)], 256, ((4096, 8),)),
        # Two digits of one stride, as ``i + j``, have 8 + 4 - 1 values.
        ([(4096, 8), (4096, 4), (4, 64)], 256, ((4096, 11),)),
        ([(4096, 8), (1 << 20, 4), (0, 9)], 4, ((4096, 8), (1 << 20, 4))),
    ],
)
def test_patterns(
    digits: list[tuple[int, int]], run_bytes: int, copies: tuple[tuple[int, int], ...]
) -> None:
    found = access_pattern(digits, 4)
    assert (found.run_bytes, found.copies) == (run_bytes, copies)
    lines = max(run_bytes / 64, 1)
    for _, count in copies:
        lines *= count
    assert found.lines == pytest.approx(lines)


@pytest.mark.parametrize(
    ("offset", "is_covered"),
    [
        (0, True),
        (255, True),
        (256, False),  # as long as the run
        (4096 * 7 + 255, True),
        (4096 * 8, False),  # the ninth row
        ((1 << 20) * 3 + 4096 * 7, True),
        (-(1 << 20) * 3 - 4096 * 2, True),
        ((1 << 20) * 4, False),
    ],
)
def test_an_offset_is_covered_by_rows_of_rows(offset: int, is_covered: bool) -> None:
    pattern = access_pattern([(4, 64), (4096, 8), (1 << 20, 4)], 4)
    assert pattern.covers(offset) == is_covered


def rows(count: int, columns: int, kind: LoopKind = "serial") -> KernelFacts:
    leaf = store({"A": ("i", "j")}, ("B", ("i", "j")))
    shape = (count, columns)
    return facts({"A": shape, "B": shape}, [loop("i", count, kind), loop("j", columns)], leaf)


def strips(count: int, columns: int) -> KernelFacts:
    """Strips of 256 floats of rows."""
    index: tuple[Expr, ...] = ("i", ("+", ("*", "s", 256), "j"))
    loops = [loop("s", columns // 256), loop("i", count), loop("j", 256)]
    return facts(
        {"A": (count, columns), "B": (count, columns)}, loops, store({"A": index}, ("B", index))
    )


def transposed(count: int, columns: int) -> KernelFacts:
    leaf = store({"A": ("i", "j")}, ("B", ("j", "i")))
    arrays = {"A": (count, columns), "B": (columns, count)}
    return facts(arrays, [loop("i", count), loop("j", columns)], leaf)


STREAMED = (1 << 26) // 16
STRIPS = 1 << 22
ROWS, COLUMNS = 4112, 1 << 16


@pytest.mark.parametrize(
    ("made", "cores", "clocks", "lines", "written"),
    [
        # Arrays of 4 KiB, 64 KiB, 4 MiB and 256 MiB, beside an L1 of 32 KiB, an L2 of 512 KiB and
        # an L3 of 32 MiB: 2.2, 5 and 11.2 clocks of each line of both arrays.
        (stream(), 1, {}, {}, {}),
        (stream(length=1 << 14), 1, {"l2": 2048 * 2.2}, {"l2": 2048}, {"l2": 1024}),
        (stream(length=1 << 20), 1, {"l3": 131072 * 5.0}, {"l3": 131072}, {"l3": 65536}),
        (
            stream(length=1 << 26),
            1,
            {"dram": 2 * STREAMED * 11.2},
            {"dram": 2 * STREAMED},
            {"dram": STREAMED},
        ),
        # Sixteen cores share 51.2 GB/s: 64 bytes, read or written, take 4.375 clocks.
        (
            rows(1024, 1 << 16, "parallel"),
            16,
            {"dram": 3 * STREAMED * 4.375},
            {"dram": 2 * STREAMED / 16},
            {"dram": STREAMED / 16},
        ),
        # Of a run of 16 lines the first two are not prefetched.  224 instructions do not reach the
        # next row, so that six latencies of 28 clocks are exposed, and two lines are written back
        # besides.  Of the four pages of a row three in four are no next page of the last.
        (
            strips(1 << 14, 1 << 12),
            1,
            {
                "dram": STRIPS * (2 * (14 * 11.2 + 6 * 28) + 2 * 11.2) / 16,
                "tlb": 2 * (1 << 18) * 0.75 * 15,
            },
            {"dram": 2 * STRIPS},
            {"dram": STRIPS},
        ),
        # A column of B is 65,536 lines, 4 MiB, which only L3 keeps for the next column.  Each is
        # scattered: 9 clocks from L3 or 28 from DRAM, and 5 or 11.2 to write it back, and a page.
        (
            transposed(ROWS, COLUMNS),
            1,
            {
                "l3": ROWS * COLUMNS * 15 / 16 * (9 + 5),
                "dram": ROWS * COLUMNS / 16 * (11.2 + 28 + 11.2),
                "tlb": ROWS * COLUMNS * 15,
            },
            {"l3": ROWS * COLUMNS * 15 / 16, "dram": 2 * ROWS * COLUMNS / 16},
            {"l3": ROWS * COLUMNS * 15 / 16, "dram": ROWS * COLUMNS / 16},
        ),
    ],
)
def test_lines_of_each_level(
    made: KernelFacts,
    cores: int,
    clocks: dict[str, float],
    lines: dict[str, float],
    written: dict[str, float],
) -> None:
    (found,) = time_transfers(compiled(made), [1.0], DEVICE, cores)

    def expected(values: dict[str, float], *names: str) -> Any:
        # Of footprints far from a cache's size a small part hits or misses.
        total = sum(values.values())
        return pytest.approx({name: values.get(name, 0.0) for name in names}, 2e-3, 2e-3 * total)

    levels = ("l2", "l3", "dram")
    assert dict(found.level_clk) == expected(clocks, *levels, "tlb")
    assert dict(found.level_lines) == expected(lines, *levels)
    assert dict(found.level_written_lines) == expected(written, *levels)
    assert found.clk == pytest.approx(sum(clocks.values()), rel=2e-3)
    assert found.lines == pytest.approx(sum(lines.values()), rel=2e-3)


@pytest.mark.parametrize(
    ("length", "step", "dtype", "left"),
    [
        # After vectors of eight floats single iterations remain; after sixteen halves a vector of
        # eight and single ones.
        (1024, 1, "float32", (0, 0)),
        (1027, 1, "float32", (0, 3)),
        (1024, 1, "float16", (0, 0)),
        (1027, 1, "float16", (0, 3)),
        (1032, 1, "float16", (1, 0)),
        (1035, 1, "float16", (1, 3)),
        # Every second element: the last vector would read past the end.
        (1024, 2, "float32", (0, 8)),
        (1027, 2, "float32", (0, 3)),
        (1024, 2, "float16", (1, 8)),
        (1032, 2, "float16", (0, 8)),
        (1035, 2, "float16", (1, 3)),
    ],
)
def test_iterations_behind_the_last_vector(
    length: int, step: int, dtype: str, left: tuple[int, int]
) -> None:
    (nest,) = compiled(stream(length=length, step=step, dtype=dtype)).nests
    lanes = 16 if dtype == "float16" else 8
    assert epilogue_iterations(nest, lanes) == left
