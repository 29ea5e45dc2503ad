"""Vector loads and stores of shared memory that the compiler makes of scalar accesses.

LLVM's LoadStoreVectorizer, which NVVM runs, merges accesses of straight-line code to adjacent
addresses: up to four elements and 16 bytes, if the first address is aligned to the vector.  It
knows the alignment of arrays in shared memory, but of arrays in global memory only that of their
elements.  nvcc 13.0 for sm_86 turns ``a[row, k]`` and ``b[k, i]`` in unrolled loops of 16 steps and
8 columns into one LDS.128 of four floats, or one LDS.64 of four halves, along either loop.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access, Buffer, Statement

from ...tree.context import EnclosingLoop, LoopContext, dtype_bytes
from ..mapping.lane_offsets import IntArray, element_offsets

# Limits of one merged instruction (see above).
MAX_JOINED_ELEMENTS = 4
MAX_JOINED_BYTES = 16


def join_shared_accesses(
    access: Access,
    statement: Statement,
    buffer: Buffer,
    context: LoopContext,
    env: Mapping[str, Any],
) -> int:
    """Elements of consecutive unrolled iterations that one instruction moves."""
    if not buffer.scope.startswith("shared") or access.guard is not None:
        return 1
    others = (one for one in statement.accesses if one is not access)
    if any(one.buffer == access.buffer for one in others):
        return 1  # a store may write what the next iteration loads
    most = min(MAX_JOINED_ELEMENTS, int(MAX_JOINED_BYTES / dtype_bytes(buffer.dtype)))
    chosen = frozenset[str]().union(*map(free_variables, context.conditions))
    for loop in _unrolled_loops(context):
        number = loop.extent or 1
        while number % most:
            most //= 2
        if most > 1 and loop.var not in chosen:
            found = _aligned_vector(access, buffer, context, env, loop, most)
            if found > 1:
                return found
        most = min(MAX_JOINED_ELEMENTS, int(MAX_JOINED_BYTES / dtype_bytes(buffer.dtype)))
    return 1


def _unrolled_loops(context: LoopContext) -> Iterator[EnclosingLoop]:
    """The enclosing unrolled loops, from the innermost."""
    for loop in reversed(context.loops):
        if loop.kind != "unroll":
            return
        yield loop


def _aligned_vector(
    access: Access,
    buffer: Buffer,
    context: LoopContext,
    env: Mapping[str, Any],
    loop: EnclosingLoop,
    most: int,
) -> int:
    """The longest vector along `loop` that is aligned in every iteration."""
    first = element_offsets(access, buffer, context, env)
    if first is None:
        return 1
    steps: list[IntArray] = []
    for other in context.loops:
        if other.kind in ("grid", "cluster", "block") or (other.extent or 1) == 1:
            continue
        moved = element_offsets(access, buffer, context, {**env, other.var: env[other.var] + 1})
        if moved is None:
            return 1
        step = moved - first
        if other.var == loop.var:
            if not np.all(step == 1):
                return 1
        else:
            steps.append(step)
    while most > 1 and any(np.any(offset % most) for offset in (first, *steps)):
        most //= 2
    return most
