"""Live registers: the arrays of a thread that are live at the same time."""

from __future__ import annotations

import pytest

from support.kernels import launched, workload
from tirlens.model.counting.kernel_counter import KernelCounter
from tirlens.model.gpu.compiler.live_ranges import LiveRange
from tirlens.model.gpu.compiler.register_pressure import (
    RegisterDemand,
    _extend_over_loop,  # pyright: ignore[reportPrivateUsage]
    find_register_demand,
)
from tirlens_worker.facts import (
    Access,
    AccessMode,
    Barrier,
    Buffer,
    Call,
    Copy,
    Evaluate,
    Expr,
    Fill,
    Gemm,
    KernelFacts,
    Loop,
    Reduce,
    Statement,
    Store,
)


def fragment(name: str, *shape: int) -> Buffer:
    return Buffer(name, name, "float32", shape, "local.fragment")


def step(reads: tuple[str, ...], writes: str) -> Statement:
    accesses = (
        *(Access(name, "read", (0,), (1024,)) for name in reads),
        Access(writes, "write", (0,), (1024,)),
    )
    return Store(writes, (), accesses, "block")


def loaded(name: str) -> Statement:
    return Copy(name, (), (Access(name, "write", (0,), (1024,)),), "block")


BARRIER = Barrier("T.tvm_storage_sync()", (), (), "block")


def test_a_dead_array_gives_its_registers_to_the_next() -> None:
    buffers = tuple(fragment(name, 1024) for name in "abc")
    each = 1024 * 4 / 128
    chain = (loaded("a"), step(("a",), "b"), step(("b",), "c"), step(("c",), "c"))
    assert peak(launched(chain, buffers)) == each
    both = (loaded("a"), loaded("b"), step(("a", "b"), "c"), step(("c",), "c"))
    assert peak(launched(both, buffers)) == 2 * each
    # An array that a loop reads, and code before it writes, is live in all iterations.
    loop = Loop("serial", "k", 0, 4, (step(("a",), "b"), step(("b",), "c")))
    assert peak(launched((step((), "a"), loop, step(("c",), "c")), buffers)) >= 2 * each


@pytest.mark.parametrize("position", ["first", "last"])
def test_an_array_of_one_iteration_is_live_between_its_accesses(position: str) -> None:
    """One that the first statement of a loop writes, and one that the last statement reads."""
    buffers = tuple(fragment(name, 1024) for name in "abcd")
    each = 1024 * 4 / 128
    chain = (
        (loaded("a"), step(("a",), "b"), BARRIER, loaded("c"), BARRIER, step(("c",), "d"))
        if position == "first"
        else (step((), "c"), BARRIER, step(("c",), "d"), BARRIER, loaded("a"), step(("a",), "b"))
    )
    body = (*chain, *(step((name,), name) for name in "bd"))
    assert peak(launched(chain, buffers)) == peak(
        launched((Loop("serial", "k", 0, 4, chain),), buffers)
    )
    assert peak(launched(body, buffers)) >= 2 * each


@pytest.mark.parametrize(("first", "arrays"), [("row", 1), (0, 2)])
def test_rows_of_arrays_are_live_one_by_one_in_an_unrolled_loop(first: Expr, arrays: int) -> None:
    """A loop over the rows of tiles is unrolled; one over something else keeps both whole."""
    buffers = tuple(fragment(name, 4, 1024) for name in "ab")
    whole = Access("a", "write", (0, 0), (4, 1024))
    reads = Access("a", "read", (first, 0), (1, 1024))
    writes = Access("b", "write", (first, 0), (1, 1024))
    result = Access("b", "read", (0, 0), (4, 1024))
    used = Evaluate("let", (), (reads,), "block")
    made = Store("b", (), (writes,), "block")
    loop = Loop("serial", "row", 0, 4, (used, made))
    body = (
        Copy("a", (), (whole,), "block"),
        loop,
        Reduce("b", (), (result,), "block"),
    )
    assert peak(launched(body, buffers)) == arrays * 4 * 1024 * 4 / 128


def test_elements_with_constant_indices_are_live_separately() -> None:
    """A view has two registers an element; dead registers are reused before the next is written.

    Without a barrier, a thread makes and uses them one by one.
    """
    buffers = (
        Buffer("a", "a", "float32", (8,), "local"),
        Buffer("pairs", "pairs", "uint64", (4,), "local", alias_of="a"),
    )
    made = [one("pairs", "write", pair) for pair in range(4)]
    used = [one("a", "read", register) for register in range(8)]
    assert peak(launched((*made, BARRIER, *used), buffers)) == 8 * 4
    assert peak(launched((*made, *used), buffers)) == 0
    by_pairs = [part for pair in range(4) for part in (made[pair], BARRIER, *used[2 * pair :][:2])]
    assert peak(launched(tuple(by_pairs), buffers)) == 2 * 4
    at_run_time = Call("a", (), (Access("a", "read", ("tx",)),))
    assert peak(launched((*by_pairs, at_run_time), buffers)) == 8 * 4


@pytest.mark.parametrize(("trip_count", "arrays"), [(1, 0), (2, 1)])
def test_elementwise_arrays_are_live_up_to_the_row_sum(trip_count: int, arrays: int) -> None:
    """The sum over rows of products: an accumulator of two iterations is live between them.

    ptxas 13.0 has no stack for the first, whose arrays take four times a thread's registers.
    """
    whole = ((0, 0), (256, 256))
    names = ("o", "do", "acc", "sum")
    buffers = (*(fragment(name, 256, 256) for name in names[:3]), fragment("sum", 256))
    reduced = (Access("acc", "read", *whole), Access("sum", "write", (0,), (256,)))
    added = (
        *(Access(name, "read", *whole) for name in names[:2]),
        Access("acc", "read", *whole),
        Access("acc", "write", *whole),
    )
    body = (
        Fill("fill", (), (Access("acc", "write", *whole),), "block"),
        Loop(
            "serial",
            "k",
            0,
            trip_count,
            (loaded("o"), loaded("do"), Store("add", (), added, "block")),
        ),
        Reduce("reduce", (), reduced, "block", dim=1),
        Store("use", (), (Access("sum", "read", (0,), (256,)),), "block"),
    )
    found = live(launched(body, buffers))
    row, tile = 256 * 4 / 128, 256 * 256 * 4 / 128
    assert found.required_bytes in (arrays * tile, arrays * tile + row)
    assert found.peak_bytes >= 3 * tile


def test_a_matrix_product_is_live_as_a_whole() -> None:
    """All of its elements are written at once, and read one by one."""
    product = Gemm("gemm", (), (Access("C", "write", (0, 0), (256, 256)),), "block")
    body = (product, step(("C",), "half"), step(("half",), "out"))
    buffers = (fragment("C", 256, 256), fragment("half", 256, 256), fragment("out", 256, 256))
    assert live(launched(body, buffers)).required_bytes >= 256 * 256 * 4 / 128


def one(name: str, mode: AccessMode, index: int) -> Statement:
    return Call(name, (), (Access(name, mode, (index,)),))


def peak(facts: KernelFacts) -> float:
    return live(facts).peak_bytes


def live(facts: KernelFacts) -> RegisterDemand:
    return find_register_demand(workload(facts).tree, KernelCounter(facts, {}).counts(), {})


@pytest.mark.parametrize(
    ("low", "high", "is_local"),
    [
        (3, 5, False),  # the first statement accesses the same part in all iterations
        (4, 5, True),
        (4, 6, False),
        (6, 6, False),
        (0, 2, False),  # no statement accesses it
    ],
)
def test_iterations_with_parts_of_their_own(low: int, high: int, is_local: bool) -> None:
    names = [(3, frozenset("j")), (4, frozenset("i")), (5, frozenset("ij")), (6, frozenset[str]())]
    life = LiveRange(3, 6, False, 4.0, names)
    assert life.is_local_to_iteration(low, high, "i") == is_local


@pytest.mark.parametrize(
    ("first", "last", "is_read_first", "extended"),
    [
        # What is written and read in an iteration of statements 4 to 8 is dead between iterations.
        (5, 6, False, (5, 6)),
        (4, 6, False, (4, 6)),
        (5, 8, False, (5, 8)),
        (4, 8, False, (4, 8)),
        # What is read first has the value of the iteration before.
        (5, 6, True, (4, 8)),
        (4, 4, True, (4, 8)),
        # What is live outside is live in all iterations.
        (2, 4, False, (2, 8)),
        (3, 8, False, (3, 8)),
        (8, 9, False, (4, 9)),
        (6, 12, True, (4, 12)),
        # No statement inside accesses it, or it is live throughout.
        (2, 3, True, (2, 3)),
        (9, 10, True, (9, 10)),
        (2, 10, False, (2, 10)),
    ],
)
def test_live_ranges_in_a_loop(
    first: int, last: int, is_read_first: bool, extended: tuple[int, int]
) -> None:
    life = LiveRange(first, last, is_read_first, 4.0)
    _extend_over_loop(life, 4, 8)
    assert (life.first, life.last) == extended
