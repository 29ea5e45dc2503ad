"""Addresses as sums of strides, and how many cache lines they touch.

An access is ``constant + sum(stride * digit)`` in bytes, where a digit is a loop variable or what
schedules make of fused ones (``i // 64``, ``i % 64``).  With some of the loops running, the digits
have so many values each, and the bytes touched are a run, repeated at larger strides.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    linear,
    simplify,
)
from tirlens_counting.intervals import Interval, bounds
from tirlens_worker.facts import Access, Buffer, Expr

from ..dtypes import bits
from ..tree.context import LoopContext

# Of x86-64, and of Arm as Linux mostly runs there.
LINE_BYTES = 64
PAGE_BYTES = 4096


@dataclass(frozen=True)
class Address:
    """One access as strides in bytes; `size` bytes at a time, in an array of `array_bytes`.

    `path` are the operations from what is read there to the statement's result.
    """

    buffer: str
    mode: str
    size: int
    array_bytes: int
    constant: int
    terms: tuple[tuple[Expr, int], ...]
    variables: frozenset[str]
    path: tuple[str, ...] | None = field(default=None, compare=False)

    def stride(self, var: str, ranges: Mapping[str, Interval]) -> int | None:
        """Bytes from one value of a loop variable to the next; None if that depends on data."""
        if var not in self.variables:
            return 0
        total = 0
        for atom, factor in self.terms:
            if atom == var:
                total += factor
            elif var in free_variables(atom):
                step = _step(atom, var, tuple(sorted(ranges.items())))
                if step is None:
                    return None
                total += factor * step
        return total


@lru_cache(maxsize=4096)
def _step(atom: Expr, var: str, ranges: tuple[tuple[str, Interval], ...]) -> int | None:
    env = {name: int(reach[0]) if math.isfinite(reach[0]) else 0 for name, reach in ranges}
    try:
        first = evaluate(atom, env)
        return int(evaluate(atom, {**env, var: env.get(var, 0) + 1}) - first)
    except (UnknownValueError, TypeError, KeyError):
        return None


def address_of(access: Access, buffer: Buffer, shape: Sequence[int], place: LoopContext) -> Address:
    """The address of an access in a compact or strided array whose shape is known."""
    width = bits(buffer.dtype) or 32
    strides: list[Expr] = list(buffer.strides)
    if len(strides) != len(access.indices):
        strides = [math.prod(shape[axis + 1 :]) for axis in range(len(access.indices))]
    flat: Expr = 0
    for index, step in zip(access.indices, strides, strict=True):
        flat = ("+", flat, ("*", place.resolve(index), step))
    terms, constant = linear(simplify(_rejoined(*linear(simplify(flat)))))
    scaled = tuple((atom, factor * width // 8) for atom, factor in terms.items())
    names = frozenset[str]().union(*(free_variables(atom) for atom in terms))
    return Address(
        buffer=access.buffer,
        mode=access.mode,
        size=max(width * max(access.lanes, 1) // 8, 1),
        array_bytes=max(math.prod(shape) * width // 8, 1),
        constant=constant * width // 8,
        terms=scaled,
        variables=names,
        path=access.path,
    )


def _rejoined(terms: Mapping[Expr, int], constant: int) -> Expr:
    """A sum in which a value's quotient and remainder by one number are the value again."""
    out: Expr = constant
    left = dict(terms)
    for atom, factor in terms.items():
        if not (isinstance(atom, tuple) and atom[0] == "//" and type(atom[2]) is int):
            continue
        rest: Expr = ("%", atom[1], atom[2])
        if left.get(rest, 0) * atom[2] == factor:
            out = ("+", out, ("*", atom[1], left.pop(rest)))
            del left[atom]
    for atom, factor in left.items():
        out = ("+", out, ("*", atom, factor))
    return out


@dataclass(frozen=True)
class Pattern:
    """`run` bytes in a row, at every combination of the `copies`: (stride in bytes, how many).

    Its lines are of `line` bytes: those of a cache, or the pages of a TLB.
    """

    run: int
    copies: tuple[tuple[int, int], ...]
    line: int = LINE_BYTES

    @property
    def lines(self) -> float:
        """How many lines the pattern touches."""
        return max(self.run / self.line, 1.0) * math.prod(count for _, count in self.copies)

    def sets_used(self, sets: int, period: int) -> float:
        """Cache sets that the pattern falls into, where addresses a `period` apart share one."""
        used = max(self.run / self.line, 1.0)
        for stride, count in self.copies:
            used *= min(count, period // math.gcd(stride, period))
        spread = sets * self.line / period
        return min(used, period / self.line) * spread

    def covers(self, offset: int) -> bool:
        """Whether an access shifted by `offset` bytes touches much the same bytes."""
        for stride, count in sorted(self.copies, reverse=True):
            steps = round(offset / stride)
            if abs(steps) < count:
                offset -= steps * stride
        return abs(offset) < max(self.run, self.line)


def pattern(digits: Sequence[tuple[int, int]], size: int, line: int = LINE_BYTES) -> Pattern:
    """The bytes of digits given as (stride in bytes, number of values)."""
    run = size
    copies: list[tuple[int, int]] = []
    for stride, count in sorted((abs(stride), count) for stride, count in digits):
        if count <= 1 or not stride:
            continue
        if not copies and stride < run + line:
            run += stride * (count - 1)
        elif copies and stride == copies[-1][0]:
            copies[-1] = (stride, copies[-1][1] + count - 1)
        else:
            copies.append((stride, count))
    return Pattern(run, tuple(copies), line)


def digit_values(
    atom: Expr, free: frozenset[str], place: LoopContext, extents: Mapping[str, int]
) -> int:
    """How many values a digit has while the loops over `free` run."""
    if isinstance(atom, str):
        return extents.get(atom, 1) if atom in free else 1
    names = free_variables(atom) & free
    if not names:
        return 1
    most = math.prod(extents.get(name, 1) for name in names)
    if is_data_dependent(atom):
        return most
    pinned = {
        name: reach if name in free else (reach[0], reach[0])
        for name, reach in place.ranges.items()
    }
    low, high = bounds(atom, pinned)
    return min(most, int(high - low) + 1) if math.isfinite(high - low) else most
