"""The longest vector of neighbouring elements that one instruction of a thread can move.

`thread_mapping` has the rules.  Addresses are element offsets at the first points of a tile.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from tirlens_counting.expressions import (
    conjuncts,
    evaluate,
    free_variables,
    is_data_dependent,
    linear,
    operators,
    simplify,
)
from tirlens_worker.facts import Access, Buffer, Expr

from ...tree.context import LoopContext, dtype_bytes
from .lane_offsets import IntArray

# Of one load or store (see `memory_requests`).
MAX_VECTOR_BYTES = 16
SELECTS = frozenset({"select", "opaque", "load"})


def divisible_vector(total: int, innermost: int, threads: int) -> int:
    """The longest power-of-two vector that divides `total` elements evenly over `threads`.

    A vector is within one row of `innermost` elements.
    """
    vector = math.gcd(MAX_VECTOR_BYTES, max(innermost, 1))
    while vector > 1 and total % (threads * vector):
        vector //= 2
    return vector


def has_selected_index(access: Access, context: LoopContext) -> bool:
    """Whether a condition selects an index, which the compiler does not vectorise."""
    return any(
        not operators(context.resolve(index)).isdisjoint(SELECTS) for index in access.indices
    )


def has_unaligned_start(access: Access, context: LoopContext) -> bool:
    """Whether the position of an access in its row is data, so that no alignment is known."""
    return bool(access.indices) and is_data_dependent(context.resolve(access.indices[-1]))


def contiguous_vector(offset: IntArray, buffer: Buffer, most: int) -> int:
    """The longest vector of at most 16 bytes whose elements are contiguous, or all equal."""
    limit = max(int(MAX_VECTOR_BYTES / dtype_bytes(buffer.dtype)), 1)
    while most > limit:
        most //= 2
    return aligned_vector(offset, most)


def aligned_vector(offset: IntArray, most: int) -> int:
    """The longest vector whose elements are contiguous and aligned, or all equal."""
    vector = most
    while vector > 1:
        rows = group_values(offset, vector)
        steps = rows[:, 1:] - rows[:, :-1]
        if len(rows) and (steps == 1).all() and not (rows[:, 0] % vector).any():
            return vector
        if len(rows) and not steps.any():
            return vector
        vector //= 2
    return 1


def uniform_vector(
    conditions: Sequence[Expr],
    context: LoopContext,
    env: Mapping[str, Any],
    vector: int,
    along: str | None = None,
) -> int:
    """The longest vector for whose elements each condition has one value.

    The elements are `along` a loop, by default the innermost tile loop.
    """
    if along is None:
        along = next(
            (loop.var for loop in reversed(context.loops) if loop.kind == "parallel"), None
        )
    for condition in conditions:
        if vector == 1:
            return 1
        resolved = context.resolve(condition)
        if is_data_dependent(resolved) or not all(name in env for name in free_variables(resolved)):
            continue
        for bound in _unit_bounds(resolved, along):
            vector = math.gcd(vector, abs(bound)) if bound else vector
        holds = np.asarray(evaluate(resolved, env), dtype=bool)
        if holds.ndim == 0:
            continue
        while vector > 1:
            rows = group_values(holds, vector)
            if bool(np.all(rows.all(axis=1) == rows.any(axis=1))):
                break
            vector //= 2
    return vector


def _unit_bounds(condition: Expr, along: str | None) -> Iterator[int]:
    """The constants of a condition's comparisons in which a loop variable has the factor 1.

    ``base + i < n`` splits a vector unless `n` is a multiple of its length, as the base is.
    """
    if along is None:
        return
    for part in conjuncts(condition):
        if isinstance(part, tuple) and part[0] in ("<", ">="):
            terms, constant = linear(simplify(("-", part[1], part[2])))
            if abs(terms.get(along, 0)) == 1:
                yield constant


def group_values(values: npt.NDArray[Any], vector: int) -> Any:
    """The values in groups of `vector`, without an incomplete last group."""
    whole: Any = values[: len(values) // vector * vector]
    return whole.reshape(-1, vector)
