"""Dependency chains, entries of parallel loops, and common subexpressions."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tirlens.model import analyze
from tirlens.model.cpu.in_core.dependency_chains import Dependence, recurrence_clk
from tirlens_worker.facts import Access, Arith, Expr, KernelFacts, Loop, Store

from .test_cpu import DEVICE, FLOAT, facts, loop, store, timed

LENGTH = 1000
assert DEVICE.cpu is not None
CORE = DEVICE.cpu
STEP_S = CORE.latency_clk / DEVICE.clock_hz


def recurrence(distance: int, *path: str, dtype: str = FLOAT) -> KernelFacts:
    """An array whose elements depend on the one `distance` elements earlier."""
    return rows_of(step(distance, *path, dtype=dtype), distance, dtype)


def step(distance: int, *path: str, dtype: str = FLOAT) -> Store:
    target: Expr = ("+", "j", distance)
    accesses = (Access("A", "read", ("i", "j"), path=path), Access("A", "write", ("i", target)))
    return Store("store", tuple(Arith(op, dtype) for op in path), accesses)


def rows_of(leaf: Store, distance: int = 1, dtype: str = FLOAT) -> KernelFacts:
    """A statement for each element of the 300 rows of an array."""
    loops = [loop("i", 300), loop("j", LENGTH)]
    made = facts({"A": (300, LENGTH + distance)}, loops, leaf)
    return replace(made, buffers=tuple(replace(one, dtype=dtype) for one in made.buffers))


@pytest.mark.parametrize(
    ("path", "latencies"),
    [(("fma",), 1), (("add", "mul"), 2), (("add", "add", "add", "mul"), 4), (("fma", "div"), 3.75)],
)
def test_a_recurrence_takes_the_latencies_on_its_path(
    path: tuple[str, ...], latencies: float
) -> None:
    found = timed(analyze(recurrence(1, *path), DEVICE))
    assert found == pytest.approx(300 * LENGTH * latencies * STEP_S, rel=0.1)


@pytest.mark.parametrize("paths", [(("add",), ("add", "mul")), (("add", "mul"), ("add",))])
def test_of_two_uses_of_an_element_the_longer_path_counts(
    paths: tuple[tuple[str, ...], ...],
) -> None:
    once = step(1, "add", "mul")
    reads = tuple(replace(once.accesses[0], path=path) for path in paths)
    twice = rows_of(replace(once, accesses=(*reads, once.accesses[1])))
    found = timed(analyze(twice, DEVICE))
    assert found == pytest.approx(300 * LENGTH * 2 * STEP_S, rel=0.1)


def test_a_longer_dependence_distance_overlaps_iterations() -> None:
    near, far = (timed(analyze(recurrence(d, "add", "add", "add"), DEVICE)) for d in (1, 4))
    assert near > 2 * far


def added_twice(other: str) -> KernelFacts:
    """Two statements of a loop that add to one sum, or to two."""
    made = facts(
        {"A": (LENGTH,), "B": (LENGTH,), "C": (1,), "D": (1,)},
        [loop("i", LENGTH)],
        store({"C": (0,), "A": ("i",)}, ("C", (0,)), "add"),
    )
    (outer,) = made.body
    assert isinstance(outer, Loop)
    second = store({other: (0,), "B": ("i",)}, (other, (0,)), "add")
    own = tuple(replace(b, is_parameter=b.name in "AB") for b in made.buffers)
    return replace(made, buffers=own, body=(replace(outer, body=(*outer.body, second)),))


def test_statements_that_add_to_one_sum_form_one_chain() -> None:
    one, two = (timed(analyze(added_twice(name), DEVICE)) for name in "CD")
    assert one == pytest.approx(2 * two, rel=0.1)


@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=4),
    st.lists(st.integers(1, 9), max_size=3),
    st.integers(1, 3),
)
def test_the_slowest_cycle_sets_the_time(
    cycle: list[int], others: list[int], distance: int
) -> None:
    """A cycle through statements in program order, over `distance` iterations."""
    ring = [Dependence(n, n + 1, 0, float(clk)) for n, clk in enumerate(cycle[:-1])]
    ring.append(Dependence(len(cycle) - 1, 0, distance, float(cycle[-1])))
    alone = [Dependence(10 + n, 10 + n, 1, float(clk)) for n, clk in enumerate(others)]
    slowest = max([sum(cycle) / distance, *map(float, others)])
    assert recurrence_clk([*ring, *alone]) == pytest.approx(slowest, rel=0.05)


def test_dependences_without_a_cycle_are_no_recurrence() -> None:
    assert recurrence_clk([]) == 0
    assert recurrence_clk([Dependence(n, n + 1, 0, 4.0) for n in range(5)]) == 0


@pytest.mark.parametrize("outer", [1, 50])
def test_each_entry_of_a_parallel_loop_wakes_the_other_cores(outer: int) -> None:
    leaf = store({"A": ("i",)}, ("B", ("i",)), "add")
    loops = [loop("s", outer), loop("i", 64, "parallel")]
    found = timed(analyze(facts({"A": (64,), "B": (64,)}, loops, leaf), DEVICE))
    assert outer * DEVICE.launch_s < found < outer * DEVICE.launch_s * 1.5


def test_common_subexpressions_are_computed_once() -> None:
    def powers(count: int, again: int) -> KernelFacts:
        leaf = store({"A": ("i",)}, ("B", ("i",)))
        arith = (Arith("mul", FLOAT, count, again=again),)
        return facts({"A": (512,), "B": (512,)}, [loop("i", 512)], replace(leaf, arith=arith))

    written, known, fewer = (
        analyze(powers(count, again), DEVICE) for count, again in ((40, 0), (40, 30), (10, 0))
    )
    assert timed(known) == timed(fewer) < timed(written)
    assert written.flop == known.flop == 512 * 40


def test_a_chain_of_integers_has_integer_latencies() -> None:
    """The latency of an integer addition is one clock."""
    floats, whole = (
        timed(analyze(recurrence(1, "add", "add", dtype=dtype), DEVICE))
        for dtype in (FLOAT, "int32")
    )
    assert floats > 2 * whole
