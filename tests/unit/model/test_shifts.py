"""What neighbouring blocks read of each other's data."""

from __future__ import annotations

import pytest

from tirlens.model.gpu.memory.block_distances import (
    block_distance,
    block_strides,
    has_no_sequential_loop,
)
from tirlens.model.tree.context import EnclosingLoop, LoopContext
from tirlens_worker.facts import Buffer

GRID = (2, 64, 512)
STRIDES = (256.0, 8 * 512.0, 512.0 * 512.0)


@pytest.mark.parametrize(
    ("elements", "blocks"),
    [
        (0, 0),
        (1, 0),  # the next point of the same block, or of one beside it
        (-512, 0),  # the row before, of which most blocks have their own
        (256, 1),
        (8 * 512, 2),
        (512 * 512, 128),  # the next plane
        (-512 * 512, -128),
        (512 * 512 + 8 * 512, 130),
    ],
)
def test_blocks_apart(elements: int, blocks: int) -> None:
    assert block_distance(elements, STRIDES, GRID) == blocks


def stencil(*inner: EnclosingLoop) -> LoopContext:
    around = (
        EnclosingLoop("k", "grid", 512, "blockIdx.z"),
        EnclosingLoop("j", "grid", 64, "blockIdx.y"),
        EnclosingLoop("b", "grid", 2, "blockIdx.x"),
        EnclosingLoop("t", "block", 256, "threadIdx.x"),
        *inner,
    )
    return LoopContext(around, {loop.var: (0, (loop.extent or 1) - 1) for loop in around}, {})


def test_strides_of_blocks() -> None:
    buffer = Buffer("U", "U", "float64", (512, 512, 512))
    place = stencil(EnclosingLoop("i", "unroll", 8))
    row = ("+", ("*", "j", 8), "i")
    column = ("+", ("+", ("*", "b", 256), "t"), -1)
    assert block_strides(("k", row, column), buffer, place) == STRIDES
    assert block_strides(("k", ("load", "I", "j"), column), buffer, place) is None


def test_a_loop_takes_its_turns_one_after_the_other() -> None:
    assert has_no_sequential_loop(stencil(EnclosingLoop("i", "unroll", 8)))
    assert not has_no_sequential_loop(stencil(EnclosingLoop("i", "serial", 8)))
