"""Threads of a warp that do different things: a warp issues while any of its lanes needs it."""

from __future__ import annotations

from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.kernels import instructions, launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.mapping.active_threads import find_activity, fullest_warp
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_counting.expressions import evaluate
from tirlens_worker.facts import Access, Arith, Branch, Buffer, Expr, KernelFacts, Loop, Node, Store

BUFFERS = (
    Buffer("v", "v", "float32", (1,), "local"),
    Buffer("x", "x", "float32", (1 << 22,), is_parameter=True),
)
DEVICE = load("h100-sxm")
BLOCKS, THREADS, TRIPS = 16384, 256, 992
LANE: Expr = ("%", "tx", 32)
WARP: Expr = ("//", "tx", 32)


def work() -> Store:
    """A multiply-add of a register of each thread."""
    return Store(
        "v[0] = v[0] * 2 + 1",
        (Arith("mul", "float32"), Arith("add", "float32")),
        (Access("v", "read", (0,)), Access("v", "write", (0,))),
    )


def loop(extent: Expr = TRIPS) -> Loop:
    return Loop("serial", "k", 0, extent, (work(),))


def kernel(*body: Node) -> KernelFacts:
    end = Store(
        "x[...] = v[0]",
        (),
        (Access("v", "read", (0,)), Access("x", "write", (("+", ("*", "bx", 256), "tx"),))),
    )
    return launched((*body, end), BUFFERS, blocks=BLOCKS, threads=THREADS)


def time_s(*body: Node) -> float:
    found = analyze(kernel(*body), DEVICE).time_s
    assert found is not None
    return found


@pytest.mark.parametrize(
    "body",
    [
        # One lane of each warp has the whole loop.
        (Branch(("==", LANE, 5), (loop(),)),),
        (Branch(("<", LANE, 1), (loop(),)),),
        # The longest lane has as many iterations as all have.
        (loop(("*", ("+", LANE, 1), 31)),),
        (loop(("select", ("==", LANE, 7), TRIPS, 1)),),
        # Both sides of a branch that divides lanes.
        (Branch(("==", ("%", "tx", 2), 0), (loop(TRIPS // 2),), (loop(TRIPS // 2),)),),
        (Branch(("<", LANE, 16), (loop(TRIPS // 2),), (loop(TRIPS // 2),)),),
    ],
)
def test_warp_pays_for_what_any_lane_does(body: tuple[Node, ...]) -> None:
    assert time_s(*body) == pytest.approx(time_s(loop()), rel=0.05)
    # The operations are those of the active lanes.
    assert analyze(kernel(*body), DEVICE).flop < 0.6 * (analyze(kernel(loop()), DEVICE).flop or 0)


def test_iterations_that_no_other_lane_has_are_issued_for_each() -> None:
    own = Branch(("==", ("%", "k", 32), LANE), (work(),))
    taken = time_s(Loop("serial", "k", 0, TRIPS, (own,)))
    # Beside the condition of each iteration.
    assert time_s(loop()) < taken < 2.5 * time_s(loop())


def test_branches_between_warps_cost_one_side_each() -> None:
    halves = time_s(loop(TRIPS // 2))
    between_warps = Branch(("==", ("%", WARP, 2), 0), (loop(TRIPS // 2),), (loop(TRIPS // 2),))
    between_lanes = Branch(("==", ("%", "tx", 2), 0), (loop(TRIPS // 2),), (loop(TRIPS // 2),))
    assert time_s(between_warps) == pytest.approx(halves, rel=0.1)
    assert time_s(between_lanes) == pytest.approx(2 * halves, rel=0.1)


def test_half_of_the_warps_cost_half() -> None:
    of_warps = time_s(Branch(("==", ("%", WARP, 2), 0), (loop(),)))
    of_lanes = time_s(Branch(("==", ("%", "tx", 2), 0), (loop(),)))
    assert of_lanes == pytest.approx(time_s(loop()), rel=0.05)
    assert of_warps == pytest.approx(of_lanes / 2, rel=0.1)


def test_idle_lanes_of_small_blocks_are_issued() -> None:
    # 2^22 threads in blocks of 32, 16 or 33: the warps are as many, twice as many, about twice.
    of_32, of_16, of_33 = (
        analyze(launched((loop(),), BUFFERS, blocks=(1 << 22) // n, threads=n), DEVICE).time_s or 0
        for n in (32, 16, 33)
    )
    assert of_16 == pytest.approx(2 * of_32, rel=0.1)
    assert of_33 == pytest.approx(64 / 33 * of_32, rel=0.1)


def test_loads_of_one_lane_move_their_own_sector() -> None:
    read = Store("v[0] = x[tx]", (), (Access("x", "read", ("tx",)), Access("v", "write", (0,))))
    one = instructions(kernel(Branch(("==", LANE, 5), (read,))))[0]
    (request, _) = one.mapping.requests
    assert request is not None
    assert (request.lanes, request.sectors, request.elements_per_warp) == (1, 1, 1)
    half = instructions(kernel(Branch(("==", ("%", "tx", 2), 0), (read,))))[0]
    (request, _) = half.mapping.requests
    assert request is not None
    assert (request.lanes, request.sectors, request.elements_per_warp) == (16, 4, 16)


_LANE_VALUES: tuple[Expr, ...] = (
    "tx", ("%", "tx", 2), ("%", "tx", 32), ("//", "tx", 32), ("%", "tx", 7), ("*", "tx", 3),
)  # fmt: skip


@given(
    threads=st.sampled_from([8, 32, 48, 64, 96]),
    extent=st.one_of(st.integers(1, 6), st.sampled_from([("%", e, 5) for e in _LANE_VALUES])),
    left=st.sampled_from(_LANE_VALUES),
    right=st.one_of(st.integers(0, 40), st.sampled_from(["k", ("*", "k", 9), ("+", "k", 20)])),
    operator=st.sampled_from(["<", ">=", "==", "!="]),
)
def test_activity_is_that_of_the_executed_program(
    threads: int, extent: Expr, left: Expr, right: Expr, operator: str
) -> None:
    block = EnclosingLoop("tx", "block", threads, "threadIdx.x")
    start = LoopContext((block,), {"tx": (0, threads - 1)}, {})
    context = start.in_loop(Loop("serial", "k", 0, extent, ())).under_condition(
        (operator, left, right)
    )
    found = find_activity(context, threads)
    executed = {
        (k, tx)
        for tx in range(threads)
        for k in range(evaluate(extent, {"tx": tx}))
        if evaluate((operator, left, right), {"tx": tx, "k": k})
    }
    if not executed:
        return
    blocks = len({k for k, _ in executed})
    warps = len({(k, tx // 32) for k, tx in executed})
    assert found.threads == max(round(len(executed) / blocks), 1)
    assert found.lanes == pytest.approx(len(executed) / warps)


@pytest.mark.parametrize(
    ("condition", "values"),
    [
        (("==", LANE, 5), [5]),
        ((">=", "tx", 40), list(range(64, 96))),
        (("==", WARP, 2), list(range(64, 96))),
        # None at the first value of k.
        (("<", "tx", "k"), list(range(32))),
        (("<", "tx", ("load", "x", 0)), list(range(32))),
    ],
)
def test_fullest_warp(condition: Expr, values: list[int]) -> None:
    block = EnclosingLoop("tx", "block", 256, "threadIdx.x")
    context = LoopContext(
        (block, EnclosingLoop("k", "serial", 8)), {"tx": (0, 255), "k": (0, 7)}, {}
    )
    found: Any = fullest_warp(context.under_condition(condition))["tx"]
    assert found.tolist() == values


def test_warps_of_a_block_of_two_axes() -> None:
    axes = (
        EnclosingLoop("ty", "block", 16, "threadIdx.y"),
        EnclosingLoop("tx", "block", 16, "threadIdx.x"),
    )
    context = LoopContext(axes, {"tx": (0, 15), "ty": (0, 15)}, {})
    for condition in (
        (("==", "ty", 3)),
        (("==", "tx", 3)),
        ("<", "ty", 4),
        ("==", ("%", "ty", 2), 0),
    ):
        executed = [
            (ty * 16 + tx) // 32
            for ty, tx in product(range(16), range(16))
            if evaluate(condition, {"ty": ty, "tx": tx})
        ]
        found = find_activity(context.under_condition(condition), 256)
        assert found.lanes == len(executed) / len(set(executed))


def notes(*body: Node, bindings: dict[str, int] | None = None) -> list[str]:
    report = analyze(kernel(*body), DEVICE, bindings)
    return [note.message for note in report.caveats if "depend" in note.message]


DATA: Expr = (">", ("load", "x", ("+", ("*", "bx", 256), "tx")), 0)
OWN: Expr = (">", ("load", "v", 0), 0)
OF_BLOCK: Expr = (">", ("load", "x", "bx"), 0)
UNKNOWN: Expr = ("opaque", "f(tx)", "tx")


@pytest.mark.parametrize(
    ("condition", "is_of_lane"), [(DATA, True), (OWN, True), (OF_BLOCK, False), (UNKNOWN, True)]
)
def test_what_is_assumed_of_lanes_at_a_branch_on_data(condition: Expr, is_of_lane: bool) -> None:
    (one_side,) = notes(Branch(condition, (loop(),)))
    assert ("where any of its lanes does" in one_side) == is_of_lane
    (two_sides,) = notes(Branch(condition, (loop(500),), (loop(300),)))
    assert ("take the time of both" in two_sides) == is_of_lane
    assert "assumed" in two_sides or not is_of_lane


def test_the_branch_of_a_tile_is_taken_by_lanes() -> None:
    read = ("load", "x", ("+", ("*", "bx", 256), "i"))
    store = Store("x = 0", (), (Access("x", "write", (("+", ("*", "bx", 256), "i"),)),), "block")
    branch = Branch((">", read, 0), (store,))
    (text,) = notes(Loop("parallel", "i", 0, 256, (branch,)))
    assert "where any of its lanes does" in text


@pytest.mark.parametrize(
    ("length", "is_of_lane"),
    [(("load", "x", ("+", ("*", "bx", 256), "tx")), True), (("load", "x", "bx"), False)],
)
def test_what_is_assumed_of_lanes_at_a_loop_over_data(length: Expr, is_of_lane: bool) -> None:
    (text,) = notes(loop(length), bindings={"k": 16})
    assert ("the longest of its lanes" in text) == is_of_lane
