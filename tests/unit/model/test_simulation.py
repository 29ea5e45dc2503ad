"""Roles that wait for each other at barriers, against what one works out by hand."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.block.warp_roles.simulation import simulate
from tirlens.model.gpu.block.warp_roles.warp_program import (
    AsyncCopy,
    BarrierOperation,
    BranchStep,
    LoopStep,
    MatrixProduct,
    StraightCode,
    WarpProgram,
)
from tirlens.model.tree.context import kernel_context
from tirlens.model.tree.node import CostNode
from tirlens_worker.facts import Signal

HERE = CostNode(None, None, kernel_context({}))
TURNS = 40
TURN = ("%", ("+", ("*", "k", 4), "part"), 3)


def code(seconds: float, **units: float) -> StraightCode:
    return StraightCode((), seconds, units)


def meet(kind: str, barrier: str, slots: int = 1, parity: int | None = None) -> BarrierOperation:
    index = ("%", "k", slots) if slots > 1 else 0
    return BarrierOperation(HERE, 1, 0.0, Signal(kind, barrier, index, slots, 1, parity), 1)


def loop(
    *steps: StraightCode | AsyncCopy | MatrixProduct | BarrierOperation | BranchStep | LoopStep,
    turns: float = TURNS,
) -> LoopStep:
    return LoopStep(HERE, turns, steps, "k", 0)


def copy(busy_s: float, latency_s: float, slots: int) -> AsyncCopy:
    told = Signal("bring", "full", ("%", "k", slots), slots)
    return AsyncCopy(HERE, 1, 0.0, busy_s, latency_s, (told,))


def times(*roles: WarpProgram) -> list[float]:
    found = simulate(roles, lambda _: 1.0)
    assert found is not None
    return [one.end_s for one in found]


@pytest.mark.parametrize(
    ("slots", "latency", "transfer", "compute", "period"),
    [
        (1, 5.0, 1.0, 2.0, 8.0),  # one buffer: nothing overlaps
        (2, 5.0, 1.0, 2.0, 4.0),  # the way through the ring, over its length
        (3, 5.0, 1.0, 3.0, 3.0),  # the computation
        (4, 2.0, 3.0, 1.0, 3.0),  # the transfer
    ],
)
def test_a_ring_turns_as_often_as_its_slowest_part(
    slots: int, latency: float, transfer: float, compute: float, period: float
) -> None:
    producer = loop(
        meet("wait", "empty", slots, parity=1),
        copy(transfer, latency, slots),
        meet("arrive", "full", slots),
    )
    consumer = loop(
        meet("wait", "full", slots, parity=0), code(compute), meet("arrive", "empty", slots)
    )
    end = max(times((producer,), (consumer,)))
    first = latency + transfer + compute
    assert end == pytest.approx(first + (TURNS - 1) * period, rel=0.03)


def test_one_barrier_for_two_buffers_is_a_ring_of_one() -> None:
    """The buffers alternate, the barriers do not: the producer is never two turns ahead."""
    producer = loop(meet("wait", "empty", parity=1), copy(1.0, 5.0, 1), meet("arrive", "full"))
    consumer = loop(meet("wait", "full", parity=0), code(2.0), meet("arrive", "empty"))
    assert max(times((producer,), (consumer,))) == pytest.approx(TURNS * 8.0)


def test_a_barrier_that_cp_async_arrives_at_is_over_when_the_copies_are_there() -> None:
    """The threads go on at once; a ring of two hides half of the way."""

    def end(slots: int) -> float:
        fetched = BarrierOperation(
            HERE, 1, 0.0, Signal("fetch", "full", ("%", "k", slots), slots, 1), 1, 5.0
        )
        producer = loop(meet("wait", "empty", slots, parity=1), code(1.0), fetched)
        consumer = loop(
            meet("wait", "full", slots, parity=0), code(2.0), meet("arrive", "empty", slots)
        )
        return max(times((producer,), (consumer,)))

    assert end(1) == pytest.approx(TURNS * 8.0)
    assert end(2) == pytest.approx(TURNS * 4.0, rel=0.1)


def test_roles_that_wait_for_each_other_for_ever() -> None:
    one = loop(meet("wait", "a", parity=0), meet("arrive", "b"))
    other = loop(meet("wait", "b", parity=0), meet("arrive", "a"))
    assert simulate([(one,), (other,)], lambda _: 1.0) is None


def test_two_roles_take_turns_at_the_tensor_cores_and_compute_meanwhile() -> None:
    """Each has 3 s of products and 3 s of other code: together they keep the tensor cores busy."""
    drain = BarrierOperation(HERE, 1, 0.0, Signal("drain", count=0), 1)
    role = loop(MatrixProduct(HERE, 1, 0.0, 3.0, 0.0), drain, code(3.0))
    alone, (first, second) = times((role,))[0], times((role,), (role,))
    assert alone == pytest.approx(TURNS * 6.0)
    assert max(first, second) == pytest.approx(TURNS * 6.0 + 3.0)


def test_roles_share_a_unit_that_both_keep_busy() -> None:
    role = loop(code(2.0, sfu=2.0))
    assert max(times((role,), (role,))) == pytest.approx(TURNS * 4.0, rel=0.05)


@pytest.mark.parametrize("turns", [2.5, 7.0, 100.0])
def test_a_mean_number_of_turns_is_kept_on_average(turns: float) -> None:
    role = LoopStep(HERE, 4, (loop(code(1.0), turns=turns),))
    assert times((role,))[0] == pytest.approx(4 * turns)


def test_a_branch_is_taken_by_its_condition_or_its_share() -> None:
    first = BranchStep(HERE, 0.0, (code(10.0),), (code(1.0),), ("==", "k", 0))
    half = BranchStep(HERE, 0.5, (code(2.0),), (), None)
    assert times((loop(first, half, turns=8),))[0] == pytest.approx(10 + 7 + 8)


@pytest.mark.parametrize("turns", [8, 41, 300])
def test_roles_keep_in_step_with_what_stands_before_their_loops(turns: int) -> None:
    """A producer fills one buffer ahead of its loop: as many of its turns are not followed."""
    ready = (meet("wait", "empty", parity=1), code(1.0), meet("arrive", "full"))
    producer = (*ready, loop(*ready, turns=turns))
    consumer = loop(
        meet("wait", "full", parity=0), code(3.0), meet("arrive", "empty"), turns=turns + 1
    )
    assert max(times(producer, (consumer,))) == pytest.approx(4.0 * (turns + 1), rel=0.02)


def test_roles_keep_in_step_where_one_has_split_its_loop() -> None:
    empty, full = meet("wait", "empty", 3, parity=1), meet("arrive", "full", 3)
    producer = loop(empty, code(1.0), full, turns=96)
    inner = LoopStep(
        HERE,
        4,
        (
            BarrierOperation(HERE, 1, 0.0, Signal("wait", "full", TURN, 3, 1, 0), 1),
            code(2.0),
            BarrierOperation(HERE, 1, 0.0, Signal("arrive", "empty", TURN, 3, 1), 1),
        ),
        "part",
        0,
    )
    consumer = LoopStep(HERE, 24, (inner,), "k", 0)
    assert max(times((producer,), (consumer,))) == pytest.approx(1.0 + 96 * 2.0, rel=0.02)


def test_what_the_last_turn_tells_others_is_told() -> None:
    """After the products of each tile another role stores it, while the next ones go on."""
    told = BranchStep(HERE, 1.0, (meet("arrive", "full"),), (), ("==", "k", TURNS - 1))
    tiles = LoopStep(HERE, 3, (loop(code(1.0), told),))
    stores = LoopStep(HERE, 3, (meet("wait", "full", parity=0), code(5.0)))
    assert times((tiles,), (stores,))[0] == pytest.approx(3 * TURNS)


def test_a_loop_that_is_unrolled_keeps_in_step_with_one_that_is_not() -> None:
    """Each turn of the consumer is two of the producer's: half as many are left out."""
    turns = 4000.0
    producer = loop(meet("wait", "empty", parity=1), code(1.0), meet("arrive", "full"), turns=turns)
    consumer = loop(
        *(meet("wait", "full", parity=0), code(3.0), meet("arrive", "empty")) * 2, turns=turns / 2
    )
    assert max(times((producer,), (consumer,))) == pytest.approx(turns * 4.0, rel=0.01)


def test_what_is_left_out_of_a_loop_passes_for_those_who_wait_for_it() -> None:
    """An epilogue beside the next tile's products: the longer of the two takes the time."""
    tiles, turns = 400.0, 200.0
    products = loop(
        meet("wait", "free", parity=1),
        LoopStep(HERE, turns, (meet("wait", "full", parity=0), code(1.0), meet("arrive", "empty"))),
        meet("arrive", "done"),
        turns=tiles,
    )
    copies = loop(
        LoopStep(HERE, turns, (meet("wait", "empty", parity=1), meet("arrive", "full"))),
        turns=tiles,
    )
    epilogue = loop(
        meet("wait", "done", parity=0), meet("arrive", "free"), code(150.0), turns=tiles
    )
    end = max(times((products,), (copies,), (epilogue,)))
    assert end == pytest.approx(tiles * turns + 150, rel=0.01)


def test_two_warpgroups_that_take_turns_are_followed_apart() -> None:
    """Each has the next barrier of the ring, and products of one hide behind code of the other."""
    index = ("load", "slot", 0)

    def of(kind: str, barrier: str, threads: int, parity: int | None = None) -> BarrierOperation:
        return BarrierOperation(HERE, 1, 0.0, Signal(kind, barrier, index, 2, 128, parity), threads)

    products = loop(*(of("wait", "free", 1, 1), code(2.0), of("arrive", "done", 128)) * 2)
    groups = loop(of("wait", "done", 256, 0), code(4.0), of("arrive", "free", 256))
    found = simulate(((products,), (groups,)), lambda _: 128.0)
    assert found is not None
    assert max(one.end_s for one in found) == pytest.approx(TURNS * (2.0 + 4.0), rel=0.05)


def test_a_wait_that_nothing_will_end_is_for_the_phase_before() -> None:
    producer = loop(code(1.0), meet("arrive", "full"))
    last = (loop(meet("wait", "full", parity=0)), meet("wait", "full", parity=1), code(5.0))
    assert max(times((producer,), last)) == pytest.approx(TURNS + 5.0)
