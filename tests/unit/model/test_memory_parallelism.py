"""Which loads of a thread are in flight at the same time."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched, site
from tirlens.hardware import Device, load
from tirlens.model import analyze
from tirlens.model.gpu.memory.latency import memory_state, with_loaded_latency
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Load,
    Loop,
    LoopKind,
    Node,
    Statement,
    Store,
    Variable,
)

H200 = load("h200")


def idle_latency_s(device: Device) -> float:
    return with_loaded_latency(memory_state(device, ()), device, 0).dram_latency_s


def test_consecutive_loads_wait_for_shared_memory_once() -> None:
    """Eight loads of a thread are in flight together; a barrier between them keeps them apart."""
    buffers = (Buffer("s", "s", "float32", (1024,), "shared"),)
    load_one = Load("ld", (), (Access("s", "read", ("tx",)),))
    barrier = Barrier("arrive")

    def alone_s(*body: Node) -> float:
        found = analyze(launched((Loop("serial", "k", 0, 100_000, body),), buffers), H200).time_s
        assert found is not None
        return found

    together, apart = alone_s(*[load_one] * 8), alone_s(*[load_one, barrier] * 8)
    barriers = alone_s(*[barrier] * 8)
    assert apart - barriers > 1.5 * together


def row_sum(extent: Expr, op: str = "add") -> KernelFacts:
    """Threads that read rows of `extent` elements, with one load and one `op` an iteration."""
    index: Expr = ("+", ("*", ("+", ("*", "bx", 64), "i"), 128), "tx")
    accesses = (Access("X", "read", (index,)), Access("acc", "write", (0,)))
    one = Store("acc[0] = ...", (Arith(op, "float32", 1),), accesses)
    loop = Loop("serial", "i", 0, extent, (one,), sites=site(3))
    array = Buffer("X", "X", "float32", (1 << 24,), "global", is_parameter=True)
    facts = launched((loop,), (array, Buffer("acc", "acc", "float32", (1,), "local")))
    return replace(facts, variables=(Variable("n", "int64"),))


def test_the_compiler_batches_the_loads_of_a_loop() -> None:
    def waits(extent: Expr) -> float:
        report = analyze(row_sum(extent), H200, {"n": 7})
        assert report.time_s is not None, report.message
        # Latency of an idle memory, as these kernels load little.
        return report.time_s / idle_latency_s(H200)

    # One wait for a constant extent; else one for four loads and one for each of the other three.
    assert waits("n") - waits(7) == pytest.approx(3, rel=0.2)


@pytest.mark.parametrize(
    ("op", "device", "waits"),
    [("exp", "h200", 1), ("div", "h200", 8), ("sqrt", "h200", 8), ("div", "mi300x", 1)],
)
def test_no_load_moves_across_a_branch_of_the_arithmetic(
    op: str, device: str, waits: float
) -> None:
    """nvcc's division branches for rare values; LLVM's for AMD does not."""
    board = load(device)
    report = analyze(row_sum(8, op), board)
    assert report.time_s is not None
    latency_s = idle_latency_s(board)
    assert (report.time_s - board.launch_s) / latency_s == pytest.approx(waits, rel=0.35)


ARRAY = Buffer("X", "X", "float32", (1 << 26,), "global", is_parameter=True)


SHARED_TILE = Buffer("s", "s", "float32", (8192,), "shared.dyn")


FRAGMENT = Buffer("r", "r", "float32", (8192,), "local.fragment")


OTHER_FRAGMENT = Buffer("q", "q", "float32", (8192,), "local.fragment")


def launch(blocks: int, *body: Node) -> KernelFacts:
    return launched(body, (ARRAY, SHARED_TILE, FRAGMENT, OTHER_FRAGMENT), blocks)


def time_s(facts: KernelFacts) -> float:
    report = analyze(facts, H200)
    assert report.time_s is not None, report.message
    return report.time_s


def test_loads_batch_where_each_thread_has_its_own_shared_element() -> None:
    """A running sum in shared memory: each thread adds to its own element, or to the next one."""

    def scan(index: Expr) -> float:
        accesses = (
            Access("X", "read", (("+", ("*", "k", 128), "i"),)),
            Access("s", "read", (index,)),
            Access("s", "write", ("i",)),
        )
        one = Store("s", (Arith("add", "float32", 1),), accesses, "block")
        tile = Loop("parallel", "i", 0, 128, (replace(one, sites=site(4)),), sites=site(4))
        return time_s(launch(1, Loop("serial", "k", 0, 64, (tile,), sites=site(3))))

    assert scan("i") < 0.3 * scan(("+", "i", 1))


def add_rows(
    kind: LoopKind, trip_count: int, operation: str = "add", overlaps: bool = False
) -> float:
    """Seconds of one block whose iterations each load, compute and store to global memory."""
    index: Expr = ("+", ("*", "k", 128), "tx")
    accesses = (Access("X", "read", (index,)), Access("Y", "write", (index,)))
    one = Store("Y", (Arith(operation, "float32", 1),), accesses, sites=site(4))
    arrays = [replace(ARRAY, id=name, name=name, may_overlap=overlaps) for name in ("X", "Y")]
    barrier = Barrier("barrier", sites=site(5))
    loop = Loop(kind, "k", 0, trip_count, (one,), sites=site(3))
    return time_s(launched((loop, barrier), tuple(arrays), 1))


@pytest.mark.parametrize("kind", ["unroll", "serial"])
def test_no_load_moves_across_a_store_to_an_array_that_may_overlap(kind: LoopKind) -> None:
    trip_count, latency_s = 16, idle_latency_s(H200)
    apart = add_rows(kind, trip_count, overlaps=True) - add_rows(kind, trip_count)
    assert apart == pytest.approx((trip_count - 1) * latency_s, rel=0.05)


@pytest.mark.parametrize("kind", ["unroll", "serial"])
def test_no_load_moves_across_the_branches_of_a_division(kind: LoopKind) -> None:
    """Neither the division of an iteration nor its load starts before the previous division."""
    trip_count, latency_s = 16, idle_latency_s(H200)
    apart = add_rows(kind, trip_count, "div") - add_rows(kind, trip_count, "mul")
    assert apart > (trip_count - 1) * latency_s


B200 = load("b200")


BUFFERS = (
    Buffer("X", "X", "float32", (1 << 20,), "global", is_parameter=True),
    Buffer("Y", "Y", "float32", (1 << 20,), "global", is_parameter=True),
    Buffer("r", "r", "float32", (64,), "local"),
)


def block_time_s(*body: Node) -> float:
    report = analyze(launched(body, BUFFERS, 1), B200)
    assert report.time_s is not None, report.message
    return report.time_s


def load_at(buffer: str, at: Expr, register: int) -> Statement:
    accesses = (Access(buffer, "read", (("+", "tx", at),)), Access("r", "write", (register,)))
    return Load(f"T.ptx.ld({buffer})", (), accesses, sites=site(3))


def store_at(at: int) -> Statement:
    accesses = (Access("r", "read", (0,)), Access("Y", "write", (("+", "tx", at),)))
    return Store("T.ptx.st(Y)", (), accesses, sites=site(4))


def test_loads_start_with_those_of_a_short_branch_and_not_before_a_store() -> None:
    first, second = load_at("X", 0, 0), load_at("X", 4096, 1)
    alone = block_time_s(first)
    branch = Branch(("!=", "bx", 1), (second,), (), sites=site(3))
    assert block_time_s(first, branch) == pytest.approx(alone, rel=0.01)
    latency_s = B200.l2.latency_s / 4
    assert (
        block_time_s(first, store_at(8192), second)
        > block_time_s(first, second, store_at(8192)) + latency_s
    )


def test_iterations_that_store_keep_their_loads_apart() -> None:
    load_one = load_at("X", ("*", "i", 4096), 0)
    storing = Loop("unroll", "i", 0, 4, (load_one, store_at(8192)), sites=site(3))
    apart = Loop("unroll", "i", 0, 4, (load_one,), sites=site(3))
    assert block_time_s(storing) > block_time_s(apart, store_at(8192)) + 2 * B200.l2.latency_s / 4
