"""Reuse of loads among the iterations of unrolled loops.

Unrolled iterations are straight-line code, in which LLVM's GVN (part of NVVM) loads a value once
for all iterations that use it, if nothing in between stores to its array; so with a value that all
lanes of a vector use.  The window of a stencil advances by less than its width: nvcc 13.0 for sm_86
issues 435 of the 1,800 loads of an unrolled 15 x 15 filter over eight rows of a thread, two rows
apart, its 29 x 15 distinct ones, in an order for which 40 registers are enough.
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

# Limit of the iterations of straight-line code; outer loops beyond it count as rolled.
MAX_ITERATIONS = 1 << 14


def find_store_loops(nodes: Sequence[Node]) -> StoreLoops:
    """The loops around the stores to each array, by its id."""
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
    access: Access, statement: Statement, buffer: Buffer, context: LoopContext, written: StoreLoops
) -> float:
    """The mean number of reads of the program that one load of straight-line code serves.

    Accesses of one statement to one array count together.  1 where addresses are not known.
    """
    if access.mode != "read" or access.extents or access.guard is not None:
        return 1.0
    loops = _straight_loops(context, written.get(access.buffer, NO_LOOPS))
    if not loops:
        return 1.0
    concurrent = [
        one
        for one in statement.accesses
        if one.buffer == access.buffer and one.mode == "read" and not one.extents and not one.guard
    ]
    # A statement that reads an address twice loads it once.
    indices = list(dict.fromkeys(tuple(map(context.resolve, one.indices)) for one in concurrent))
    if any(is_data_dependent(index) for indices_of in indices for index in indices_of):
        return 1.0
    names = NO_LOOPS.union(*(free_variables(one) for indices_of in indices for one in indices_of))
    # Lanes with elements of their own are one instruction already.
    loops = [loop for loop in loops if loop.kind == "unroll" or loop.var not in names]
    varying = [loop for loop in loops if loop.var in names]
    same = math.prod(loop.extent or 1 for loop in loops if loop.var not in names)
    try:
        distinct = _count_distinct(indices, buffer, context, varying)
    except (UnknownValueError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        return float(same)
    iterations = math.prod(loop.extent or 1 for loop in varying)
    return same * iterations * len(indices) / max(distinct, 1)


def _straight_loops(context: LoopContext, written: frozenset[str]) -> list[EnclosingLoop]:
    """The enclosing straight-line loops without a store to the array."""
    chosen = NO_LOOPS.union(*map(free_variables, context.conditions))
    found: list[EnclosingLoop] = []
    iterations = 1
    for loop in reversed(context.loops):
        iterations *= loop.extent or MAX_ITERATIONS
        straight = loop.kind in ("unroll", "vectorized") and iterations <= MAX_ITERATIONS
        if not straight or loop.var in written or loop.var in chosen:
            break
        found.append(loop)
    return found


def _count_distinct(
    indices: Sequence[tuple[Any, ...]],
    buffer: Buffer,
    context: LoopContext,
    loops: Sequence[EnclosingLoop],
) -> int:
    """The number of distinct elements of these accesses in one thread over the loops."""
    first: Mapping[str, Any] = context.first_values
    iterations = (first[loop.var] + np.arange(loop.extent or 1) for loop in loops)
    axes = np.meshgrid(*iterations, indexing="ij")
    env = {**first, **{loop.var: axis for loop, axis in zip(loops, axes, strict=True)}}
    offsets: list[Any] = []
    for indices_of in indices:
        flat: Any = np.zeros_like(axes[0]) if axes else np.zeros(1, dtype=np.int64)
        # The leading size does not enter an offset.
        for size, index in zip((0, *buffer.shape[1:]), indices_of, strict=True):
            flat = flat * evaluate(context.resolve(size), env) + evaluate(index, env)
        offsets.append(flat.ravel())
    return len(np.unique(np.concatenate(offsets)))
