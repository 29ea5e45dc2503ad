"""Shared memory of a block: stages, and buffers that share memory.

The rules were read off tilelang's own lowering (``tests/worker/test_lowering.py`` runs it): of 122
kernels of tilelang's examples lowered for sm_90, 101 have these figures exactly, barriers apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from support.kernels import gemm, tile
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import Buffer, Expr, KernelFacts, Loop, Node

TILE = 128 * 64 * 2  # bytes of each operand
STAGES = 3


def within_block(facts: KernelFacts, edit: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> Node:
    """The kernel's outermost loop, with the statements of its blocks changed."""

    def inside(node: Node) -> Node:
        assert isinstance(node, Loop)
        if node.kind == "block":
            return replace(node, body=edit(node.body))
        return replace(node, body=tuple(map(inside, node.body)))

    return inside(facts.body[0])


def shared(*buffers: Buffer, edit: Callable[[tuple[Node, ...]], tuple[Node, ...]]) -> int | None:
    facts = gemm(stages=STAGES)
    changed = replace(facts, buffers=(*facts.buffers, *buffers), body=(within_block(facts, edit),))
    return analyze(changed, load("h100-sxm")).shared_bytes_per_block


def out(rows: int) -> Buffer:
    return Buffer("Cs", "C_shared", "float16", (rows, 128), scope="shared.dyn")


def after(rows: int) -> Callable[[tuple[Node, ...]], tuple[Node, ...]]:
    """A tile that is written after the loop over k."""
    store = tile("Cl", "Cs", (rows, 128), {}, 8)
    return lambda body: (*body, store)


@pytest.mark.parametrize(
    ("rows", "wanted"),
    [
        (128, STAGES * 2 * TILE),  # in the memory of the operands, which are dead
        (1024, 1024 * 128 * 2),  # larger than all of these
    ],
)
def test_buffers_that_are_never_live_together_share_memory(rows: int, wanted: int) -> None:
    assert shared(out(rows), edit=after(rows)) == wanted


def test_buffers_of_one_loop_are_live_together() -> None:
    def edit(body: tuple[Node, ...]) -> tuple[Node, ...]:
        loop, store = body
        assert isinstance(loop, Loop)
        again = tile("Cl", "Cs", (128, 128), {}, 8)
        return (replace(loop, body=(*loop.body, again)), store)

    assert shared(out(128), edit=edit) == STAGES * 2 * TILE + 128 * 128 * 2


def test_a_buffer_used_before_and_after_a_loop_is_live_in_it() -> None:
    first, last = tile("Cl", "Cs", (128, 128), {}, 3), tile("Cs", "C", (128, 128), {}, 9)
    wanted = STAGES * 2 * TILE + 128 * 128 * 2
    assert shared(out(128), edit=lambda body: (first, *body, last)) == wanted


def test_a_view_takes_no_memory_of_its_own() -> None:
    view = Buffer("Av", "A_view", "float16", (64, 128), scope="shared.dyn", alias_of="As")
    read = tile("Av", "C", (64, 128), {}, 9)
    # It keeps the viewed operand live in all its stages, to the end.
    assert shared(view, edit=lambda body: (*body, read)) == STAGES * 2 * TILE


@pytest.mark.parametrize("scope", ["shared.barrier", "shared.tmem"])
def test_barriers_and_tensor_memory_take_no_shared_memory(scope: str) -> None:
    assert shared(replace(out(128), scope=scope), edit=after(128)) == STAGES * 2 * TILE


def test_an_unused_buffer_takes_no_memory() -> None:
    assert shared(out(1024), edit=lambda body: body) == STAGES * 2 * TILE


@pytest.mark.parametrize(
    ("strides", "elements"),
    [
        ((), 1024 * 128),
        ((128, 1), 1024 * 128),
        # Rows with padding, against bank conflicts.
        ((136, 1), 1024 * 136),
        # A stride that is not known says nothing of the padding.
        (("n", 1), 1024 * 128),
    ],
)
def test_padded_rows_take_their_stride(strides: tuple[Expr, ...], elements: int) -> None:
    assert shared(replace(out(1024), strides=strides), edit=after(1024)) == elements * 2
