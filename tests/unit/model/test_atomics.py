"""Atomic updates: their contention in L2 and in shared memory, and what is no instruction."""

from __future__ import annotations

from itertools import pairwise

import pytest

from support.kernels import instructions, launched, leaves, modelled
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.compiler.atomic_forms import atomic_form
from tirlens.model.gpu.memory.atomic_contention import (
    ATOMIC_PASS_CLOCKS,
    expected_largest_load,
    shared_wavefronts,
    update_clocks,
)
from tirlens.model.gpu.memory.latency import memory_state
from tirlens_worker.facts import Access, Arith, Atomic, Buffer, Expr, KernelFacts, Span

H100, A100 = load("h100-sxm"), load("a100-80-sxm")
THREAD: Expr = ("+", ("*", "bx", 256), "tx")


def update(
    index: Expr,
    dtype: str = "float32",
    elements: int = 1 << 20,
    *,
    scope: str = "global",
    blocks: int = 65536,
    operation: str = "add",
    is_constant: bool = False,
) -> KernelFacts:
    """One update of an array by each thread, with a value that it loads unless `is_constant`."""
    value = Access("x", "read", (THREAD,))
    statement = Atomic(
        "T.atomic_add(s)",
        (Arith(operation, dtype),),
        (*(() if is_constant else (value,)), Access("s", "atomic", (index,))),
        sites=(Span(3, 0, 3, 10),),
    )
    buffers = (
        Buffer("x", "x", dtype, (blocks * 256,), is_parameter=True),
        Buffer("s", "s", dtype, (elements,), scope, is_parameter=scope == "global"),
        Buffer("keys", "keys", "int32", (blocks * 256,), is_parameter=True),
    )
    return launched((statement,), buffers, blocks=blocks, threads=256)


def time_s(kernel: KernelFacts, device: str = "h100-sxm") -> float:
    found = analyze(kernel, load(device)).time_s
    assert found is not None
    return found


def test_one_address_is_updated_one_after_the_other() -> None:
    alone, spread = update(0, elements=1), update(("%", THREAD, 1 << 20))
    # 2^24 updates, about one a clock.
    assert 6e-3 < time_s(alone) < 15e-3
    assert time_s(spread) < 100e-6
    report = analyze(alone, H100)
    assert report.bound == "atomics" and report.bound_class == "memory"
    assert report.flop == 1 << 24


@pytest.mark.parametrize(
    ("words", "apart", "measured_s"),
    [
        # 148 blocks of 128 threads add 1000 times to s[tx % words * apart] on a B300 at 1.8 GHz.
        (2, 1, 6.50e-3),
        (2, 2, 6.50e-3),
        (4, 8, 12.47e-3),
    ],
)
def test_passes_of_slices_are_those_of_a_measurement(
    words: int, apart: int, measured_s: float
) -> None:
    kernel = update(("*", ("%", "tx", words), apart), "int32", words * apart, blocks=148)
    demand = next(iter(modelled(kernel, H100).context.moved.atomics))
    of_128_threads = demand.line_passes / 2 * 1000
    assert of_128_threads * ATOMIC_PASS_CLOCKS / 1.8e9 == pytest.approx(measured_s, rel=0.05)


@pytest.mark.parametrize(
    ("elements", "dtype", "passes"),
    [
        # 32 lanes at one word: 32 passes, and with a loop of compare-and-swap 32 + 31 + ... + 1.
        (1, "float32", 32.0),
        (1, "bfloat16", 528.0),
        # Eight words of a sector: the fullest has 4 + (2 * 4 * ln 8) ** 0.5 lanes, about 8.08.
        (8, "float32", 8.08),
        (16, "bfloat16", 8.08 * 9.08 / 2),
        # 2^17 sectors, each with one of the lanes.
        (1 << 20, "float32", 32.0),
        (1 << 21, "bfloat16", 32.0),
    ],
)
def test_passes_of_updates_at_random_addresses(elements: int, dtype: str, passes: float) -> None:
    kernel = update(("load", "keys", THREAD), dtype, elements, blocks=4)
    demand = next(iter(modelled(kernel, A100).context.moved.atomics))
    assert demand.is_expected
    assert demand.passes == pytest.approx(4 * 8 * passes, rel=1e-3)
    sectors = max(elements * (2 if dtype == "bfloat16" else 4) / 128, 1)
    assert demand.line_passes == pytest.approx(demand.passes / sectors, rel=1e-3)


def test_more_addresses_never_take_longer() -> None:
    times = [time_s(update(("%", THREAD, n), elements=n)) for n in (1, 32, 1024, 32768, 1 << 20)]
    assert all(more < 1.02 * less for less, more in pairwise(times))
    # Counters of their own lines are in different slices, those of one line in one.
    padded = time_s(update(("*", ("%", "bx", 32), 32), elements=1024))
    assert padded < 0.1 * time_s(update(("%", "bx", 32), elements=32))


@pytest.mark.parametrize(
    ("index", "dtype", "is_constant", "form"),
    [
        (0, "float32", False, "instruction"),
        (0, "int32", False, "combined"),
        (("%", "bx", 7), "uint32", False, "combined"),
        (("//", "tx", 32), "int32", False, "instruction"),
        (("load", "keys", THREAD), "int32", False, "instruction"),
        (0, "int64", False, "instruction"),
        (0, "int64", True, "combined"),
        (0, "float64", False, "instruction"),
        (0, "bfloat16", False, "loop"),
        (0, "float16", False, "instruction"),
        (0, "int8", False, "loop"),
    ],
)
def test_form_of_an_update(index: Expr, dtype: str, is_constant: bool, form: str) -> None:
    (leaf,) = leaves(update(index, dtype, is_constant=is_constant))
    access = leaf.source.accesses[-1]
    assert atomic_form(leaf, access, dtype, "global", "sm_80") == form
    if form == "combined":
        lanes = update("tx", dtype, is_constant=is_constant)
        assert time_s(update(index, dtype, is_constant=is_constant)) < 3 * time_s(lanes)


@pytest.mark.parametrize(
    ("dtype", "last_without", "first_with"),
    [("bfloat16", "sm_80", "sm_90"), ("float16", "sm_61", "sm_70"), ("float64", "sm_52", "sm_60")],
)
def test_types_without_an_instruction_are_loops(
    dtype: str, last_without: str, first_with: str
) -> None:
    (leaf,) = leaves(update(THREAD, dtype, 1 << 24))
    access = leaf.source.accesses[-1]
    assert atomic_form(leaf, access, dtype, "global", last_without) == "loop"
    assert atomic_form(leaf, access, dtype, "global", first_with) == "instruction"
    # In shared memory every sum of floats is one.
    assert atomic_form(leaf, access, dtype, "shared", "sm_90") == "loop"


def test_a_loop_of_compare_and_swap_takes_longer_and_says_so() -> None:
    looped, single = update(THREAD, "bfloat16", 1 << 24), update(THREAD, "float32", 1 << 24)
    assert time_s(looped, "a100-80-sxm") > 1.2 * time_s(single, "a100-80-sxm")
    assert time_s(looped) < time_s(single)
    (note,) = [one for one in analyze(looped, A100).caveats if "compare-and-swap" in one.message]
    assert "float32" in note.message and note.span == Span(3, 0, 3, 10)
    assert not any("compare-and-swap" in one.message for one in analyze(looped, H100).caveats)


def test_addresses_of_data_are_expected_and_marked() -> None:
    of_data = update(("load", "keys", THREAD), elements=1 << 20)
    assert time_s(of_data) < 1.5e-3
    few = update(("load", "keys", THREAD), elements=16)
    assert time_s(few) > 5 * time_s(of_data)
    report = analyze(of_data, H100)
    (note,) = [one for one in report.caveats if "depend on data" in one.message]
    assert "0.01 s" in note.message and note.span is not None
    # A row that data gives to a whole block is known within.
    row: Expr = ("+", ("*", ("load", "keys", "bx"), 256), "tx")
    assert not any("depend on data" in one.message for one in analyze(update(row), H100).caveats)


@pytest.mark.parametrize(
    ("index", "dtype", "is_constant", "wavefronts"),
    [
        ("tx", "int32", False, 1),
        (("*", "tx", 8), "int32", False, 8),
        (("%", "tx", 4), "int32", False, 8),
        # ATOMS.POPC.INC counts the lanes of each word.
        (("%", "tx", 4), "int32", True, 1),
        (0, "int32", False, 1),
        (("%", "tx", 4), "float32", False, 8 * 9),
    ],
)
def test_wavefronts_in_shared_memory(
    index: Expr, dtype: str, is_constant: bool, wavefronts: float
) -> None:
    kernel = update(index, dtype, 2048, scope="shared", is_constant=is_constant)
    (leaf,) = leaves(kernel)
    number = len(leaf.count.accesses) - 1
    (row,) = instructions(kernel)
    assert shared_wavefronts(leaf, number, row.mapping, "sm_90") == wavefronts


def test_sums_of_floats_in_shared_memory_wait_for_the_other_threads() -> None:
    def clocks(elements: int) -> float:
        kernel = update(("%", "tx", elements), scope="shared", elements=elements)
        (leaf,), (row,) = leaves(kernel), instructions(kernel)
        return update_clocks(leaf, row.mapping, H100, memory_state(H100, ()))

    assert clocks(1) == pytest.approx(256 * clocks(256))


@pytest.mark.parametrize(
    ("balls", "bins", "expected"), [(32, 1, 32), (1, 8, 1), (32, 32, 3.53), (256, 8, 41.8)]
)
def test_largest_load(balls: float, bins: float, expected: float) -> None:
    # Means of simulations.
    assert expected_largest_load(balls, bins) == pytest.approx(expected, rel=0.1)
