"""Moves, constants, conversions, and what the lanes of a warp exchange."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..instruction import Instruction
from .evaluators import TRUE, Threads, of
from .lanes import UNKNOWN, Lanes, as_signed, as_unsigned, constant, where


@of("MOV", "MOV32I", "UMOV", "R2UR", "LDC", "ULDC", "LDCU")
def _move(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    bits = 64 if "64" in one.modifiers else 32
    if {"U8", "S8", "U16", "S16", "128"} & set(one.modifiers):
        return ()
    source = [operand for operand in one.operands if operand.kind != "predicate"][1]
    leading = int(one.operands[0].kind == "predicate")
    return (*[UNKNOWN] * leading, threads.read(source, bits))


@of("S2R", "S2UR", "CS2R", "CS2UR")
def _special(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    return (threads.special(one.operands[1].text),)


@of("HFMA2", "HADD2")
def _half_constant(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    """A constant that the compiler makes as a sum of 16-bit floats: ``-RZ, RZ, 0, 6e-8``."""
    sources = [operand.text for operand in one.operands[1:]]
    zeros = [text for text in sources if text.lstrip("-") == "RZ"]
    numbers = [text for text in sources if text.lstrip("-") != "RZ"]
    if len(zeros) != (2 if one.name == "HFMA2" else 1) or len(numbers) != 2:
        return ()
    try:
        high, low = (_half(float(text), "BF16_V2" in one.modifiers) for text in numbers)
    except (ValueError, OverflowError):
        return ()
    return (constant(high << 16 | low),)


def _half(value: float, is_bfloat: bool) -> int:
    if is_bfloat:
        return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
    return struct.unpack("<H", struct.pack("<e", value))[0]


@of("I2F", "UI2F")
def _to_float(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    if {"U64", "S64", "F64", "F16", "U16", "S16", "U8", "S8"} & set(one.modifiers):
        return ()
    value = threads.read(one.operands[1])
    integers = value.values if "U32" in one.modifiers else as_signed(value.values)
    exact: Any = np.asarray(integers).astype(np.float64)
    near = _round(exact)
    if "RP" in one.modifiers:
        near = where(near < exact, np.nextafter(near, np.float32(np.inf)), near)
    return (Lanes(_round(near).view(np.uint32).astype(np.uint64), value.known),)


def _round(values: Any) -> Any:
    return values.astype(np.float32)


def _as_float(value: Lanes) -> Any:
    bits: Any = np.asarray(value.values).astype(np.uint32)
    return bits.view(np.float32)


@of("MUFU")
def _reciprocal(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    if one.modifiers != ("RCP",):
        return ()
    value = threads.read(one.operands[1])
    with np.errstate(divide="ignore", invalid="ignore"):
        found: Any = (np.float32(1) / _as_float(value)).astype(np.float32)
    return (Lanes(found.view(np.uint32).astype(np.uint64), value.known),)


@of("F2I", "UF2I")
def _to_integer(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    if {"U64", "S64", "F64", "F16"} & set(one.modifiers) or "TRUNC" not in one.modifiers:
        return ()
    value = threads.read(one.operands[1])
    bounds = (0, 2**32 - 1) if "U32" in one.modifiers else (-(2**31), 2**31 - 1)
    exact: Any = np.nan_to_num(_as_float(value).astype(np.float64))
    clipped: Any = np.minimum(np.maximum(np.trunc(exact), bounds[0]), bounds[1])
    return (Lanes(as_unsigned(clipped.astype(np.int64)), value.known),)


@of("ELECT")
def _elect(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    return (threads.is_elected(),)


@of("VOTE", "VOTEU")
def _vote(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    condition = threads.read(one.operands[-1])
    ballot, active = threads.ballot(condition), threads.ballot(TRUE)
    if "ALL" in one.modifiers:
        holds = Lanes((ballot.values == active.values).astype(np.uint64), ballot.known)
    else:
        holds = Lanes((ballot.values != 0).astype(np.uint64), ballot.known)
    return tuple(holds if operand.kind == "predicate" else ballot for operand in one.operands[:-1])


@of("SHFL")
def _shuffle(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    if "IDX" not in one.modifiers:
        return ()
    value, lane = threads.read(one.operands[2]), threads.read(one.operands[3])
    return (UNKNOWN, threads.from_lane(value, lane))


@of("SYNCS", "USETMAXREG", "UTCATOMSWS")
def _success(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    """A wait or an allocation succeeds at once; what it waits for takes time, not iterations."""
    if one.name == "SYNCS" and "PHASECHK" not in one.modifiers:
        return ()
    if one.operands and one.operands[0].kind == "predicate":
        return (TRUE,)
    return ()
