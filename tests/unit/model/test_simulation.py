"""Simulation of warp roles that wait for each other at barriers, against results by hand."""

from __future__ import annotations

import pytest

from support.kernels import statement
from tirlens.model.counting.kernel_counts import NodeCount
from tirlens.model.gpu.block.warp_roles.iteration_sampling import (
    _lockstep_links,  # pyright: ignore[reportPrivateUsage]
    serial_time_s,
    step_count,
)
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
from tirlens_worker.facts import Barrier, Signal, SignalKind

BARRIER = Barrier("barrier")
NODE = statement(BARRIER, kernel_context({}), count=NodeCount(BARRIER, None, 1))
TRIP_COUNT = 40
SLOT = ("%", ("+", ("*", "k", 4), "part"), 3)


def code(seconds: float, **units: float) -> StraightCode:
    return StraightCode((), seconds, units)


def operation(
    kind: SignalKind, barrier: str, slots: int = 1, parity: int | None = None
) -> BarrierOperation:
    index = ("%", "k", slots) if slots > 1 else 0
    return BarrierOperation(NODE, 1, 0.0, Signal(kind, barrier, index, slots, 1, parity), 1)


def loop(
    *steps: StraightCode | AsyncCopy | MatrixProduct | BarrierOperation | BranchStep | LoopStep,
    trip_count: float = TRIP_COUNT,
) -> LoopStep:
    return LoopStep(NODE, trip_count, steps, "k", 0)


def copy(busy_s: float, latency_s: float, slots: int) -> AsyncCopy:
    signal = Signal("bring", "full", ("%", "k", slots), slots)
    return AsyncCopy(NODE, 1, 0.0, busy_s, latency_s, (signal,))


def times(*roles: WarpProgram) -> list[float]:
    found = simulate(roles, lambda _: 1.0)
    assert found is not None
    return [one.end_s for one in found]


@pytest.mark.parametrize(
    ("slots", "latency", "transfer", "compute", "period"),
    [
        (1, 5.0, 1.0, 2.0, 8.0),  # one buffer: nothing overlaps
        (2, 5.0, 1.0, 2.0, 4.0),  # the time through the ring, over its length
        (3, 5.0, 1.0, 3.0, 3.0),  # the computation
        (4, 2.0, 3.0, 1.0, 3.0),  # the transfer
    ],
)
def test_a_ring_has_the_period_of_its_slowest_part(
    slots: int, latency: float, transfer: float, compute: float, period: float
) -> None:
    producer = loop(
        operation("wait", "empty", slots, parity=1),
        copy(transfer, latency, slots),
        operation("arrive", "full", slots),
    )
    consumer = loop(
        operation("wait", "full", slots, parity=0),
        code(compute),
        operation("arrive", "empty", slots),
    )
    end = max(times((producer,), (consumer,)))
    first = latency + transfer + compute
    assert end == pytest.approx(first + (TRIP_COUNT - 1) * period, rel=0.03)


def test_two_buffers_with_one_barrier_are_a_ring_of_one() -> None:
    """The buffers alternate, the barriers do not: the producer is at most one iteration ahead."""
    producer = loop(
        operation("wait", "empty", parity=1), copy(1.0, 5.0, 1), operation("arrive", "full")
    )
    consumer = loop(operation("wait", "full", parity=0), code(2.0), operation("arrive", "empty"))
    assert max(times((producer,), (consumer,))) == pytest.approx(TRIP_COUNT * 8.0)


def test_cp_async_arrives_at_a_barrier_when_its_copies_are_complete() -> None:
    """The threads continue at once; a ring of two overlaps half of the latency."""

    def end(slots: int) -> float:
        fetched = BarrierOperation(
            NODE, 1, 0.0, Signal("fetch", "full", ("%", "k", slots), slots, 1), 1, 5.0
        )
        producer = loop(operation("wait", "empty", slots, parity=1), code(1.0), fetched)
        consumer = loop(
            operation("wait", "full", slots, parity=0),
            code(2.0),
            operation("arrive", "empty", slots),
        )
        return max(times((producer,), (consumer,)))

    assert end(1) == pytest.approx(TRIP_COUNT * 8.0)
    assert end(2) == pytest.approx(TRIP_COUNT * 4.0, rel=0.1)


def test_steps_one_after_the_other() -> None:
    """The bound on a simulation with skipped iterations: nothing overlaps."""
    signal = Signal("fetch", "full", 0, 1, 1)
    part = (
        code(2.0, sfu=3.0),  # its unit is busy for longer
        AsyncCopy(NODE, 1, 0.5, 4.0, 8.0, ()),
        MatrixProduct(NODE, 1, 0.25, 1.0, 2.0),
        BarrierOperation(NODE, 1, 0.125, signal, 1, 16.0),
    )
    each = 3.0 + 12.5 + 3.25 + 16.125
    branch = BranchStep(NODE, 0.25, part, (code(1.0), code(0.0)), None)
    program = (code(1.0), loop(*part, branch, trip_count=10.5))
    assert serial_time_s(program) == 1 + 10.5 * (each + 0.25 * each + 0.75 * 1)
    assert step_count(program) == 1 + 10.5 * (4 + 0.25 * 4 + 0.75 * 2)


def test_a_deadlock_gives_no_result() -> None:
    one = loop(operation("wait", "a", parity=0), operation("arrive", "b"))
    other = loop(operation("wait", "b", parity=0), operation("arrive", "a"))
    assert simulate([(one,), (other,)], lambda _: 1.0) is None


def test_two_roles_alternate_on_the_tensor_cores() -> None:
    """Each has 3 s of products and 3 s of other code: together they keep the tensor cores busy."""
    drain = BarrierOperation(NODE, 1, 0.0, Signal("drain", count=0), 1)
    role = loop(MatrixProduct(NODE, 1, 0.0, 3.0, 0.0), drain, code(3.0))
    alone, (first, second) = times((role,))[0], times((role,), (role,))
    assert alone == pytest.approx(TRIP_COUNT * 6.0)
    assert max(first, second) == pytest.approx(TRIP_COUNT * 6.0 + 3.0)


def test_roles_share_a_unit_that_both_keep_busy() -> None:
    role = loop(code(2.0, sfu=2.0))
    assert max(times((role,), (role,))) == pytest.approx(TRIP_COUNT * 4.0, rel=0.05)


@pytest.mark.parametrize("trip_count", [2.5, 7.0, 100.0])
def test_a_fractional_trip_count_is_kept_on_average(trip_count: float) -> None:
    role = LoopStep(NODE, 4, (loop(code(1.0), trip_count=trip_count),))
    assert times((role,))[0] == pytest.approx(4 * trip_count)


def test_a_branch_is_taken_by_its_condition_or_its_share() -> None:
    first = BranchStep(NODE, 0.0, (code(10.0),), (code(1.0),), ("==", "k", 0))
    half = BranchStep(NODE, 0.5, (code(2.0),), (), None)
    assert times((loop(first, half, trip_count=8),))[0] == pytest.approx(10 + 7 + 8)


@pytest.mark.parametrize("trip_count", [8, 41, 300])
def test_lockstep_with_an_iteration_peeled_before_the_loop(trip_count: int) -> None:
    """A producer fills one buffer before its loop: as many of its iterations are skipped."""
    ready = (operation("wait", "empty", parity=1), code(1.0), operation("arrive", "full"))
    producer = (*ready, loop(*ready, trip_count=trip_count))
    consumer = loop(
        operation("wait", "full", parity=0),
        code(3.0),
        operation("arrive", "empty"),
        trip_count=trip_count + 1,
    )
    assert max(times(producer, (consumer,))) == pytest.approx(4.0 * (trip_count + 1), rel=0.02)


def test_lockstep_with_a_split_loop() -> None:
    empty, full = operation("wait", "empty", 3, parity=1), operation("arrive", "full", 3)
    producer = loop(empty, code(1.0), full, trip_count=96)
    inner = LoopStep(
        NODE,
        4,
        (
            BarrierOperation(NODE, 1, 0.0, Signal("wait", "full", SLOT, 3, 1, 0), 1),
            code(2.0),
            BarrierOperation(NODE, 1, 0.0, Signal("arrive", "empty", SLOT, 3, 1), 1),
        ),
        "part",
        0,
    )
    consumer = LoopStep(NODE, 24, (inner,), "k", 0)
    assert max(times((producer,), (consumer,))) == pytest.approx(1.0 + 96 * 2.0, rel=0.02)


@pytest.mark.parametrize("trip_count", [TRIP_COUNT, 20_000])
def test_an_arrival_in_the_last_iteration_is_simulated(trip_count: int) -> None:
    """Another role stores each tile after its products, during the products of the next one.

    Most of the iterations of the longer loop are skipped.
    """
    last = BranchStep(NODE, 1.0, (operation("arrive", "full"),), (), ("==", "k", trip_count - 1))
    tiles = LoopStep(NODE, 3, (loop(code(1.0), last, trip_count=trip_count),))
    stores = LoopStep(NODE, 3, (operation("wait", "full", parity=0), code(5.0)))
    assert times((tiles,), (stores,))[0] == pytest.approx(3 * trip_count)


def test_lockstep_with_an_unrolled_loop() -> None:
    """An iteration of the consumer is two of the producer's: half as many are skipped."""
    trip_count = 4000.0
    producer = loop(
        operation("wait", "empty", parity=1),
        code(1.0),
        operation("arrive", "full"),
        trip_count=trip_count,
    )
    consumer = loop(
        *(operation("wait", "full", parity=0), code(3.0), operation("arrive", "empty")) * 2,
        trip_count=trip_count / 2,
    )
    assert max(times((producer,), (consumer,))) == pytest.approx(trip_count * 4.0, rel=0.01)


def test_skipped_iterations_pass_for_roles_that_wait_for_them() -> None:
    """An epilogue overlaps the next tile's products: the longer of the two takes the time."""
    tiles, trip_count = 400.0, 200.0
    products = loop(
        operation("wait", "free", parity=1),
        LoopStep(
            NODE,
            trip_count,
            (operation("wait", "full", parity=0), code(1.0), operation("arrive", "empty")),
        ),
        operation("arrive", "done"),
        trip_count=tiles,
    )
    copies = loop(
        LoopStep(
            NODE, trip_count, (operation("wait", "empty", parity=1), operation("arrive", "full"))
        ),
        trip_count=tiles,
    )
    epilogue = loop(
        operation("wait", "done", parity=0),
        operation("arrive", "free"),
        code(150.0),
        trip_count=tiles,
    )
    end = max(times((products,), (copies,), (epilogue,)))
    assert end == pytest.approx(tiles * trip_count + 150, rel=0.01)


def test_two_warpgroups_of_a_role_alternate() -> None:
    """Each has the next barrier of the ring: products of one overlap code of the other."""
    index = ("load", "slot", 0)

    def of(
        kind: SignalKind, barrier: str, threads: int, parity: int | None = None
    ) -> BarrierOperation:
        return BarrierOperation(NODE, 1, 0.0, Signal(kind, barrier, index, 2, 128, parity), threads)

    products = loop(*(of("wait", "free", 1, 1), code(2.0), of("arrive", "done", 128)) * 2)
    groups = loop(of("wait", "done", 256, 0), code(4.0), of("arrive", "free", 256))
    found = simulate(((products,), (groups,)), lambda _: 128.0)
    assert found is not None
    assert max(one.end_s for one in found) == pytest.approx(TRIP_COUNT * (2.0 + 4.0), rel=0.05)


def test_a_wait_that_never_ends_is_for_the_previous_phase() -> None:
    producer = loop(code(1.0), operation("arrive", "full"))
    last = (
        loop(operation("wait", "full", parity=0)),
        operation("wait", "full", parity=1),
        code(5.0),
    )
    assert max(times((producer,), last)) == pytest.approx(TRIP_COUNT + 5.0)


@pytest.mark.parametrize(
    ("trips", "linked"), [((4, 4), False), ((4, 40), False), ((5, 5), True), ((40, 42), True)]
)
def test_loops_of_few_iterations_are_in_lockstep_with_none(
    trips: tuple[int, int], linked: bool
) -> None:
    producer, consumer = (
        loop(operation(kind, "full"), trip_count=count)
        for kind, count in zip(("arrive", "wait"), trips, strict=True)
    )
    links = _lockstep_links([(producer,), (consumer,)])
    assert links == {
        producer: {consumer: 1} if linked else {},
        consumer: {producer: 1} if linked else {},
    }
    assert _lockstep_links([(producer, consumer)]) == {producer: {}, consumer: {}}
