"""``for`` loops, and the bodies of all loops."""

from __future__ import annotations

from typing import Any, Dict

from ...facts import Expr, Loop, LoopKind
from ..ir import dialect
from ..reading.expressions import Expressions
from ..state.kernel_state import KernelState
from ..state.loop_exits import LoopExits
from ..symbolic.expression_text import text
from .builder import NodeBuilder, Nodes
from .induction import Induction
from .thread_loops import ThreadLoops
from .traversal import Traversal

_KINDS: Dict[int, LoopKind] = {
    dialect.SERIAL: "serial",
    dialect.PARALLEL: "parallel",
    dialect.VECTORIZED: "vectorized",
    dialect.UNROLLED: "unroll",
}
_SPELLING: Dict[LoopKind, str] = {
    "pipelined": "T.Pipelined",
    "serial": "T.serial",
    "parallel": "T.parallel",
    "vectorized": "T.vectorized",
    "unroll": "T.unroll",
}


class LoopBodies:
    """Walks the bodies of loops whose iterations follow each other."""

    def __init__(self, walk: Traversal, state: KernelState, induction: Induction) -> None:
        self._walk = walk
        self._state = state
        self._induction = induction

    def nodes(self, body: Any, iteration: Expr, count: Expr, exits: LoopExits) -> Nodes:
        """The nodes of iteration `iteration` of `count`; `exits` collects the loop's exits."""
        scalars = self._state.scalars
        before = dict(scalars.values)
        steps = self._induction.enter(body, iteration)
        iterations = self._state.position.iterations
        iterations.append(iteration)
        try:
            with self._state.position.jumps.inside(exits):
                return self._walk.scope(body).nodes
        finally:
            iterations.pop()
            self._induction.leave(steps, before, count)
            if dialect.jumps(body):
                for name in steps:
                    scalars.forget(name)


class ForLoops:
    """Walks ``for`` loops of all kinds."""

    def __init__(
        self,
        walk: Traversal,
        state: KernelState,
        expressions: Expressions,
        builder: NodeBuilder,
        threads: ThreadLoops,
        bodies: LoopBodies,
    ) -> None:
        self._state = state
        self._expressions = expressions
        self._builder = builder
        self._threads = threads
        self._bodies = bodies
        walk.handlers["For"] = self._for

    def _for(self, stmt: Any) -> Nodes:
        expr, position = self._expressions.expr, self._state.position
        start, extent = expr(stmt.min), expr(stmt.extent)
        if int(stmt.kind) == dialect.THREAD_BINDING and stmt.thread_binding is not None:
            tag = str(stmt.thread_binding.thread_tag)
            return self._threads.bound_loop(stmt.loop_var, tag, extent, stmt.body)
        before = self._builder.evaluation(stmt.extent, "loop bound")
        annotations = dialect.annotations_of(stmt)
        kind = _kind(stmt, annotations)
        step: Expr = 1 if getattr(stmt, "step", None) is None else expr(stmt.step)
        if step != 1:
            extent = ("//", ("-", ("+", extent, step), 1), step)
        var = self._state.names.define(stmt.loop_var)
        self._state.ranges.add(var, start, extent, step)
        is_tile_loop = kind == "parallel" and self._expressions.is_guarded
        exits = LoopExits(stmt.body, var, start, step)
        outer = position.executor
        if is_tile_loop:
            position.executor = "block"
        try:
            with position.in_loop(var, stmt.body):
                iteration: Expr = var if start == 0 else ("-", var, start)
                iteration = iteration if step == 1 else ("//", iteration, step)
                inner = self._bodies.nodes(stmt.body, iteration, extent, exits)
        finally:
            position.executor = outer
        spelling = "T.Parallel" if is_tile_loop else _SPELLING[kind]
        loop = Loop(
            kind=kind,
            var=var,
            start=start,
            extent=exits.trip_count(extent),
            body=inner,
            step=step,
            label="for {} in {}({})".format(stmt.loop_var.name, spelling, text(extent)),
            sites=position.sites,
            annotations=annotations,
        )
        return (*before, loop)


def _kind(stmt: Any, annotations: Dict[str, Any]) -> LoopKind:
    if "num_stages" in annotations:
        return "pipelined"
    kind = _KINDS.get(int(stmt.kind), "serial")
    is_pipelined = kind == "serial" and "software_pipeline_stage" in annotations
    return "pipelined" if is_pipelined else kind
