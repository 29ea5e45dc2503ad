"""What branches and the turns of loops take beside the statements in them."""

from __future__ import annotations

import pytest

from support.kernels import instructions, launched, leaves
from tirlens.model.gpu.compiler.predication import predicate_instructions
from tirlens.model.gpu.mapping.active_threads import find_activity
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Access, Arith, Barrier, Branch, Buffer, Expr, Loop, Node, Store

BUFFERS = (Buffer("s", "s", "float32", (512,), "shared"), Buffer("x", "x", "float32", (64, 512)))
STEP: Expr = (">>", 128, "step")
ADD = Store(
    "",
    (Arith("add", "float32"),),
    (Access("s", "read", ("tx",)), Access("s", "write", ("tx",))),
)
SYNC = Barrier("T.tvm_storage_sync()")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        # A comparison, and the shift that a loop changes.
        (("<", "tx", STEP), 2.0),
        # A division by what is not constant is a call, which the comparison follows.
        (("==", ("%", "tx", ("<<", 2, "step")), 0), 21.0),
        # What a loop does not change goes out of it: of the unrolled one, and of the other.
        (("and", ("<", ("+", "tx", "step"), 9), ("<", ("+", "tx", "j"), 9)), 2 / 5 + 1 / 8),
        # In an unrolled loop there is nothing to compute for a comparison.
        (("<", ("+", "tx", "j"), 9), 1.0),
        # Told before the loops, alike by all threads, or by the compiler.
        (("<", "tx", 100), 0.0),
        (("<", ("+", "bx", "step"), 9), 0.0),
        (("<", ("+", "tx", "j"), 4096), 0.0),
    ],
)
def test_guard_instructions(condition: Expr, expected: float) -> None:
    around = (
        EnclosingLoop("bx", "grid", 64),
        EnclosingLoop("tx", "block", 256, "threadIdx.x"),
        EnclosingLoop("step", "serial", 8),
        EnclosingLoop("j", "unroll", 5),
    )
    ranges = {"bx": (0, 63), "tx": (0, 255), "step": (0, 7), "j": (0, 4)}
    names = {name for name in ("step", "j") if name in str(condition)}
    kept = tuple(loop for loop in around if loop.kind in ("grid", "block") or loop.var in names)
    assert predicate_instructions(condition, LoopContext(kept, ranges, {})) == pytest.approx(
        expected
    )


@pytest.mark.parametrize(
    ("turns", "body", "passed"),
    [
        # Three instructions under a predicate: half of the warps pass them over, but issue them.
        (2, (ADD,), 3 * 128),
        # Nine: all jump over them or meet behind them.
        (40, (ADD, ADD, ADD), 3 * 256),
        # Outside of loops, and in unrolled ones, a jump is no part of the time of any iteration.
        (2, (ADD, ADD, ADD), 0),
        (1, (ADD,), 3 * 128),
        (1, (ADD, ADD, ADD), 0),
    ],
)
def test_what_warps_pass_over(turns: int, body: tuple[Node, ...], passed: float) -> None:
    branch = Branch(("<", "tx", 128), body)
    facts = launched((Loop("serial", "u", 0, turns, (branch,)),), BUFFERS, threads=256)
    first = instructions(facts)[0]
    assert first.skipped == passed * turns * 8
    assert (leaves(facts)[0].threads, first.reaching_threads) == (128, 256)


@pytest.mark.parametrize(
    ("extent", "barrier", "each"),
    [(100, False, 3 / 4), ("n", False, 3 / 4), ("n", True, 3.0), (64, True, 0.0)],
)
def test_turns_of_loops_that_stay(extent: Expr, barrier: bool, each: float) -> None:
    load = Store("", (), (Access("x", "read", ("k", "tx")), ADD.accesses[-1]))
    loop = Loop("serial", "k", 0, extent, (load, SYNC) if barrier else (load,))
    first = instructions(launched((loop,), BUFFERS, threads=256), {"n": 50})[0]
    turns = extent if isinstance(extent, int) else 50
    assert first.skipped == pytest.approx(each * turns * 256 * 8)
    assert (first.predicate, first.reaching_threads) == (0, 0)


@pytest.mark.parametrize(
    ("condition", "each"),
    [
        # A border in a loop: a sum, its comparison, and the zero that stands there otherwise.
        (("<", ("+", "tx", "k"), 300), 3.0),
        # A place that is chosen has its condition counted with the address.
        (("<", ("select", ("<", "tx", 9), "k", "tx"), 300), 0.0),
    ],
)
def test_loads_behind_a_condition(condition: Expr, each: float) -> None:
    read = Access("x", "read", ("k", "tx"), guard=condition)
    load = Store("", (), (read, Access("s", "write", ("tx",))))
    first = instructions(launched((Loop("serial", "k", 0, 64, (load,)),), BUFFERS, threads=256))[0]
    assert first.predicate == pytest.approx(each * 64 * 256 * 8)


def test_who_is_active_where_the_first_block_is_not() -> None:
    around = (EnclosingLoop("bx", "grid", 64), EnclosingLoop("tx", "block", 256, "threadIdx.x"))
    place = LoopContext(around, {"bx": (0, 63), "tx": (0, 255)}, {})
    inside = place.under_condition(("and", (">", "bx", 0), ("<", "tx", 64)))
    assert find_activity(inside, 256).threads == 64


@pytest.mark.parametrize(
    ("blocks", "condition", "threads"),
    [
        # A causal mask lets one thread of the first block through, and all of the last.
        (256, ("<=", "tx", "bx"), 128),
        (4, ("<=", "tx", ("*", "bx", 64)), (1 + 65 + 129 + 193) / 4),
        # Of blocks in which none is active there is no average.
        (256, ("<", ("+", ("*", "bx", 256), "tx"), 100), 100),
        # A tail is one block of many, or one of two.
        (1000, ("<", ("+", ("*", "bx", 256), "tx"), 999 * 256 + 8), 256),
        (2, ("<", ("+", ("*", "bx", 256), "tx"), 256 + 8), 132),
    ],
)
def test_how_many_threads_are_active_is_an_average_over_blocks(
    blocks: int, condition: Expr, threads: float
) -> None:
    around = (EnclosingLoop("bx", "grid", blocks), EnclosingLoop("tx", "block", 256, "threadIdx.x"))
    place = LoopContext(around, {"bx": (0, blocks - 1), "tx": (0, 255)}, {})
    assert find_activity(place.under_condition(condition), 256).threads == pytest.approx(
        threads, abs=1
    )


@pytest.mark.parametrize(
    ("condition", "threads"),
    [
        # A tree of sums: 128, 64, ... 1 threads in its turns.
        (("<", "tx", (">>", 128, "k")), 255 / 8),
        # The part of a scan that only copies: 1, 2, ... 128.
        (("not", (">=", "tx", ("<<", 1, "k"))), 255 / 8),
        # In its first turns alone, one thread after the other.
        (("<", ("+", "tx", ("*", "k", 100)), 200), (200 + 100) / 2),
    ],
)
def test_how_many_threads_are_active_is_an_average_over_turns(
    condition: Expr, threads: float
) -> None:
    around = (EnclosingLoop("tx", "block", 256, "threadIdx.x"), EnclosingLoop("k", "serial", 8))
    place = LoopContext(around, {"tx": (0, 255), "k": (0, 7)}, {})
    assert find_activity(place.under_condition(condition), 256).threads == pytest.approx(
        threads, abs=1
    )
