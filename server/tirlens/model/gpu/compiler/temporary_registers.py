"""Registers in which a thread's loads wait for their data, and those of what it computes.

A thread starts the loads of all of its elements before it needs the first, each into registers of
its own, and the compiler computes its elements side by side, so that each has its intermediate
values at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from tirlens_worker.facts import Evaluate, Gemm, Store

from ...dtypes import is_float
from ...tree.context import dtype_bytes
from ...tree.node import CostNode, leaves_of
from .liveness import REGISTER_BYTES, REGISTER_SCOPES

# Values of an element at the same time, beside what it is made of: ptxas 13.0 for sm_90a gives a
# thread of eight halves 26 registers for their exp, 28 for log, 32 for tanh, 38 to 40 for erf, and
# 14 for their absolute values (`tests/measured/compiled.csv`).
VALUES_PER_ELEMENT: Mapping[str, float] = {
    "log": 1.5,
    "log1p": 1.5,
    "log2": 1.5,
    "tanh": 2.0,
    "erf": 3.0,
}
# Of more elements than these one follows the other (the eight of the measured kernels above).
MAX_INTERLEAVED_ELEMENTS = 8


def count_temporaries(items: Sequence[CostNode]) -> int:
    """The registers of the intermediate values of a thread's elements.

    How many of them the compiler has side by side is known of tiles; code of single threads is
    taken to have the most.
    """
    most = 0.0
    for leaf in leaves_of(items):
        if leaf.source.per == "thread":
            most = max(most, MAX_INTERLEAVED_ELEMENTS)
            continue
        computed = [entry.arith for entry in leaf.count.arith if is_float(entry.arith.dtype)]
        if not computed or isinstance(leaf.source, Gemm):
            continue
        spread = leaf.mapping
        mine = 1.0 if spread is None else spread.vector * spread.repeats
        values = sum(VALUES_PER_ELEMENT.get(arith.op, 0.0) for arith in computed)
        most = max(most, max(values, 1.0) * min(mine, MAX_INTERLEAVED_ELEMENTS))
    return math.ceil(most)


def count_loading_registers(items: Sequence[CostNode], most: int) -> int:
    """The registers, at most `most`, in which a thread's loads for one tile loop wait for data.

    A half has a register for itself where it is loaded alone.
    """
    bodies: dict[tuple[str, ...], float] = {}
    for leaf in leaves_of(items):
        spread = leaf.mapping
        is_elementwise = isinstance(leaf.source, (Evaluate, Store))
        if not is_elementwise or spread is None or spread.is_serial:
            continue
        tiles = tuple(loop.var for loop in leaf.context.loops if loop.kind == "parallel")
        kept = {entry.buffer.scope for entry in leaf.count.accesses if entry.access.mode == "write"}
        if not tiles or any(scope.startswith(REGISTER_SCOPES) for scope in kept):
            continue
        for entry in leaf.count.accesses:
            if entry.access.mode == "read" and entry.buffer.scope == "global":
                size = math.ceil(spread.vector * dtype_bytes(entry.buffer.dtype) / REGISTER_BYTES)
                bodies[tiles] = bodies.get(tiles, 0.0) + size * spread.repeats
    return math.ceil(min(max(bodies.values(), default=0.0), most))
