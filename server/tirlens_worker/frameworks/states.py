"""Loops that keep their state in scalars: counters, schedulers of persistent kernels, waits.

``while i < n: ...; i += step`` is a loop with a known number of trips, and so is

    while running:
        tile = turn * blocks + block
        if tile >= tiles:
            running = False
        if running:
            ...
        turn += 1

A loop that does nothing but ask a barrier again and again is a wait.  One whose block goes on with
the work of a block that it has cancelled (cluster launch control) is counted as one turn: what the
cancelled block would have done is counted there.  In all loops, a scalar that
each iteration changes by the same amount has a known value.
"""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import Any, Dict, Generator, List, NamedTuple, Optional, Sequence

from .. import ops
from ..facts import Barrier, Expr, Loop, Signal, While
from ..ops.build import plus, times
from . import dialect
from .affine import mentions, trips
from .branches import Branches
from .data import holds_data
from .leaving import Leaving
from .text import text
from .visitor import Nodes
from .writes import Write, writes

_WAITS = ("mbarrier", "wait", "nanosleep", "fence", "ld_acquire", "ld_volatile", "ld_relaxed")
_QUERY = re.compile(r"clusterlaunchcontrol_query|clc_query|clc_is_cancel|clc_get_first")
_MANY: Expr = ("opaque", "turns")
_WAITING_WORDS = frozenset({"acquire", "volatile", "relaxed", "try_wait", "test_wait"})


class Stop(NamedTuple):
    """``if condition: flag = value`` at `place` in a loop that runs while the flag is not that."""

    place: int
    condition: Any
    flag: str


class States(Branches):
    """The repetition of statements, and the scalars that it changes."""

    def _changed(self, stmt: Any) -> Dict[str, List[Write]]:
        """The stores in `stmt` to scalars that are known by now, by buffer id."""
        out: Dict[str, List[Write]] = {}
        for write in writes(stmt):
            known = self.scope.buffer_id(write.buffer)
            if known is not None:
                out.setdefault(known, []).append(write)
        return out

    def _steps(self, changed: Dict[str, List[Write]], jumps: bool) -> Dict[str, Expr]:
        """By how much one iteration changes each scalar that it changes by a constant amount."""
        steps: Dict[str, Expr] = {}
        for name, stores in changed.items():
            start = self.scope.scalars.get(name)
            if len(stores) != 1 or start is None or stores[0].value is None or jumps:
                continue
            amount = self._amount(name, stores[0]) if stores[0].certain else None
            if amount is not None and not any(mentions(amount, other) for other in changed):
                steps[name] = amount
        return steps

    def _amount(self, name: str, store: Write) -> Optional[Expr]:
        start = self.scope.scalars[name]
        self.scope.scalars[name] = name
        value = self.reader.expr(store.value)
        self.scope.scalars[name] = start
        if not isinstance(value, tuple) or len(value) != 3 or value[0] not in "+-":
            return None
        operator, left, right = value
        if left != name and operator == "+":
            left, right = right, left
        if left != name or not isinstance(right, int):
            return None
        return times(right if operator == "+" else -right, store.times)

    def _enter(self, stmt: Any, number: Expr) -> Dict[str, Expr]:
        """Makes scalars hold what they hold in iteration `number`; what each adds, by its id."""
        changed = self._changed(stmt)
        steps = self._steps(changed, dialect.jumps(stmt, ("continue",)))
        held = dict(self.scope.scalars)
        for name in changed:
            self.scope.forget(name)
        before = {name: held[name] for name in steps}
        now = {name: plus(before[name], times(steps[name], number)) for name in steps}
        self.scope.scalars.update(now)
        self.scope.scalars.update(self._derived(stmt, changed, held, before, now))
        return steps

    def _derived(
        self,
        stmt: Any,
        changed: Dict[str, List[Write]],
        held: Dict[str, Expr],
        before: Dict[str, Expr],
        now: Dict[str, Expr],
    ) -> Dict[str, Expr]:
        """What scalars hold that an iteration makes of its counters, behind their steps.

        The first iteration finds what it would have made of them: ``row = turn * 2 + half`` in
        front of the loop and, behind ``turn += blocks``, at its end.  Counters held `before` and
        hold `now`.
        """
        order = [self.scope.buffer_id(write.buffer) for write in writes(stmt)]
        last = max((place for place, name in enumerate(order) if name in now), default=-1)
        out: Dict[str, Expr] = {}
        for name, stores in changed.items():
            (store, *more), start = stores, held.get(name)
            late = order.index(name) > last
            if more or start is None or store.value is None or not (store.certain and late):
                continue
            self.scope.scalars.update(before)
            first = self.reader.expr(store.value)
            self.scope.scalars.update(now)
            value = self.reader.expr(store.value)
            if now and first == start and not holds_data(value, self.scope.data):
                out[name] = value
        return out

    def _leave(self, steps: Dict[str, Expr], before: Dict[str, Expr], count: Expr) -> None:
        """Makes the scalars hold what they hold after `count` iterations."""
        for name, amount in steps.items():
            self.scope.scalars[name] = plus(before[name], times(amount, count))

    @contextmanager
    def _in_loop(self, leaving: Leaving) -> Generator[None, None, None]:
        """While the body of a loop is visited, and `leaving` is told what ends its turns."""
        outer = self._branches, self._leaving
        self._branches, self._leaving = 0, leaving
        try:
            yield
        finally:
            self._branches, self._leaving = outer

    def _repeated(self, stmt: Any, number: Expr, count: Expr, leaving: Leaving) -> Nodes:
        """The body of a loop whose `count` iterations follow each other."""
        before = dict(self.scope.scalars)
        steps = self._enter(stmt, number)
        try:
            with self._in_loop(leaving):
                return self._scoped(stmt)
        finally:
            self._leave(steps, before, count)
            if dialect.jumps(stmt):
                for name in steps:
                    self.scope.forget(name)

    def _visit_While(self, stmt: Any) -> Nodes:  # noqa: N802 - named after the IR's class
        self.scope.loops.append((None, stmt.body))
        try:
            return self._while(stmt)
        finally:
            self.scope.loops.pop()

    def _while(self, stmt: Any) -> Nodes:
        parts = _parts(stmt.body)
        if all(map(_waits, parts)):
            told = tuple(one for part in parts for one in self._told(part) if one.kind == "wait")
            self._forget(write.buffer for write in writes(stmt.body))
            return self._statement(Barrier("wait", per=self._per, signals=told))
        if _takes_over(stmt.body):
            return self._own_turn(stmt)
        stop = self._stop(stmt, parts)
        if stop is not None:
            return self._scheduled(stmt, parts, stop)
        return self._counted(stmt)

    def _told(self, stmt: Any) -> Sequence[Signal]:
        """What a statement that only asks a barrier does to it."""
        call = getattr(stmt, "value", None)
        handler = None if call is None else ops.lookup(dialect.op_name(call))
        return () if handler is None else handler(call, self.reader).signals

    def _own_turn(self, stmt: Any) -> Nodes:
        """The first turn of a loop, which does what the block was launched for."""
        label = "while {}".format(text(self.reader.expr(stmt.condition)))
        with self._in_loop(Leaving(stmt.body)):
            inner = self._scoped(stmt.body)
        self._forget(write.buffer for write in writes(stmt.body))
        counter = self.scope.unique("turn")
        return (Loop("serial", counter, 0, 1, inner, label=label, sites=self._here),)

    def _counted(self, stmt: Any) -> Nodes:
        counter = self.scope.unique("turn")
        before = dict(self.scope.scalars)
        self._enter(stmt.body, counter)
        condition = self.reader.expr(stmt.condition)
        test = self._reading(stmt.condition, "condition")
        self.scope.scalars = dict(before)
        count = trips(condition, counter)
        self.scope.ranges.add(counter, 0, _MANY if count is None else count)
        self.scope.conditions.append(condition)
        leaving = Leaving(stmt.body, counter)
        inner = test + self._repeated(stmt.body, counter, 0 if count is None else count, leaving)
        self.scope.conditions.pop()
        if count is not None:
            count = leaving.turns(count)
        elif condition is True:
            count = leaving.turns_without_end()
        if count is None:
            self._forget(write.buffer for write in writes(stmt.body))
            return (While(condition, inner, "while", self._here, counter),)
        label = "while {}".format(text(condition))
        return (Loop("serial", counter, 0, count, inner, label=label, sites=self._here),)

    def _stop(self, stmt: Any, parts: Sequence[Any]) -> Optional[Stop]:
        """Where a loop with a flag ends, if it is the only place and the loop is entered."""
        if self.reader.expr(stmt.condition) is not True:
            return None
        changed = self._changed(stmt.body)
        for place, part in enumerate(parts):
            if dialect.kind(part) != "IfThenElse" or part.else_case is not None:
                continue
            store = part.then_case
            if dialect.kind(store) != "BufferStore":
                continue
            flag = self.scope.buffer_id(dialect.buffer_of(store))
            if flag is None or len(changed[flag]) != 1:
                continue
            held = self.scope.scalars.get(flag)
            self.scope.scalars[flag] = self.reader.expr(store.value)
            ends = self.reader.expr(stmt.condition) is False
            self.scope.scalars.pop(flag)
            if held is not None:
                self.scope.scalars[flag] = held
            if ends:
                return Stop(place, part.condition, flag)
        return None

    def _scheduled(self, stmt: Any, parts: Sequence[Any], stop: Stop) -> Nodes:
        """The turns before the one in which the flag falls; that one does nothing else."""
        counter = self.scope.unique("turn")
        before = dict(self.scope.scalars)
        steps = self._enter(stmt.body, counter)
        self.scope.scalars[stop.flag] = before[stop.flag]
        with self._in_loop(Leaving(stmt.body)):
            first = self._sequence(parts[: stop.place])
            condition = self.reader.expr(stop.condition)
            count = trips(condition, counter, holds=False)
            inner = first + self._sequence(parts[stop.place + 1 :])
        self.scope.scalars = dict(before)
        self._forget(write.buffer for write in writes(stmt.body))
        if count is None:
            return (While(("not", condition), inner, "while", self._here, counter),)
        self._leave(steps, before, count)
        label = "while not {}".format(text(condition))
        return (Loop("serial", counter, 0, count, inner, label=label, sites=self._here),)


def _parts(stmt: Any) -> List[Any]:
    if dialect.kind(stmt) != "SeqStmt":
        return [stmt]
    return [part for one in stmt.seq for part in _parts(one)]


def _waits(stmt: Any) -> bool:
    """Whether a statement only asks whether something has happened, or leaves when it has."""
    if dialect.kind(stmt) == "IfThenElse":
        return dialect.jump_of(stmt.then_case) == "break" and stmt.else_case is None
    if dialect.kind(stmt) != "Evaluate" or dialect.kind(stmt.value) != "Call":
        return False
    name = dialect.op_name(stmt.value)
    words = {str(dialect.plain(node)) for node in stmt.value.args if _is_text(node)}
    if name.rpartition(".")[2].startswith(("ld", "atom")):
        return bool(words & _WAITING_WORDS)
    return any(word in name for word in _WAITS)


def _takes_over(stmt: Any) -> bool:
    """Whether a statement asks whose work it has got by cancelling the launch of a block."""
    return any(
        dialect.kind(part) == "Evaluate"
        and dialect.kind(part.value) == "Call"
        and _QUERY.search(dialect.op_name(part.value)) is not None
        for part in dialect.statements(stmt)
    )


def _is_text(node: Any) -> bool:
    return isinstance(node, str) or dialect.kind(node) == "StringImm"
