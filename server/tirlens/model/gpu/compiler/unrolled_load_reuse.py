"""Loads that the compiler makes once for several turns of straight code.

The turns of unrolled loops are one piece of code, and in that a value is loaded once however many
turns use it, as long as nothing in between writes to its array: LLVM's GVN, which NVVM runs.  So is
what all lanes of a vector use.  The window of a stencil moves by less than its width from turn to
turn: nvcc 13.0 for sm_86 makes 435 loads of the 1,800 of an unrolled 15 x 15 filter over eight rows
of a thread, two rows apart, which are its 29 x 15 distinct ones, and puts the sums in an order in
which 40 registers are enough.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
)
from tirlens_worker.facts import Access, Branch, Buffer, Loop, Node, Statement, While

from ...tree.context import NO_LOOPS, EnclosingLoop, LoopContext, StoreLoops

# Straight code of more turns than these is taken to be as if its outer loops were not unrolled.
MAX_ITERATIONS = 1 << 14


def find_store_loops(nodes: Sequence[Node]) -> StoreLoops:
    """The loops around the statements that write to each array, by its id."""
    found: dict[str, frozenset[str]] = {}
    _collect_store_loops(nodes, NO_LOOPS, found)
    return found


def _collect_store_loops(
    nodes: Sequence[Node], around: frozenset[str], found: dict[str, frozenset[str]]
) -> None:
    for node in nodes:
        if isinstance(node, Statement):
            for access in node.accesses:
                if access.mode != "read":
                    found[access.buffer] = found.get(access.buffer, NO_LOOPS) | around
        elif isinstance(node, Loop):
            _collect_store_loops(node.body, around | {node.var}, found)
        elif isinstance(node, While):
            _collect_store_loops(node.body, around | {node.var} if node.var else around, found)
        elif isinstance(node, Branch):
            _collect_store_loops(node.then, around, found)
            _collect_store_loops(node.orelse, around, found)


def reads_per_load(
    access: Access, statement: Statement, buffer: Buffer, place: LoopContext, written: StoreLoops
) -> float:
    """How many times the program reads, on average, what one load of straight code brings.

    Accesses of one statement to one array are taken together.  1 where the places are not known.
    """
    if access.mode != "read" or access.extents or access.guard is not None:
        return 1.0
    loops = _straight_loops(place, written.get(access.buffer, NO_LOOPS))
    if not loops:
        return 1.0
    together = [
        one
        for one in statement.accesses
        if one.buffer == access.buffer and one.mode == "read" and not one.extents and not one.guard
    ]
    # What a statement names twice is one load already.
    indices = list(dict.fromkeys(tuple(map(place.resolve, one.indices)) for one in together))
    if any(is_data_dependent(index) for indices_of in indices for index in indices_of):
        return 1.0
    names = NO_LOOPS.union(*(free_variables(one) for indices_of in indices for one in indices_of))
    # Lanes that load elements of their own are one instruction as it is.
    loops = [loop for loop in loops if loop.kind == "unroll" or loop.var not in names]
    varying = [loop for loop in loops if loop.var in names]
    same = math.prod(loop.extent or 1 for loop in loops if loop.var not in names)
    try:
        distinct = _count_distinct(indices, buffer, place, varying)
    except (UnknownValueError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return float(same)
    turns = math.prod(loop.extent or 1 for loop in varying)
    return same * turns * len(indices) / max(distinct, 1)


def _straight_loops(place: LoopContext, written: frozenset[str]) -> list[EnclosingLoop]:
    """The loops around that are straight code in which nothing writes to the array."""
    chosen = NO_LOOPS.union(*map(free_variables, place.conditions))
    found: list[EnclosingLoop] = []
    turns = 1
    for loop in reversed(place.loops):
        turns *= loop.extent or MAX_ITERATIONS
        straight = loop.kind in ("unroll", "vectorized") and turns <= MAX_ITERATIONS
        if not straight or loop.var in written or loop.var in chosen:
            break
        found.append(loop)
    return found


def _count_distinct(
    indices: Sequence[tuple[Any, ...]],
    buffer: Buffer,
    place: LoopContext,
    loops: Sequence[EnclosingLoop],
) -> int:
    """How many elements these accesses touch while the loops turn, in one thread."""
    first: Mapping[str, Any] = place.first_values
    turns = (first[loop.var] + np.arange(loop.extent or 1) for loop in loops)
    axes = np.meshgrid(*turns, indexing="ij")
    env = {**first, **{loop.var: axis for loop, axis in zip(loops, axes, strict=True)}}
    offsets: list[Any] = []
    for indices_of in indices:
        flat: Any = np.zeros_like(axes[0]) if axes else np.zeros(1, dtype=np.int64)
        # How many rows there are says nothing of where one begins.
        for size, index in zip((0, *buffer.shape[1:]), indices_of, strict=True):
            flat = flat * evaluate(place.resolve(size), env) + evaluate(index, env)
        offsets.append(flat.ravel())
    return len(np.unique(np.concatenate(offsets)))
