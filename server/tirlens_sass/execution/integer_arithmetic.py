"""Integer arithmetic: sums with carries, products, shifts, extrema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..instruction import Instruction
from ..operands import Operand
from .evaluators import ONE, Threads, known_where, of, source_operands
from .lanes import UNKNOWN, WORD, Lanes, as_signed, as_unsigned, constant, where


def _addends(one: Instruction, threads: Threads, count: int) -> tuple[Lanes, list[Lanes]]:
    """The sum of the sources and of the carries that come in, and the results before it."""
    place = 1
    while one.operands[place].kind == "predicate":
        place += 1
    bits = 64 if "64" in one.modifiers else 32
    parts: list[Lanes] = []
    for operand in one.operands[place : place + count]:
        if operand.text.startswith("-") and operand.kind in ("register", "constant"):
            # The carry is that of the complement and one.
            positive = threads.read(_without_sign(operand), bits)
            inverse = ~positive.values & np.uint64(2**bits - 1)
            parts.append(Lanes(inverse + ONE if bits == 32 else inverse, positive.known))
            if bits == 64:
                parts.append(constant(1))
        else:
            parts.append(threads.read(operand, bits))
    if "X" in one.modifiers:
        parts += [threads.read(operand) for operand in one.operands[place + count :]]
    total = parts[0].values
    for part in parts[1:]:
        total = total + part.values
    return Lanes(total, known_where(*parts)), [UNKNOWN] * (place - 1)


def _without_sign(operand: Operand) -> Operand:
    return Operand(operand.text.lstrip("-"), operand.kind, operand.registers)


@of("IADD3", "UIADD3", "IADD", "IADD32I", "VIADD", "UVIADD")
def _add(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    total, carries = _addends(one, threads, 3 if one.name.endswith("3") else 2)
    if "64" in one.modifiers:
        return (total,)
    low = Lanes(total.values & np.uint64(WORD), total.known)
    high = total.values >> np.uint64(32)
    outs = [Lanes((high > np.uint64(n)).astype(np.uint64), total.known) for n in (0, 1)]
    return (low, *outs[: len(carries)])


@of("IMAD", "UIMAD", "IMUL")
def _multiply_add(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    sources = source_operands(one)
    first, second = (threads.read(operand) for operand in sources[:2])
    is_wide = bool({"WIDE", "HI"} & set(one.modifiers))
    third = threads.read(sources[2], 64 if is_wide else 32) if len(sources) > 2 else constant(0)
    is_unsigned = "U32" in one.modifiers
    left = first.values if is_unsigned else as_unsigned(as_signed(first.values), 64)
    right = second.values if is_unsigned else as_unsigned(as_signed(second.values), 64)
    total = left * right + third.values
    known = known_where(first, second, third)
    if "X" in one.modifiers:
        carries = [threads.read(o) for o in one.operands[2:] if o.kind == "predicate"]
        total = total + sum((carry.values for carry in carries[-1:]), np.uint64(0))
        known = known & known_where(*carries[-1:])
    if "HI" in one.modifiers:
        return (Lanes(total >> np.uint64(32), known),)
    return (Lanes(total if is_wide else total & np.uint64(WORD), known),)


@of("LEA", "ULEA")
def _scaled_add(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    sources = source_operands(one)
    carries = 0
    while one.operands[1 + carries].kind == "predicate":
        carries += 1
    shift = threads.read(sources[-1])
    low, base = threads.read(sources[0]), threads.read(sources[1])
    high = constant(0)
    if "SX32" in one.modifiers:
        high = Lanes(as_unsigned(as_signed(low.values) >> 31), low.known)
    elif len(sources) > 3:
        high = threads.read(sources[2])
    amount = shift.values & np.uint64(31)
    wide = (high.values << np.uint64(32)) | low.values
    known = known_where(shift, low, base, high)
    if "HI" in one.modifiers:
        part = (wide << amount) >> np.uint64(32)
    else:
        part = (low.values << amount) & np.uint64(WORD)
    total = part + base.values
    if "X" in one.modifiers:
        carry = threads.read(one.operands[-1])
        total, known = total + carry.values, known & carry.known
    out = Lanes(total >> np.uint64(32), known)
    return (Lanes(total & np.uint64(WORD), known), *[out] * carries)


@of("SHF", "USHF")
def _shift(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    low, amount, high = (threads.read(operand) for operand in source_operands(one)[:3])
    known = known_where(low, amount, high)
    most = np.uint64(63 if {"U64", "S64"} & set(one.modifiers) else 32)
    count = (
        amount.values & np.uint64(31) if "W" in one.modifiers else np.minimum(amount.values, most)
    )
    wide = (high.values << np.uint64(32)) | low.values
    if "L" in one.modifiers:
        moved = wide << count
    elif {"S32", "S64"} & set(one.modifiers):
        moved = as_unsigned(as_signed(wide, 64) >> count.astype(np.int64), 64)
    else:
        moved = wide >> count
    if "HI" in one.modifiers:
        moved = moved >> np.uint64(32)
    return (Lanes(moved & np.uint64(WORD), known),)


@of("IMNMX", "UIMNMX", "VIMNMX", "UVIMNMX", "VIADDMNMX", "UVIADDMNMX")
def _extremum(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    bits = 64 if {"U64", "S64"} & set(one.modifiers) else 32
    parts = [threads.read(operand, bits) for operand in source_operands(one)]
    if "ADD" in one.name:
        total = as_unsigned(parts[0].values + parts[1].values)
        parts = [Lanes(total, known_where(*parts[:2])), parts[2]]
    is_minimum = threads.read(one.operands[-1])
    a, b = parts[0].values, parts[1].values
    if not {"U32", "U64"} & set(one.modifiers):
        a, b = as_signed(a, bits), as_signed(b, bits)
    chosen: Any = where(is_minimum.values != 0, np.minimum(a, b), np.maximum(a, b))
    return (Lanes(as_unsigned(chosen, bits), known_where(*parts, is_minimum)),)


@of("IABS", "UIABS")
def _absolute(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    value = threads.read(one.operands[1])
    return (Lanes(as_unsigned(np.abs(as_signed(value.values))), value.known),)
