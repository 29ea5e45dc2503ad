"""``while`` loops: counters, schedulers of persistent kernels, waits for barriers.

``while i < n: ...; i += step`` is a loop with a known trip count, and so is

    while running:
        tile = i * blocks + block
        if tile >= tiles:
            running = False
        if running:
            ...
        i += 1

A loop that only tests a barrier is a wait.  A loop in which a block continues with the work of a
block that it cancelled (cluster launch control) has one iteration: the work of the cancelled block
is counted in that block.
"""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ... import ops
from ...facts import Barrier, Expr, Loop, Signal, While
from ..ir import dialect
from ..ir.stores import writes
from ..reading.expressions import Expressions
from ..reading.handler_context import HandlerContext
from ..state.kernel_state import KernelState
from ..state.loop_exits import LoopExits
from ..symbolic.affine import trips
from ..symbolic.expression_text import text
from .branches import Branches
from .builder import NodeBuilder, Nodes
from .induction import Induction
from .loops import LoopBodies
from .simulated_trips import simulated_trips
from .traversal import Traversal

_WAITS = ("mbarrier", "wait", "nanosleep", "fence", "ld_acquire", "ld_volatile", "ld_relaxed")
_CANCEL_QUERY = re.compile(r"clusterlaunchcontrol_query|clc_query|clc_is_cancel|clc_get_first")
_UNKNOWN_COUNT: Expr = ("opaque", "turns")
_WAITING_WORDS = frozenset({"acquire", "volatile", "relaxed", "try_wait", "test_wait"})


class StopFlag(NamedTuple):
    """``if condition: flag = value``, the part `part` of a loop that this value ends."""

    part: int
    condition: Any
    flag: str


class WhileLoops:
    """Walks ``while`` loops."""

    def __init__(
        self,
        walk: Traversal,
        state: KernelState,
        expressions: Expressions,
        context: HandlerContext,
        builder: NodeBuilder,
        branches: Branches,
        induction: Induction,
        bodies: LoopBodies,
    ) -> None:
        self._walk = walk
        self._state = state
        self._expressions = expressions
        self._context = context
        self._builder = builder
        self._branches = branches
        self._induction = induction
        self._bodies = bodies
        walk.handlers["While"] = self._while

    def _while(self, stmt: Any) -> Nodes:
        with self._state.position.in_loop(None, stmt.body):
            parts = _parts(stmt.body)
            if all(map(_is_wait, parts)):
                return self._wait(stmt, parts)
            if _continues_cancelled_block(stmt.body):
                return self._one_iteration(stmt)
            stop = self._stop_flag(stmt, parts)
            if stop is not None:
                return self._until_flag(stmt, parts, stop)
            return self._while_condition(stmt)

    def _wait(self, stmt: Any, parts: Sequence[Any]) -> Nodes:
        """A wait for the barriers that the loop tests."""
        signals = tuple(one for part in parts for one in self._signals(part) if one.kind == "wait")
        self._forget_writes(stmt.body)
        executor = self._state.position.executor
        return self._builder.statement(Barrier("wait", per=executor, signals=signals))

    def _signals(self, stmt: Any) -> Sequence[Signal]:
        """The operations of a statement on barriers."""
        call = getattr(stmt, "value", None)
        handler = None if call is None else ops.lookup(dialect.op_name(call))
        return () if handler is None else handler(call, self._context).signals

    def _one_iteration(self, stmt: Any) -> Nodes:
        """The first iteration of a loop, the work that the block was launched for."""
        label = "while {}".format(text(self._expressions.expr(stmt.condition)))
        with self._state.position.jumps.inside(LoopExits(stmt.body)):
            inner = self._walk.scope(stmt.body).nodes
        self._forget_writes(stmt.body)
        return (self._loop(self._new_counter(), 1, inner, label),)

    def _while_condition(self, stmt: Any) -> Nodes:
        """A loop that runs while its condition holds; a trip count where that is affine."""
        counter = self._new_counter()
        scalars = self._state.scalars
        before = dict(scalars.values)
        known = simulated_trips(stmt, self._state, self._expressions, self._induction)
        self._induction.enter(stmt.body, counter)
        condition = self._expressions.expr(stmt.condition)
        test = self._builder.evaluation(stmt.condition, "condition")
        scalars.values = dict(before)
        count = trips(condition, counter)
        count = known if count is None else count
        self._state.ranges.add(counter, 0, _UNKNOWN_COUNT if count is None else count)
        conditions = self._state.position.conditions
        conditions.append(condition)
        exits = LoopExits(stmt.body, counter)
        inner = test + self._bodies.nodes(stmt.body, counter, 0 if count is None else count, exits)
        conditions.pop()
        if count is not None:
            count = exits.trip_count(count)
        elif condition is True:
            count = exits.unbounded_trip_count()
        if count is None:
            self._forget_writes(stmt.body)
            return (While(condition, inner, "while", self._state.position.sites, counter),)
        return (self._loop(counter, count, inner, "while {}".format(text(condition))),)

    def _stop_flag(self, stmt: Any, parts: Sequence[Any]) -> Optional[StopFlag]:
        """The branch that ends an entered loop with a flag; None without exactly one."""
        expr, values = self._expressions.expr, self._state.scalars.values
        if expr(stmt.condition) is not True:
            return None
        stores = self._induction.writes(stmt.body)
        for index, part in enumerate(parts):
            if dialect.kind(part) != "IfThenElse" or part.else_case is not None:
                continue
            store = part.then_case
            if dialect.kind(store) != "BufferStore":
                continue
            flag = self._state.arrays.id_of(dialect.buffer_of(store))
            if flag is None or len(stores[flag]) != 1:
                continue
            value_before = values.get(flag)
            values[flag] = expr(store.value)
            ends = expr(stmt.condition) is False
            values.pop(flag)
            if value_before is not None:
                values[flag] = value_before
            if ends:
                return StopFlag(index, part.condition, flag)
        return None

    def _until_flag(self, stmt: Any, parts: Sequence[Any], stop: StopFlag) -> Nodes:
        """The iterations before the one that sets the flag, which has no other effect."""
        counter = self._new_counter()
        scalars = self._state.scalars
        before: Dict[str, Expr] = dict(scalars.values)
        steps = self._induction.enter(stmt.body, counter)
        scalars.values[stop.flag] = before[stop.flag]
        with self._state.position.jumps.inside(LoopExits(stmt.body)):
            first = self._branches.sequence(parts[: stop.part])
            condition = self._expressions.expr(stop.condition)
            count = trips(condition, counter, holds=False)
            inner = first + self._branches.sequence(parts[stop.part + 1 :])
        scalars.values = dict(before)
        self._forget_writes(stmt.body)
        if count is None:
            sites = self._state.position.sites
            return (While(("not", condition), inner, "while", sites, counter),)
        self._induction.leave(steps, before, count)
        return (self._loop(counter, count, inner, "while not {}".format(text(condition))),)

    def _loop(self, counter: str, count: Expr, body: Nodes, label: str) -> Loop:
        sites = self._state.position.sites
        return Loop("serial", counter, 0, count, body, label=label, sites=sites)

    def _new_counter(self) -> str:
        return self._state.names.unique("turn")

    def _forget_writes(self, body: Any) -> None:
        self._state.forget(write.buffer for write in writes(body))


def _parts(stmt: Any) -> List[Any]:
    if dialect.kind(stmt) != "SeqStmt":
        return [stmt]
    return [part for one in stmt.seq for part in _parts(one)]


def _is_wait(stmt: Any) -> bool:
    """Whether a statement only tests whether an event has happened, or leaves when it has."""
    if dialect.kind(stmt) == "IfThenElse":
        return dialect.jump_of(stmt.then_case) == "break" and stmt.else_case is None
    if dialect.kind(stmt) != "Evaluate" or dialect.kind(stmt.value) != "Call":
        return False
    name = dialect.op_name(stmt.value)
    words = {str(dialect.plain(node)) for node in stmt.value.args if _is_text(node)}
    if name.rpartition(".")[2].startswith(("ld", "atom")):
        return bool(words & _WAITING_WORDS)
    return any(word in name for word in _WAITS)


def _continues_cancelled_block(stmt: Any) -> bool:
    """Whether a statement queries which block's launch has been cancelled."""
    return any(
        dialect.kind(part) == "Evaluate"
        and dialect.kind(part.value) == "Call"
        and _CANCEL_QUERY.search(dialect.op_name(part.value)) is not None
        for part in dialect.statements(stmt)
    )


def _is_text(node: Any) -> bool:
    return isinstance(node, str) or dialect.kind(node) == "StringImm"
