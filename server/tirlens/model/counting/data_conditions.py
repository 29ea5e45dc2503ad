"""How often a data-dependent condition holds, where its form tells.

Three forms are known: a loop variable compared with data that does not change in the loop (holds
in one iteration), a counter compared modulo n (holds in 1 of n iterations), and a tile number
compared with a tile count in memory (holds until the output is written once).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import cast

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_worker.facts import Expr

from .kernel_counts import NodeCount, statement_counts


def selected_iteration(condition: Expr, domain: Domain) -> str | None:
    """The loop variable of ``variable == data``, where the data does not depend on the variable."""
    if not isinstance(condition, tuple) or condition[0] != "==":
        return None
    for name, other in (condition[1:], condition[:0:-1]):
        if isinstance(name, str) and name in domain.box and name not in free_variables(other):
            return name
    return None


def congruence_share(condition: Expr) -> Fraction | None:
    """The share of iterations in which ``counter % n == c`` (1 in n), or its negation, holds."""
    if not isinstance(condition, tuple) or condition[0] not in ("==", "!="):
        return None
    for value, residue in (condition[1:], condition[:0:-1]):
        if not isinstance(value, tuple) or value[0] not in ("%", "truncmod"):
            continue
        period = cast(object, value[2])
        if isinstance(period, int) and period > 1 and isinstance(residue, int):
            once = Fraction(1, period)
            return once if condition[0] == "==" else 1 - once
    return None


_ORDER_RELATIONS = frozenset({"<", "<=", ">", ">="})


def data_limit(condition: Expr) -> Expr | None:
    """The number in memory that bounds a loop-variant expression in a condition, or None."""
    if not isinstance(condition, tuple) or condition[0] not in _ORDER_RELATIONS:
        return None
    for variable, number in (condition[1:], condition[:0:-1]):
        known = free_variables(variable) and not is_data_dependent(variable)
        if known and is_data_dependent(number) and not free_variables(number):
            return number
    return None


def executed_shares(
    limited: Mapping[Expr | None, Iterable[Sequence[NodeCount]]], array_bytes: Mapping[str, int]
) -> dict[Expr | None, Fraction]:
    """For each data limit the share of its iterations that runs, where that is not all.

    No element of an output is written twice.  If all iterations would write more bytes than an
    array holds, only the share that writes the array once runs; every input is read at least once.

    Parameters
    ----------
    limited
        The counts of the bodies under each limit, as if every iteration ran.
    array_bytes
        The size of each array in bytes.
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
