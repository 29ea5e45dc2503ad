"""Loops with a ``break``: the trip count, if the condition depends only on indices.

``for i in range(n): if i == 7: break`` has eight of n iterations; the last one ends at the
``break``.
"""

from __future__ import annotations

from typing import AbstractSet, Any, Iterator, List, Optional, Sequence, Set, Tuple

from ...facts import Expr
from ...ops.build import plus, times
from ..ir import dialect
from ..symbolic.affine import mentions, trips
from ..symbolic.ranges import Ranges

_ITERATION = "(iteration)"
_NO_INDEX = "(no index)"
_WRAPPERS = ("LetStmt", "AttrStmt", "AllocBuffer", "DeclBuffer", "Allocate", "AssertStmt")


class LoopExits:
    """The conditions under which iterations of one loop, or the loop, end early."""

    def __init__(
        self, body: Any, var: Optional[str] = None, start: Expr = 0, step: Expr = 1
    ) -> None:
        self._top_level = {dialect.key(stmt) for stmt in _top_level(body)}
        self._var = var
        self._value = plus(start, times(_ITERATION, step))
        self._continue_conditions: List[Expr] = []
        #: The iterations in which the loop ends, and the conditions under which they do.
        self._final_iterations: List[Tuple[Expr, Expr]] = []

    def is_top_level(self, stmt: Any) -> bool:
        """Whether a statement is in the loop's own body, and in no branch of it."""
        return dialect.key(stmt) in self._top_level

    def end_iteration(self, condition: Expr) -> None:
        """Record that an iteration ends here where `condition` holds."""
        self._continue_conditions.append(condition)

    def end_loop(self, condition: Expr, varying: AbstractSet[str], ranges: Ranges) -> bool:
        """Record that the loop ends here where `condition` holds.

        `varying` are the names whose value may be another in the next iteration.  Returns whether
        the number of iterations that begin is known.
        """
        if self._var is None or _names(condition) & {*varying, _NO_INDEX}:
            return False
        parts = [substitute(part, self._var, self._value) for part in _conjuncts(condition)]
        found = _first_iteration(parts)
        if found is None:
            return False
        last, others, holds_later = found
        reached = [
            ("not", substitute(one, self._var, self._value)) for one in self._continue_conditions
        ]
        at_last = [substitute(one, _ITERATION, last) for one in (*reached, *others)]
        decisions = [ranges.decide(one) for one in at_last]
        if holds_later and any(known is not True for known in decisions[: len(reached)]):
            # An iteration that ends before the break leaves the end of the loop to a later one.
            return False
        if False not in decisions:
            undecided = [one for one, known in zip(at_last, decisions) if known is None]
            self._final_iterations.append((last, _conjunction(undecided)))
        return True

    def trip_count(self, extent: Expr) -> Expr:
        """The number of iterations that begin, of the `extent` of the loop without exits."""
        for last, condition in self._final_iterations:
            count: Expr = ("min", extent, plus(last, 1))
            if isinstance(last, int) and isinstance(extent, int):
                count = min(extent, last + 1)
            extent = count if condition is True else ("select", condition, count, extent)
        return extent

    def unbounded_trip_count(self) -> Optional[Expr]:
        """The trip count of a loop that has no other end; None if it is not known."""
        certain = [plus(last, 1) for last, condition in self._final_iterations if condition is True]
        return self.trip_count(certain[0]) if certain else None


def substitute(value: Expr, name: str, replacement: Expr) -> Expr:
    """`value` with `replacement` in place of a variable."""
    if isinstance(value, str):
        return replacement if value == name else value
    if not isinstance(value, tuple):
        return value
    return (value[0], *(substitute(part, name, replacement) for part in value[1:]))


def _top_level(stmt: Any) -> Iterator[Any]:
    """The statements of a loop's body that each of its iterations reaches one after the other."""
    if dialect.kind(stmt) == "SeqStmt":
        *before, last = stmt.seq
        yield from before
        yield from _top_level(last)
    elif dialect.kind(stmt) in _WRAPPERS and getattr(stmt, "body", None) is not None:
        yield from _top_level(stmt.body)
    elif stmt is not None:
        yield stmt


def _first_iteration(parts: Sequence[Expr]) -> Optional[Tuple[Expr, Sequence[Expr], bool]]:
    """The first iteration in which all `parts` of a condition may hold.

    The second result are the parts that must hold in it, the third is whether the condition holds
    in all later iterations.  None if the iteration is not known.
    """
    varying = [part for part in parts if mentions(part, _ITERATION)]
    if not varying:
        return 0, parts, True
    for part in varying:
        last = trips(part, _ITERATION, holds=False)
        if last is not None and _operator(part) == "==":
            return last, [("<=", 0, last), *(one for one in parts if one is not part)], False
    last = trips(varying[0], _ITERATION, holds=False)
    if last is None or len(varying) > 1:
        return None
    last = max(last, 0) if isinstance(last, int) else ("max", last, 0)
    return last, [one for one in parts if one is not varying[0]], True


def _operator(condition: Expr) -> str:
    """The comparison that a condition is, with each ``not`` around it applied."""
    is_negated = False
    while isinstance(condition, tuple) and condition[0] == "not":
        condition, is_negated = condition[1], not is_negated
    operator = str(condition[0]) if isinstance(condition, tuple) else ""
    return {"==": "!=", "!=": "=="}.get(operator, operator) if is_negated else operator


def _conjuncts(condition: Expr) -> Sequence[Expr]:
    """The conditions whose conjunction a condition is."""
    if condition is True:
        return ()
    if isinstance(condition, tuple) and condition[0] == "and":
        return [part for one in condition[1:] for part in _conjuncts(one)]
    return [condition]


def _conjunction(conditions: Sequence[Expr]) -> Expr:
    result: Expr = True
    for condition in conditions:
        result = condition if result is True else ("and", result, condition)
    return result


def _names(value: Expr) -> Set[str]:
    """The variables in `value`, and a name of its own for all that is no index."""
    if isinstance(value, str):
        return {value}
    if not isinstance(value, tuple):
        return {_NO_INDEX} if isinstance(value, float) else set()
    if value[0] in ("load", "opaque", "cast"):
        return {_NO_INDEX}
    names: Set[str] = set()
    return names.union(*map(_names, value[1:]))
