"""Sequences of statements, branches and jumps; the statements after a jump become a branch."""

from __future__ import annotations

import re
from functools import partial
from typing import Any, Dict, List, Optional, Sequence

from ...facts import Branch, Expr, Node
from ..ir import dialect
from ..reading.expressions import Expressions
from ..state.kernel_state import KernelState
from ..state.scalars import unchanged_values
from ..symbolic.expression_text import text
from .builder import NodeBuilder, Nodes
from .traversal import Scope, Traversal

_SOURCE_BRANCH = re.compile(r"((?:el)?if\b.*?)\s*:\s*(?:#.*)?")


class Branches:
    """Walks sequences, branches and jumps."""

    def __init__(
        self, walk: Traversal, state: KernelState, expressions: Expressions, builder: NodeBuilder
    ) -> None:
        self._walk = walk
        self._state = state
        self._expressions = expressions
        self._builder = builder
        self._jumps = state.position.jumps
        walk.handlers.update(
            SeqStmt=lambda stmt: self.sequence(list(stmt.seq)),
            IfThenElse=self._branch,
            Break=self.jump,
            Continue=self.jump,
            Return=self.jump,
        )

    def sequence(self, parts: Sequence[Any]) -> Nodes:
        """Statements one after the other; those after a jump are left out."""
        nodes: List[Node] = []
        for position, part in enumerate(parts):
            if self._final_jump(part) is not None:
                rest = parts[position + 1 :]
                return (*nodes, *self._walk.nodes(part, partial(self._branch, rest=rest)))
            nodes += self._walk.nodes(part)
            if dialect.jump_of(dialect.last_of(part)) is not None:
                break
        return tuple(nodes)

    def jump(self, stmt: Any) -> Nodes:
        """A ``continue``, ``break`` or ``return``, with the evaluation of the returned value."""
        value = getattr(stmt, "value", None)
        nodes = () if value is None else self._builder.evaluation(value, "return")
        if not self._jumps.branch_depth and self._skips_rest(stmt, dialect.jump_of(stmt)):
            self._resolve(stmt, True)
        if dialect.key(stmt) not in self._jumps.resolved:
            self._builder.caveat("a jump leaves an iteration early: counts are upper bounds")
        return nodes

    def _branch(self, stmt: Any, rest: Sequence[Any] = ()) -> Nodes:
        """A branch; `rest` are the statements after it that run as its ``else``."""
        before = self._builder.evaluation(stmt.condition, "condition")
        condition = self._expressions.truth(stmt.condition)
        jump = self._final_jump(stmt)
        if jump is not None and condition is not False:
            self._resolve(jump, condition)
        if isinstance(condition, bool):
            chosen = self._walk.nodes(stmt.then_case if condition else stmt.else_case)
            return (*before, *chosen, *self.sequence(rest if not condition else ()))
        then = self._conditional(stmt.then_case, condition)
        if rest:
            orelse = self.sequence(rest)
        else:
            other = self._conditional(stmt.else_case)
            orelse = other.nodes
            if stmt.else_case is not None:
                self._assign_flags(condition, then.scalars, other.scalars)
        label, sites = self._label(condition), self._state.position.sites
        return (*before, Branch(condition, then.nodes, orelse, label=label, sites=sites))

    def _conditional(self, stmt: Any, *conditions: Expr) -> Scope:
        """One side of a branch, which runs where `conditions` hold; none for the other side."""
        position, scalars = self._state.position, self._state.scalars
        outer, before = dict(scalars.other_threads), dict(scalars.values)
        own_values = scalars.values_for(conditions)
        scalars.values.update(own_values)
        self._jumps.branch_depth += 1
        position.conditions.extend(conditions)
        try:
            return self._walk.scope(stmt)
        finally:
            self._jumps.branch_depth -= 1
            del position.conditions[len(position.conditions) - len(conditions) :]
            after = scalars.values
            scalars.values = unchanged_values(before, after)
            scalars.other_threads = outer
            for name, value in {**before, **own_values}.items():
                if after.get(name) != value:
                    earlier = outer[name].conditions if name in own_values else ()
                    scalars.change_in_branch(name, value, earlier, conditions)

    def _assign_flags(
        self, condition: Expr, then: Dict[str, Expr], orelse: Dict[str, Expr]
    ) -> None:
        """Make scalars hold the condition that one side of a branch sets and the other clears."""
        scalars = self._state.scalars
        for name, value in then.items():
            if name in scalars.values or {value, orelse.get(name)} != {0, 1}:
                continue
            scalars.other_threads.pop(name, None)
            scalars.assign(name, condition if value else ("not", condition))

    def _label(self, condition: Expr) -> str:
        """The branch as in its source line; its condition where the framework has inserted it."""
        line = self._builder.source_line()
        source = _SOURCE_BRANCH.fullmatch(line)
        if source is not None:
            return source.group(1)
        return "if the tile exists" if "Persistent(" in line else "if {}".format(text(condition))

    def _final_jump(self, stmt: Any) -> Optional[Any]:
        """The jump at the end of a branch's ``then``, if all that follows is the ``else``.

        So it is for ``if c: ...; continue`` and ``if c: ...; break`` in a loop's own body, and for
        a ``return`` outside of loops.
        """
        if (
            dialect.kind(stmt) != "IfThenElse"
            or stmt.else_case is not None
            or self._jumps.branch_depth
        ):
            return None
        last = dialect.last_of(stmt.then_case)
        return last if self._skips_rest(stmt, dialect.jump_of(last)) else None

    def _skips_rest(self, stmt: Any, jump: Optional[str]) -> bool:
        """Whether `jump`, in or at `stmt`, skips exactly the statements after `stmt`."""
        if self._jumps.exits is None:
            return jump == "return"
        return jump in ("continue", "break") and self._jumps.exits.is_top_level(stmt)

    def _resolve(self, jump: Any, condition: Expr) -> None:
        """Record that a loop or its iteration ends where `condition` holds, if a count results."""
        exits = self._jumps.exits
        if exits is not None and dialect.jump_of(jump) == "break":
            computed = self._state.properties.computed
            if not exits.end_loop(condition, computed, self._state.ranges):
                return
        elif exits is not None:
            exits.end_iteration(condition)
        self._jumps.resolved.add(dialect.key(jump))
