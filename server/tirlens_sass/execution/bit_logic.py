"""Logic on bits and predicates, comparisons, selections."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from ..instruction import Instruction
from .evaluators import ONE, TRUE, Threads, known_where, of, source_operands
from .lanes import UNKNOWN, WORD, Lanes, as_signed, as_unsigned, where


@lru_cache(maxsize=256)
def _terms(table: int) -> tuple[tuple[int, ...], tuple[tuple[int, ...], ...]]:
    """The operands on which a function of three bits depends, and the values for which it holds."""
    places = tuple(
        place
        for place in range(3)
        if any((table >> row & 1) != (table >> (row ^ 4 >> place) & 1) for row in range(8))
    )
    rows = dict.fromkeys(
        tuple(row >> (2 - place) & 1 for place in places) for row in range(8) if table >> row & 1
    )
    return places, tuple(rows)


def _table(parts: Sequence[Lanes], table: int, ones: int) -> Lanes:
    """A function of three bits, applied to all bits: bit 4a + 2b + c of `table`."""
    full = np.uint64(ones)
    places, rows = _terms(table & 0xFF)
    found: Any = np.uint64(0)
    known: Any = True
    for place in places:
        known = known & parts[place].known
    for row in rows:
        term: Any = full
        for place, bit in zip(places, row, strict=True):
            values = parts[place].values
            term = term & (values if bit else values ^ full)
        found = found | term
    return Lanes(found, known)


@of("LOP3", "ULOP3")
def _logic(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    leading = int(one.operands[0].kind == "predicate")
    sources = [o for o in one.operands[leading + 1 :] if o.kind != "predicate"]
    parts = [threads.read(operand) for operand in sources[:3]]
    value = _table(parts, int(sources[3].text, 0), WORD)
    # A product with zero is zero, whatever the other operand.
    if int(sources[3].text, 0) == 0xC0:
        for part in parts[:2]:
            value = Lanes(value.values, value.known | (part.known & (part.values == 0)))
    nonzero = Lanes((value.values != 0).astype(np.uint64), value.known)
    return (nonzero, value) if leading else (value,)


@of("PLOP3", "UPLOP3")
def _predicate_logic(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    parts = [threads.read(operand) for operand in one.operands[2:5]]
    tables = [int(operand.text, 0) for operand in one.operands[-2:]]
    return tuple(_decide(parts, table) for table in tables)


def _decide(parts: Sequence[Lanes], table: int) -> Lanes:
    """A function of three predicates, known also where those that are known decide it."""
    results: list[Lanes] = []
    places = [n for n, part in enumerate(parts) if not part.is_known]
    if not places or len(places) > 2:
        return _table(parts, table, 1)
    for choice in range(1 << len(places)):
        trial = list(parts)
        for bit, place in enumerate(places):
            part = parts[place]
            value = where(part.known, part.values, np.uint64(choice >> bit & 1))
            trial[place] = Lanes(value)
        results.append(_table(trial, table, 1))
    first = results[0].values
    same: Any = True
    for other in results[1:]:
        same = same & (other.values == first)
    return Lanes(first, same)


_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "EQ": np.equal,
    "NE": np.not_equal,
    "LT": np.less,
    "LE": np.less_equal,
    "GT": np.greater,
    "GE": np.greater_equal,
}


@of("ISETP", "UISETP")
def _compare(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    words = set(one.modifiers)
    bits = 64 if {"U64", "S64"} & words else 32
    operands = one.operands
    left, right = threads.read(operands[2], bits), threads.read(operands[3], bits)
    name = one.modifiers[0]
    if name not in _COMPARISONS:
        return (TRUE, UNKNOWN) if name == "T" else ()
    a, b = left.values, right.values
    if not {"U32", "U64"} & words:
        a, b = as_signed(a, bits), as_signed(b, bits)
    holds = _COMPARISONS[name](a, b).astype(np.uint64)
    compared = Lanes(holds, known_where(left, right))
    if "EX" in words:
        low = threads.read(operands[5])
        is_same = a == b
        strict = {"GE": "GT", "LE": "LT"}.get(name, name)
        above = _COMPARISONS[strict](a, b).astype(np.uint64)
        values: Any = where(is_same, low.values, above)
        compared = Lanes(values, known_where(left, right, low))
    other = threads.read(operands[4])
    kinds = {"AND": 0xC0, "OR": 0xFC, "XOR": 0x3C}
    table = next((kinds[word] for word in one.modifiers if word in kinds), kinds["AND"])
    inverse = Lanes(compared.values ^ ONE, compared.known)
    return tuple(_decide((part, other, TRUE), table) for part in (compared, inverse))


@of("SEL", "USEL")
def _select(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    yes, no, condition = (threads.read(operand) for operand in one.operands[1:4])
    return (_either(condition, yes, no),)


def _either(condition: Lanes, yes: Lanes, no: Lanes) -> Lanes:
    holds = condition.values != 0
    known: Any = condition.known & where(holds, yes.known, no.known)
    return Lanes(where(holds, yes.values, no.values), known)


@of("PRMT", "UPRMT")
def _permute(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    low, selector, high = (threads.read(operand) for operand in one.operands[1:4])
    if len(one.modifiers) or np.ndim(selector.values):
        return ()
    wide = (high.values << np.uint64(32)) | low.values
    found: Any = np.uint64(0)
    for position in range(4):
        code = int(selector.values) >> 4 * position & 0xF
        byte = wide >> np.uint64(8 * (code & 7)) & np.uint64(0xFF)
        if code & 8:
            byte = (byte >> np.uint64(7)) * np.uint64(0xFF)
        found = found | byte << np.uint64(8 * position)
    return (Lanes(found, known_where(low, selector, high)),)


@of("SGXT", "USGXT")
def _sign_extend(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    value, width = (threads.read(operand) for operand in one.operands[1:3])
    if np.ndim(width.values) or not 0 < int(width.values) <= 32:
        return ()
    bits = int(width.values)
    low = value.values & np.uint64((1 << bits) - 1)
    wide = low if "U32" in one.modifiers else as_unsigned(as_signed(low, bits))
    return (Lanes(wide, value.known),)


@of("POPC", "UPOPC")
def _count_bits(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    value = threads.read(one.operands[1])
    total = sum((value.values >> np.uint64(bit) & ONE for bit in range(32)), np.uint64(0))
    return (Lanes(total, value.known),)


@of("FLO", "UFLO")
def _highest_bit(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    value = threads.read(source_operands(one)[0])
    if "U32" not in one.modifiers:
        return ()
    place = np.floor(np.log2(np.maximum(value.values, 1).astype(np.float64))).astype(np.int64)
    if "SH" in one.modifiers:
        place = 31 - place
    return (Lanes(where(value.values == 0, np.uint64(WORD), as_unsigned(place)), value.known),)


@of("R2P")
def _to_predicates(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    value, mask = threads.read(one.operands[1]), threads.read(one.operands[2])
    bits = [bit for bit in range(7) if int(mask.values) >> bit & 1]
    return tuple(Lanes(value.values >> np.uint64(bit) & ONE, value.known) for bit in bits)
