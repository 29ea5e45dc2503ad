"""The registers of sampled threads of a launch."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from ..instruction import Instruction
from ..operands import NamedRegister, Operand
from ..registers import Registers, results_of
from .lanes import UNKNOWN, WORD, Lanes, as_unsigned, constant, where
from .launch import Launch
from .semantics import evaluate
from .stack_slots import stack_slot

_ADDRESS = re.compile(r"cx?\[(0x[0-9a-f]+)\]\[(0x[0-9a-f]+)\]")
_WARP = 32
# The multiples of its inverse powers fill the unit cube evenly, so that a few blocks have all kinds
# of indices in each axis. Source: M. Roberts, "The Unreasonable Effectiveness of Quasirandom
# Sequences", 2018: the real root of x^4 = x + 1.
_ROOT = 1.2207440846057596
_WRITABLE = ("register", "predicate", "other", "label")
_MASK = np.uint64(WORD)
_SHIFT = np.uint64(32)


class Sample:
    """Which threads are evaluated.

    With `by_lane` there is an element for each thread of the sampled blocks, else one for each
    block, whose threads all do the same. Blocks that differ only in axes of the grid that are not
    in `axes` do the same. Blocks have whole warps; threads that do not exist are not in `active`.
    """

    def __init__(
        self, launch: Launch, most_elements: int, by_lane: bool, axes: Collection[str]
    ) -> None:
        warps = -(-launch.threads // _WARP)
        self.group = _WARP if by_lane else 1
        per_block = warps * _WARP if by_lane else 1
        grid = [n if axis in axes else 1 for axis, n in _by_axis(launch.grid)]
        total = grid[0] * grid[1] * grid[2]
        count = min(total, max(1, most_elements // per_block))
        #: Whether every block is evaluated, or does the same as one that is.
        self.is_complete = count == total
        self.blocks = count
        numbers = np.arange(count, dtype=np.int64)
        if not self.is_complete:
            numbers = _sample_blocks(count, grid)
        block = np.repeat(numbers, per_block)
        thread = np.tile(np.arange(per_block, dtype=np.int64), count)
        self.active = thread < launch.threads
        self._warps_of_group = warps / (per_block // self.group)
        self._threads_of_element = 1.0 if by_lane else float(launch.threads)
        self.special = {
            **_axes("SR_CTAID", block, grid),
            **_axes("SR_TID", thread, launch.block),
            "SR_LANEID": constant_lanes(thread % _WARP),
            "SR_LANE": constant_lanes(thread % _WARP),
            **{f"SR_NCTAID.{axis}": constant(n) for axis, n in _by_axis(launch.grid)},
            **{f"SR_NTID.{axis}": constant(n) for axis, n in _by_axis(launch.block)},
            "SRZ": constant(0),
        }

    def warps(self, mask: Any) -> float:
        """The warps of a block with a thread in `mask`, on average over the blocks."""
        groups = mask.reshape(-1, self.group).any(axis=1)
        return float(groups.sum()) * self._warps_of_group / self.blocks

    def by_warp(self, mask: Any) -> Any:
        """The share of the blocks in which each warp has a thread in `mask`, as an array.

        It has one element where all threads of a block do the same.
        """
        return mask.reshape(self.blocks, -1, self.group).any(axis=2).mean(axis=0)

    def threads(self, mask: Any) -> float:
        """The threads of a block in `mask`, on average over the blocks."""
        return float(mask.sum()) * self._threads_of_element / self.blocks


def _sample_blocks(count: int, grid: Sequence[int]) -> Any:
    """The numbers of `count` blocks of a grid."""
    steps = np.arange(count, dtype=np.float64)
    number: Any = np.zeros(count, dtype=np.int64)
    stride = 1
    for axis, extent in enumerate(grid):
        part: Any = np.floor((0.5 + steps * _ROOT ** -(axis + 1)) % 1.0 * extent)
        number = number + part.astype(np.int64) * stride
        stride *= extent
    return number


def _by_axis(extents: Sequence[int]) -> list[tuple[str, int]]:
    return list(zip("XYZ", extents, strict=True))


def _axes(name: str, number: Any, extents: Sequence[int]) -> dict[str, Lanes]:
    x, y = extents[0], extents[1]
    parts = (number % x, number // x % y, number // (x * y))
    return {f"{name}.{axis}": constant_lanes(part) for axis, part in zip("XYZ", parts, strict=True)}


def constant_lanes(values: Any) -> Lanes:
    """Known values that differ between threads."""
    return Lanes(np.asarray(values).astype(np.uint64))


class ThreadState:
    """The registers of the threads of a sample, by file and number."""

    def __init__(self, sample: Sample, bank: Mapping[int, int]) -> None:
        self.registers: dict[tuple[str, int], Lanes] = {}
        self.mask: Any = sample.active
        self._sample = sample
        self._bank = bank
        self._constants: dict[tuple[str, int], Lanes] = {}

    def step(self, one: Instruction, results: Sequence[Registers | None]) -> None:
        """Execute an instruction in the threads of `mask` for which its guard holds.

        `results` are those of `results_in_order`. Where it is not known whether the guard holds,
        neither are the results.
        """
        mask = self.mask
        doubt: Any = None
        if one.guard is not None:
            holds = self.condition(one)
            mask = mask & (holds.values != 0)
            if not holds.is_known:
                doubt = self.mask & ~np.asarray(holds.known)
                mask = mask | doubt
            if not mask.any():
                return
        outer, self.mask = self.mask, mask
        values = evaluate(one, self)
        self.mask = outer
        for position, registers in enumerate(results):
            if registers is None:
                continue
            value = values[position] if position < len(values) else UNKNOWN
            if doubt is not None:
                value = Lanes(value.values, np.asarray(value.known) & ~doubt)
            self._write(registers, value, mask)

    def condition(self, one: Instruction) -> Lanes:
        """Whether the guard of an instruction holds."""
        guard = one.guard
        if guard is None or guard.is_constant:
            return constant(int(guard is None or not guard.is_negated))
        value = self.registers.get((guard.file, guard.number), UNKNOWN)
        return Lanes(value.values ^ np.uint64(1), value.known) if guard.is_negated else value

    def _write(self, registers: Registers, value: Lanes, mask: Any) -> None:
        is_everywhere = mask is self._sample.active or mask.all()
        if not is_everywhere and value is UNKNOWN and registers.count == 1:
            before = self.registers.get((registers.file, registers.first))
            if before is None or before.known is False:
                return
        for offset in range(registers.count or 1):
            part = value
            if registers.count != 1:
                word = value.values >> _SHIFT if offset == 1 else value.values
                part = Lanes(word & _MASK, value.known if offset < 2 else False)
            key = registers.file, registers.first + offset
            if not is_everywhere:
                part = part.merge(self.registers.get(key, UNKNOWN), mask)
            self.registers[key] = part

    # What `semantics.Threads` asks for.

    def read(self, operand: Operand, bits: int = 32) -> Lanes:
        """The value of an operand; a predicate is 0 or 1."""
        if operand.kind == "predicate":
            return self._predicate(operand)
        if operand.kind == "register":
            value = self._register(operand, bits)
            return value if operand.text[0] in "RU" else _with_signs(value, operand.text, bits)
        key = operand.text, bits
        value = self._constants.get(key)
        if value is None:
            if operand.kind == "constant":
                value = _with_signs(self._constant(operand.text, bits), operand.text, bits)
            else:
                value = _immediate(operand.text, bits) if operand.kind == "other" else UNKNOWN
            self._constants[key] = value
        return value

    def _predicate(self, operand: Operand) -> Lanes:
        text = operand.text
        if not operand.registers:
            return constant(int(not text.startswith("!")))
        register = operand.registers[0]
        value = self.registers.get((register.file, register.number), UNKNOWN)
        return Lanes(value.values ^ np.uint64(1), value.known) if text[0] == "!" else value

    def _register(self, operand: Operand, bits: int) -> Lanes:
        if not operand.registers:
            return constant(0)
        register: NamedRegister = operand.registers[0]
        if {"H0_H0", "H1_H1", "B0", "B1", "B2", "B3"} & set(register.suffixes):
            return UNKNOWN
        return self.words(Registers(register.file, register.number), bits)

    def words(self, registers: Registers, bits: int) -> Lanes:
        """The value of the first of some registers, of a pair for 64 bits."""
        low = self.registers.get((registers.file, registers.first), UNKNOWN)
        if bits == 32:
            return low
        high = self.registers.get((registers.file, registers.first + 1), UNKNOWN)
        return Lanes(low.values | high.values << _SHIFT, low.known & high.known)

    def _constant(self, text: str, bits: int) -> Lanes:
        match = _ADDRESS.search(text)
        if match is None or int(match[1], 16) != 0:
            return UNKNOWN
        offset = int(match[2], 16)
        words = [self._bank.get(offset + 4 * n) for n in range(bits // 32)]
        if None in words:
            return UNKNOWN
        return constant(sum((word or 0) << 32 * n for n, word in enumerate(words)))

    def special(self, name: str) -> Lanes:
        """The value of a special register."""
        return self._sample.special.get(name, UNKNOWN)

    def ballot(self, predicate: Lanes) -> Lanes:
        """The active lanes of each warp for which a predicate holds, as bits."""
        shape = self._sample.active.shape
        group = self._sample.group
        holds = np.broadcast_to(predicate.values != 0, shape)
        if group == 1:
            return Lanes(where(holds, _MASK, np.uint64(0)), predicate.known)
        bits: Any = (holds & self.mask).reshape(-1, group)
        known: Any = (np.broadcast_to(predicate.known, shape) | ~self.mask).reshape(-1, group)
        words = _as_words(bits)
        return Lanes(np.repeat(words, group), np.repeat(known.all(axis=1), group))

    def is_elected(self) -> Lanes:
        """Whether a thread is the first active one of its warp."""
        masks = self.mask.reshape(-1, self._sample.group)
        first = masks & (np.cumsum(masks, axis=1) == 1)
        return constant_lanes(first.reshape(-1))

    def from_lane(self, value: Lanes, lane: Lanes) -> Lanes:
        """The value of another lane of the warp; not known unless the lane is one constant."""
        if np.ndim(lane.values) or not np.all(lane.known):
            return UNKNOWN
        if not np.ndim(value.values) and not np.ndim(value.known):
            return value
        shape, group = self._sample.active.shape, self._sample.group
        place = int(lane.values) % group
        values, known = (
            np.repeat(_by_group(np.broadcast_to(part, shape), group)[:, place], group)
            for part in (value.values, value.known)
        )
        return Lanes(values, known)


def _as_words(bits: Any) -> Any:
    """Rows of bits as integers, the lowest first."""
    return bits.astype(np.uint64) @ np.array([1 << n for n in range(_WARP)], np.uint64)


def _by_group(values: Any, group: int) -> Any:
    return values.reshape(-1, group)


def results_in_order(one: Instruction) -> list[Registers | None]:
    """The registers of each result in the order of the operands; None of a constant register."""
    if one.registers is None:
        return []
    if one.name == "STL":
        return [stack_slot(one)]
    writes = iter(one.registers.writes)
    if one.name == "R2P":
        return list(writes)
    count = results_of(one.name, one.modifiers, one.operands)
    return [
        next(writes, None) if operand.registers and operand.kind in _WRITABLE else None
        for operand in one.operands[:count]
    ]


def _with_signs(value: Lanes, text: str, bits: int) -> Lanes:
    ones = np.uint64(2**bits - 1)
    if text.startswith("~"):
        return Lanes(value.values ^ ones, value.known)
    if text.startswith("-"):
        return Lanes(as_unsigned(~value.values + np.uint64(1), bits), value.known)
    return UNKNOWN if "|" in text else value


def _immediate(text: str, bits: int) -> Lanes:
    try:
        return constant(int(text, 0) & (2**bits - 1))
    except ValueError:
        return UNKNOWN
