"""How much of a loop up to a number in memory runs: as much as it takes to fill its output.

A kernel whose number of tiles is data loops over the most that there can be and asks in each turn
``tile < total[0]``.  No element of an output is written twice, so if the turns would write more
than the array holds not all of them run; and what they read is all read at least once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction

from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_worker.facts import Expr

from .counts_data import NodeCount, statement_counts

_ORDER_RELATIONS = frozenset({"<", "<=", ">", ">="})


def data_limit(condition: Expr) -> Expr | None:
    """The number in memory up to which a condition lets something that turns go, or None."""
    if not isinstance(condition, tuple) or condition[0] not in _ORDER_RELATIONS:
        return None
    for turning, number in (condition[1:], condition[:0:-1]):
        known = free_variables(turning) and not is_data_dependent(turning)
        if known and is_data_dependent(number) and not free_variables(number):
            return number
    return None


def executed_shares(
    limited: Mapping[Expr | None, Iterable[Sequence[NodeCount]]], array_bytes: Mapping[str, int]
) -> dict[Expr | None, Fraction]:
    """For each limit the share of its turns that runs, where that is not all.

    `limited` is what runs up to a limit, counted as if all of it did.
    """
    shares: dict[Expr | None, Fraction] = {}
    for number, sides in limited.items():
        if number is None:
            continue
        issued: dict[str, int] = {}
        written: set[str] = set()
        for leaf in (leaf for side in sides for leaf in statement_counts(side)):
            for entry in leaf.accesses:
                name = entry.access.buffer
                if entry.buffer.scope == "global" and entry.bytes:
                    issued[name] = issued.get(name, 0) + entry.bytes
                    written |= {name} if entry.access.mode == "write" else set()
        parts = [
            Fraction(array_bytes[name], amount)
            for name, amount in issued.items()
            if name in array_bytes
        ]
        if written and written <= array_bytes.keys() and max(parts) < 1:
            shares[number] = max(parts)
    return shares
