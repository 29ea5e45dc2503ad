"""Statements in a row, branches, and the jumps that make branches of what stands behind them."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Dict, List, Optional, Sequence, Tuple

from ..facts import Branch, Expr, Node
from . import dialect
from .blocks import Blocks
from .roles import Held, exclude
from .text import text
from .visitor import Nodes

_WRITTEN = re.compile(r"((?:el)?if\b.*?)\s*:\s*(?:#.*)?")


class Branches(Blocks):
    """What runs, under which conditions."""

    def _visit_SeqStmt(self, stmt: Any) -> Nodes:  # noqa: N802 - named after the IR's class
        return self._sequence(list(stmt.seq))

    def _sequence(self, parts: Sequence[Any]) -> Nodes:
        nodes: List[Node] = []
        for position, part in enumerate(parts):
            if self._jump_at_end(part) is not None:
                rest = parts[position + 1 :]
                return (*nodes, *self.body(part, partial(self._visit_IfThenElse, rest=rest)))
            nodes += self.body(part)
            if dialect.jump_of(dialect.last_of(part)) is not None:
                break
        return tuple(nodes)

    def _jump_at_end(self, stmt: Any) -> Optional[Any]:
        """The jump with which the `then` of a branch ends, if all behind it is its ``else``.

        So it is of ``if c: ...; continue`` and ``if c: ...; break`` in a loop's own body, and of a
        ``return`` that stands in no loop.
        """
        if dialect.kind(stmt) != "IfThenElse" or stmt.else_case is not None or self._branches:
            return None
        last = dialect.last_of(stmt.then_case)
        return last if self._ends(stmt, dialect.jump_of(last)) else None

    def _ends(self, stmt: Any, jump: Optional[str]) -> bool:
        """Whether `jump`, in or at `stmt`, is over all that follows the latter and nothing else."""
        if self._leaving is None:
            return jump == "return"
        return jump in ("continue", "break") and self._leaving.holds(stmt)

    def _settle(self, jump: Any, condition: Expr) -> None:
        """Notes that a loop's turn or the loop ends where `condition` holds, if it follows when."""
        if self._leaving is not None and dialect.jump_of(jump) == "break":
            if not self._leaving.leave(condition, self.scope.computed, self.scope.ranges):
                return
        elif self._leaving is not None:
            self._leaving.give_up(condition)
        self._settled.add(dialect.key(jump))

    def _conditional(self, stmt: Any, *conditions: Expr) -> Nodes:
        """What runs only where `conditions` hold, or where they do not."""
        outer, before = dict(self.scope.elsewhere), dict(self.scope.scalars)
        taken = self._taken(conditions)
        self.scope.scalars.update(taken)
        self._branches += 1
        self.scope.conditions.extend(conditions)
        try:
            return self._scoped(stmt)
        finally:
            self._branches -= 1
            del self.scope.conditions[len(self.scope.conditions) - len(conditions) :]
            after = self.scope.scalars
            self.scope.scalars = {name: v for name, v in before.items() if after.get(name) == v}
            self.scope.elsewhere = outer
            for name, value in {**before, **taken}.items():
                if after.get(name) != value:
                    roles = outer[name].roles if name in taken else ()
                    self._change(name, value, roles, conditions)

    def _taken(self, conditions: Sequence[Expr]) -> Dict[str, Expr]:
        """The scalars that only threads have changed which are not here, as they were before."""
        return {
            name: held.value
            for name, held in self.scope.elsewhere.items()
            if all(any(exclude(here, role) for here in conditions) for role in held.roles)
        }

    def _change(
        self, name: str, value: Expr, roles: Tuple[Expr, ...], conditions: Sequence[Expr]
    ) -> None:
        """Where `conditions` hold a scalar has another value than `value` from here on."""
        self.scope.elsewhere.pop(name, None)
        if len(conditions) == 1:
            self.scope.elsewhere[name] = Held(value, (*roles, conditions[0]))

    def _visit_IfThenElse(self, stmt: Any, rest: Sequence[Any] = ()) -> Nodes:  # noqa: N802
        before = self._reading(stmt.condition, "condition")
        condition = self.reader.truth(stmt.condition)
        jump = self._jump_at_end(stmt)
        if jump is not None and condition is not False:
            self._settle(jump, condition)
        if isinstance(condition, bool):
            taken = stmt.then_case if condition else stmt.else_case
            return (*before, *self.body(taken), *self._sequence(rest if not condition else ()))
        then = self._conditional(stmt.then_case, condition)
        met = self._left
        orelse = self._sequence(rest) if rest else self._conditional(stmt.else_case)
        if not rest and stmt.else_case is not None:
            self._flag(condition, met, self._left)
        label = self._words(condition)
        return (*before, Branch(condition, then, orelse, label=label, sites=self._here))

    def _words(self, condition: Expr) -> str:
        """A branch in its author's words; in ours where the framework has put it there."""
        line = self._locator.written(self._here)
        written = _WRITTEN.fullmatch(line)
        if written is not None:
            return written.group(1)
        return "if the tile exists" if "Persistent(" in line else "if {}".format(text(condition))

    def _flag(self, condition: Expr, met: Dict[str, Expr], not_met: Dict[str, Expr]) -> None:
        """Scalars that one side of a branch has set and the other cleared are its condition."""
        for name, value in met.items():
            if name in self.scope.scalars or {value, not_met.get(name)} != {0, 1}:
                continue
            self.scope.elsewhere.pop(name, None)
            self.scope.hold(name, condition if value else ("not", condition))

    def _visit_Break(self, stmt: Any) -> Nodes:  # noqa: N802
        value = getattr(stmt, "value", None)
        nodes = () if value is None else self._reading(value, "return")
        if not self._branches and self._ends(stmt, dialect.jump_of(stmt)):
            self._settle(stmt, True)
        if dialect.key(stmt) not in self._settled:
            self._note("a jump leaves an iteration early: counts are upper bounds")
        return nodes

    _visit_Continue = _visit_Break  # noqa: N815
    _visit_Return = _visit_Break  # noqa: N815
