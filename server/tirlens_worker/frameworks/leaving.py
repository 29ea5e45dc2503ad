"""Loops that are left early: the turns that begin before a ``break``, where indices tell them.

``for i in range(n): if i == 7: break`` has eight turns of n, and in the last of them nothing
behind the ``break`` runs.
"""

from __future__ import annotations

from typing import AbstractSet, Any, Iterator, List, Optional, Sequence, Set, Tuple

from ..facts import Expr
from ..ops.build import plus, times
from . import dialect
from .affine import mentions, trips
from .ranges import Ranges

_TURN = "(turn)"
_NO_INDEX = "(no index)"
_AROUND = ("LetStmt", "AttrStmt", "AllocBuffer", "DeclBuffer", "Allocate", "AssertStmt")


class Leaving:
    """What ends the turns of one loop, and the loop, before their time."""

    def __init__(
        self, body: Any, var: Optional[str] = None, start: Expr = 0, step: Expr = 1
    ) -> None:
        self._own = {dialect.key(stmt) for stmt in _level(body)}
        self._var = var
        self._value = plus(start, times(_TURN, step))
        self._given_up: List[Expr] = []
        #: The turns in which the loop ends, and whether they come.
        self._last: List[Tuple[Expr, Expr]] = []

    def holds(self, stmt: Any) -> bool:
        """Whether a statement stands in the loop's own body, so that all behind it is there too."""
        return dialect.key(stmt) in self._own

    def give_up(self, condition: Expr) -> None:
        """A turn ends here where `condition` holds."""
        self._given_up.append(condition)

    def leave(self, condition: Expr, varying: AbstractSet[str], ranges: Ranges) -> bool:
        """The loop ends here where `condition` holds; whether it is known how many turns begin.

        `varying` are the names that may stand for something else in the next turn.
        """
        if self._var is None or _names(condition) & {*varying, _NO_INDEX}:
            return False
        parts = [replaced(part, self._var, self._value) for part in _parts(condition)]
        found = _first(parts)
        if found is None:
            return False
        last, others, again = found
        passed = [("not", replaced(one, self._var, self._value)) for one in self._given_up]
        at_last = [replaced(one, _TURN, last) for one in (*passed, *others)]
        decisions = [ranges.decide(one) for one in at_last]
        if again and any(known is not True for known in decisions[: len(passed)]):
            # A turn that is given up leaves the end of the loop to a later one.
            return False
        if False not in decisions:
            open_ = [one for one, known in zip(at_last, decisions) if known is None]
            self._last.append((last, _all(open_)))
        return True

    def turns(self, extent: Expr) -> Expr:
        """How many turns begin of the `extent` that the loop would have."""
        for last, comes in self._last:
            begun: Expr = ("min", extent, plus(last, 1))
            if isinstance(last, int) and isinstance(extent, int):
                begun = min(extent, last + 1)
            extent = begun if comes is True else ("select", comes, begun, extent)
        return extent

    def turns_without_end(self) -> Optional[Expr]:
        """The same of a loop that has no other end; None where not known."""
        certain = [plus(last, 1) for last, comes in self._last if comes is True]
        return self.turns(certain[0]) if certain else None


def replaced(value: Expr, name: str, by: Expr) -> Expr:
    """`value` with `by` in place of a variable."""
    if isinstance(value, str):
        return by if value == name else value
    if not isinstance(value, tuple):
        return value
    return (value[0], *(replaced(part, name, by) for part in value[1:]))


def _level(stmt: Any) -> Iterator[Any]:
    """The statements of a loop's body that each of its turns comes to, one after the other."""
    if dialect.kind(stmt) == "SeqStmt":
        *before, last = stmt.seq
        yield from before
        yield from _level(last)
    elif dialect.kind(stmt) in _AROUND and getattr(stmt, "body", None) is not None:
        yield from _level(stmt.body)
    elif stmt is not None:
        yield stmt


def _first(parts: Sequence[Expr]) -> Optional[Tuple[Expr, Sequence[Expr], bool]]:
    """The turn in which all `parts` of a condition may hold first, and what must hold in it.

    The third tells whether the condition holds in the turns after that one too.  None where the
    turn is not known.
    """
    varying = [part for part in parts if mentions(part, _TURN)]
    if not varying:
        return 0, parts, True
    for part in varying:
        last = trips(part, _TURN, holds=False)
        if last is not None and _operator(part) == "==":
            return last, [("<=", 0, last), *(one for one in parts if one is not part)], False
    last = trips(varying[0], _TURN, holds=False)
    if last is None or len(varying) > 1:
        return None
    last = max(last, 0) if isinstance(last, int) else ("max", last, 0)
    return last, [one for one in parts if one is not varying[0]], True


def _operator(condition: Expr) -> str:
    """The comparison that a condition is, behind all ``not``."""
    contrary = False
    while isinstance(condition, tuple) and condition[0] == "not":
        condition, contrary = condition[1], not contrary
    operator = str(condition[0]) if isinstance(condition, tuple) else ""
    return {"==": "!=", "!=": "=="}.get(operator, operator) if contrary else operator


def _parts(condition: Expr) -> Sequence[Expr]:
    """The conditions that must all hold for one to hold."""
    if condition is True:
        return ()
    if isinstance(condition, tuple) and condition[0] == "and":
        return [part for one in condition[1:] for part in _parts(one)]
    return [condition]


def _all(conditions: Sequence[Expr]) -> Expr:
    together: Expr = True
    for condition in conditions:
        together = condition if together is True else ("and", together, condition)
    return together


def _names(value: Expr) -> Set[str]:
    """The variables in `value`, and what stands for anything that is no index."""
    if isinstance(value, str):
        return {value}
    if not isinstance(value, tuple):
        return {_NO_INDEX} if isinstance(value, float) else set()
    if value[0] in ("load", "opaque", "cast"):
        return {_NO_INDEX}
    names: Set[str] = set()
    return names.union(*map(_names, value[1:]))
