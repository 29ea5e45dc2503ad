"""What the model counts in facts, in the terms of the reference executor, and where they differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from tirlens.model.classes import FREE_OPS, INTEGER_OPS
from tirlens.model.counts import count, leaves
from tirlens.model.footprint import compulsory_bytes
from tirlens_worker.facts import KernelFacts


class UnknownCountError(Exception):
    """The model itself says that it does not know."""


def differences(
    facts: KernelFacts, sizes: Mapping[str, int], counted: Mapping[str, Any]
) -> dict[str, str]:
    """What differs, by quantity, each with both sides; empty where all is equal.

    Raises:
        UnknownCountError: the model gives no number.
    """
    counts = count(facts, sizes)
    names = {buffer.id: buffer.name for buffer in facts.buffers}
    outside = {buffer.id for buffer in facts.buffers if buffer.scope == "global"}
    roots = {name: _root(facts, name) for name in names}
    operations: Counter[tuple[str, str]] = Counter()
    issued: Counter[tuple[str, str]] = Counter()
    for leaf in leaves(counts.root):
        for item in leaf.arith:
            if item.total is None:
                raise UnknownCountError(f"how many {item.arith.op}")
            for what in _terms(item.arith):
                operations[what] += item.total
        for entry in leaf.accesses:
            if entry.access.buffer not in outside:
                continue
            if entry.elements is None:
                raise UnknownCountError(f"how much of {entry.buffer.name}")
            what = (names[roots[entry.access.buffer]], entry.access.mode)
            issued[what] += entry.elements * _width(entry.buffer.dtype)
    found: dict[str, str] = {}
    wanted = Counter({(name, dtype): times for name, dtype, times in counted["operations"]})
    for what in sorted(set(operations) | set(wanted)):
        if operations[what] != wanted[what]:
            name = " ".join(what).strip()
            found[name] = f"{operations[what]:,} for {wanted[what]:,}"
    bits = Counter({(name, mode): times for name, mode, times in counted["issued"]})
    for name, mode in sorted(set(issued) | set(bits)):
        mine, theirs = issued[name, mode], bits[name, mode]
        if mine != theirs:
            before = found.get("issued " + mode)
            text = f"{name}: {mine:,} for {theirs:,} bits"
            found["issued " + mode] = text if before is None else f"{before}, {text}"
    found.update(_distinct(facts, sizes, counted))
    return found


def _distinct(
    facts: KernelFacts, sizes: Mapping[str, int], counted: Mapping[str, Any]
) -> dict[str, str]:
    touched = compulsory_bytes(facts, sizes)
    if touched is None:
        raise UnknownCountError("distinct bytes")
    if counted["scattered"]:
        return {}
    names = {buffer.id: buffer.name for buffer in facts.buffers}
    mine: Counter[str] = Counter()
    for name, size in touched.by_buffer.items():
        mine[names[name]] += size
    theirs = Counter(counted["distinct"])
    word = "distinct" if touched.exact else "distinct (said to be inexact)"
    unequal = [
        f"{name}: {mine[name]:,} for {theirs[name]:,} bytes"
        for name in sorted(set(mine) | set(theirs))
        if mine[name] != theirs[name]
    ]
    return {word: ", ".join(unequal)} if unequal else {}


def _terms(arith: Any) -> list[tuple[str, str]]:
    """The executor's names for an operation of the facts; index arithmetic has none."""
    if arith.index:
        return []
    operation = arith.op.removeprefix("fast_")
    if operation.startswith("unknown:"):
        raise UnknownCountError(operation)
    if operation == "mma":
        return [("mma", arith.dtype)]
    if "float" in arith.dtype or (operation == "cast" and "float" in (arith.accumulator or "")):
        if operation in FREE_OPS and operation != "cast":
            return []
        return [(operation, arith.dtype)]
    return [("integer", "")] if operation in INTEGER_OPS | {"floordiv"} else []


def _root(facts: KernelFacts, name: str) -> str:
    parents = {buffer.id: buffer.alias_of for buffer in facts.buffers}
    while parents.get(name):
        name = str(parents[name])
    return name


def _width(dtype: str) -> int:
    from equality.language import width

    return width(dtype)
