"""Functions that launch several kernels in turn."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import facts
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.multi_kernel import split_kernels
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Store,
    While,
)

LENGTH = 1 << 22


def grid(number: int, blocks: int, threads: int, source: str, target: str) -> Loop:
    place = ("+", ("*", f"bx{number}", threads), f"tx{number}")
    store = Store(
        "store",
        arith=(Arith("add", "float32"),),
        accesses=(Access(source, "read", (place,)), Access(target, "write", (place,))),
    )
    block = Loop("block", f"tx{number}", 0, threads, (store,), tag="threadIdx.x")
    return Loop("grid", f"bx{number}", 0, blocks, (block,), tag="blockIdx.x")


def both(*body: Node, blocks: int, threads: int) -> KernelFacts:
    buffers = tuple(Buffer(name, name, "float32", (LENGTH,), "global") for name in "abc")
    return facts(body, buffers, Launch((blocks, 1, 1), (threads, 1, 1)))


FIRST = grid(1, LENGTH // 256, 256, "a", "b")
SECOND = grid(2, 64, 128, "b", "c")
BOTH = both(FIRST, SECOND, blocks=LENGTH // 256, threads=256)


def test_each_grid_is_a_launch_of_its_own() -> None:
    assert [part.launch.grid for part in split_kernels(BOTH)] == [(LENGTH // 256, 1, 1), (64, 1, 1)]
    assert [part.launch.threads for part in split_kernels(BOTH)] == [(256, 1, 1), (128, 1, 1)]
    alone = replace(BOTH, body=(FIRST,))
    assert split_kernels(alone) == (alone,)


def test_their_report_is_the_sum_and_its_parts_add_up() -> None:
    device = load("h200")
    report = analyze(BOTH, device)
    alone = [
        analyze(both(body, blocks=blocks, threads=threads), device)
        for body, blocks, threads in ((FIRST, LENGTH // 256, 256), (SECOND, 64, 128))
    ]
    assert report.status == "ok"
    assert report.flop == LENGTH + 64 * 128
    assert report.global_bytes.total == 8 * report.flop
    assert report.time_s == pytest.approx(sum(part.time_s or 0.0 for part in alone))
    assert report.time_s == pytest.approx(sum(cost.time_s or 0.0 for cost in report.loops))
    assert sum(cost.share or 0.0 for cost in report.loops) == pytest.approx(1)
    assert report.grid == (LENGTH // 256, 1, 1)
    assert any("2 kernels in sequence" in note.message for note in report.caveats)


def test_a_launch_has_the_arrays_that_it_uses() -> None:
    """Those of both sides of a branch and of loops, of which they are views, and parameters."""
    place = ("+", ("*", "bx1", 128), "tx1")

    def reads(name: str) -> Store:
        return Store("read", (), (Access(name, "read", (place,)),))

    branch = Branch(("<", "tx1", 64), (reads("then"),), (reads("else"),))
    loops = (Loop("serial", "k", 0, 2, (reads("loop"),)), While(("<", "w", 2), (reads("while"),)))
    block = Loop("block", "tx1", 0, 128, (branch, *loops), tag="threadIdx.x")
    first = Loop("grid", "bx1", 0, 8, (block,), tag="blockIdx.x")
    names = ("then", "else", "loop", "while", "under", "root", "unused", "b", "c")
    views = {"else": "under", "under": "root", "unused": "root"}
    buffers = tuple(
        Buffer(name, name, "float32", (LENGTH,), "global", alias_of=views.get(name))
        for name in names
    )
    given = Buffer("given", "given", "float32", (8,), "global", is_parameter=True)
    whole = replace(BOTH, body=(first, SECOND), buffers=(*buffers, given))
    used = [[one.id for one in part.buffers] for part in split_kernels(whole)]
    assert used == [
        ["then", "else", "loop", "while", "under", "root", "given"],
        ["b", "c", "given"],
    ]
