"""Loads and stores of shared memory that the compiler joins into vectors.

LLVM's LoadStoreVectorizer, which NVVM runs, makes one instruction of the accesses of straight code
whose places are neighbours: of up to four elements and 16 bytes, where the first one's place is a
multiple of that.  It knows where arrays lie in shared memory; of one in global memory it knows no
more than that its elements are aligned.  nvcc 13.0 for sm_86 makes of ``a[row, k]`` and ``b[k, i]``
in unrolled loops over 16 steps and 8 columns one LDS.128 of four floats, or one LDS.64 of four
halves, whether the neighbours are turns of the inner loop or of the outer one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Access, Buffer, Statement

from ...tree.context import EnclosingLoop, LoopContext, dtype_bytes
from ..mapping.lane_offsets import IntArray, element_offsets

# Of one instruction, as told above.
MAX_JOINED_ELEMENTS = 4
MAX_JOINED_BYTES = 16


def join_shared_accesses(
    access: Access, statement: Statement, buffer: Buffer, place: LoopContext, env: Mapping[str, Any]
) -> int:
    """How many elements one instruction moves that the program moves in turns of unrolled loops."""
    if not buffer.scope.startswith("shared") or access.guard is not None:
        return 1
    others = (one for one in statement.accesses if one is not access)
    if any(one.buffer == access.buffer for one in others):
        return 1  # what is stored may be what the next turn loads
    most = min(MAX_JOINED_ELEMENTS, int(MAX_JOINED_BYTES / dtype_bytes(buffer.dtype)))
    chosen = frozenset[str]().union(*map(free_variables, place.conditions))
    for loop in _unrolled_loops(place):
        number = loop.extent or 1
        while number % most:
            most //= 2
        if most > 1 and loop.var not in chosen:
            found = _aligned_vector(access, buffer, place, env, loop, most)
            if found > 1:
                return found
        most = min(MAX_JOINED_ELEMENTS, int(MAX_JOINED_BYTES / dtype_bytes(buffer.dtype)))
    return 1


def _unrolled_loops(place: LoopContext) -> Iterator[EnclosingLoop]:
    """The loops around whose turns are straight code, from the inside out."""
    for loop in reversed(place.loops):
        if loop.kind != "unroll":
            return
        yield loop


def _aligned_vector(
    access: Access,
    buffer: Buffer,
    place: LoopContext,
    env: Mapping[str, Any],
    loop: EnclosingLoop,
    most: int,
) -> int:
    """The longest vector along `loop` that starts at a multiple of its length in every turn."""
    first = element_offsets(access, buffer, place, env)
    if first is None:
        return 1
    steps: list[IntArray] = []
    for other in place.loops:
        if other.kind in ("grid", "cluster", "block") or (other.extent or 1) == 1:
            continue
        moved = element_offsets(access, buffer, place, {**env, other.var: env[other.var] + 1})
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
