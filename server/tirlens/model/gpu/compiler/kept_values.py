"""Which values the compiler keeps in registers of the arrays that a program has there.

The elements of an array that is computed from smaller operands are computed where a later statement
of the same straight-line code uses them, one after the other: of the single-precision copy of a
tile of halves that is only summed up, no more than some elements exist at a time.  tilelang's
reductions of 128 halves a thread take 74 to 77 registers, 64 of them for loads (ptxas 13.0 for
sm_90a, `tests/measured/compiled.csv`); the copy alone would take 128.  Special functions have no
fixed latency: so that they overlap, all elements are computed at once (softmax of 32 values a
thread takes 95).

An array of halves that several statements convert is converted once, and kept in single precision:
the norm of 128 halves a thread takes 199 registers, 128 and 64 of weights that are loaded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from tirlens_worker.facts import Copy, Evaluate, Store

from ...tree.context import dtype_bytes
from ...tree.node import Leaf
from .instruction_costs import INSTRUCTIONS_PER_OPERATION
from .live_ranges import REGISTER_BYTES, LiveRange, Unit


def kept_values(
    lives: Mapping[Unit, LiveRange], passing: Collection[Unit], leaves: Sequence[Leaf]
) -> list[LiveRange]:
    """The live ranges of the values that are kept of the arrays with the live ranges `lives`.

    Parameters
    ----------
    lives
        The live range of each array.
    passing
        The arrays that are live in one piece of straight-line code alone.
    leaves
        The statements in program order.
    """
    found = {name: replace(life) for name, life in lives.items()}
    read_by: dict[int, list[Unit]] = defaultdict(list)
    for name, life in found.items():
        life.bytes *= _widening(life, leaves)
        for number in life.read_in:
            read_by[number].append(name)
    # What the elements of each array that is not kept are computed from.
    sources: dict[Unit, set[Unit]] = {}
    for name in sorted(passing, key=lambda name: found[name].first):
        life = found[name]
        if not _is_computed_at_use(life, leaves):
            continue
        operands = {
            source
            for number in life.written_in
            for operand in read_by[number]
            if operand != name
            for source in sources.get(operand, {operand})
        }
        ending = [found[source] for source in operands if found[source].last < life.last]
        if sum(source.bytes for source in ending) < life.bytes:
            sources[name] = operands
            for source in ending:
                source.last = life.last
    return [life for name, life in found.items() if name not in sources]


def _widening(life: LiveRange, leaves: Sequence[Leaf]) -> float:
    """The registers of an array as it is kept over those of its own type."""
    conversions = sum(_converts(leaves[number], life.dtype) for number in life.read_in)
    return max(REGISTER_BYTES / dtype_bytes(life.dtype), 1.0) if conversions > 1 else 1.0


def _converts(leaf: Leaf, dtype: str) -> bool:
    """Whether a statement converts elements of a type to single precision."""
    return isinstance(leaf.source, (Store, Evaluate)) and any(
        (entry.arith.op, entry.arith.dtype, entry.arith.accumulator) == ("cast", dtype, "float32")
        for entry in leaf.count.arith
    )


def _is_computed_at_use(life: LiveRange, leaves: Sequence[Leaf]) -> bool:
    """Whether elements are computed by instructions of fixed latency, and then computed with."""
    makers = [leaves[number] for number in life.written_in]
    users = [leaves[number] for number in life.read_in]
    return all(map(_has_fixed_latency, makers)) and not any(
        isinstance(user.source, Copy) for user in users
    )


def _has_fixed_latency(leaf: Leaf) -> bool:
    """Whether a statement computes single elements without special functions or global loads."""
    if not isinstance(leaf.source, (Store, Evaluate)) or leaf.read_bytes != 0:
        return False
    return not any(
        "sfu" in INSTRUCTIONS_PER_OPERATION.get(entry.arith.op, {}) for entry in leaf.count.arith
    )
