"""Walk the facts from the outside in and count each node over its domain."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import (
    conjuncts,
    free_variables,
    is_data_dependent,
    negate,
    simplify,
    substitute,
    to_text,
)
from tirlens_counting.intervals import bounds
from tirlens_counting.upper import upper
from tirlens_worker.facts import Branch, Expr, Let, Loop, Node, Span, Statement, While

from ..dtypes import byte_count
from .either import either, outweighs
from .filling import filled, limit
from .lengths import length
from .passing import passed
from .result import BufferCount, Counts, LaunchCount, NodeCount
from .scope import Scope
from .statements import Statements

BLOCK_WIDE = {"block"}
NEVER = Fraction(0)


class Walker(Statements):
    """Counts one kernel with one set of bindings."""

    def counts(self) -> Counts:
        """How often each node of the kernel is executed, and what it touches of each array."""
        root = self._root()
        if any(self._passed[extent] for extent in self._unknown):
            # A loop that stands before the one that tells how often both turn.
            self._limited = {}
            root = self._again()
        buffers = {name: self._buffer(name) for name in self.buffers}
        sizes = {name: item.bytes for name, item in buffers.items() if item.bytes is not None}
        self._shares = filled(self._limited, sizes)
        if self._shares:
            root = self._again()
        order = [variable.name for variable in self.facts.variables if variable.name in self._needs]
        order += [name for name in self._needs if name not in self._declared]
        launch = self.facts.launch
        return Counts(
            root,
            LaunchCount(
                self._numbers(launch.grid),
                self._numbers(launch.threads),
                self._numbers(launch.cluster),
            ),
            buffers,
            (*self.facts.caveats, *self._caveats),
            tuple(order),
        )

    def _again(self) -> tuple[NodeCount, ...]:
        self.touches, self._caveats, self._whiles = [], {}, 0
        return self._root()

    def _root(self) -> tuple[NodeCount, ...]:
        return self._body(self.facts.body, Scope(Domain(), {**self.bindings}), by_block=False)

    def _numbers(self, exprs: Iterable[Expr]) -> tuple[int, ...] | None:
        values: list[int] = []
        for expr in exprs:
            value = simplify(substitute(expr, self.bindings))
            if not isinstance(value, int):
                self._needs.update(dict.fromkeys(sorted(free_variables(value))))
                return None
            values.append(int(value))
        return tuple(values)

    def _buffer(self, name: str) -> BufferCount:
        item = self.buffers[name]
        shape = tuple([int(size) for size in self.shapes[name] if isinstance(size, int)])
        if len(shape) < len(item.shape):
            return BufferCount(item, None, None)
        return BufferCount(item, shape, byte_count(math.prod(shape), item.dtype))

    def _body(
        self, nodes: Sequence[Node], scope: Scope, *, by_block: bool
    ) -> tuple[NodeCount, ...]:
        kinds = self._kinds(nodes)
        by_block = kinds == BLOCK_WIDE if kinds else by_block
        counted: list[NodeCount] = []
        for node in nodes:
            if isinstance(node, Let):
                counted.append(NodeCount(node, None, self._executions(node, scope, by_block)))
                value = self.bindings.get(node.var)
                resolved = scope.resolve(node.value) if value is None else value
                scope = replace(scope, env={**scope.env, node.var: resolved})
            else:
                counted.append(self._node(node, scope, by_block))
        return tuple(counted)

    def _node(
        self, node: Loop | Branch | While | Statement, scope: Scope, by_block: bool
    ) -> NodeCount:
        if isinstance(node, Statement):
            return self._statement(node, scope)
        kinds = self._kinds((node,))
        by_block = kinds == BLOCK_WIDE if kinds else by_block
        if isinstance(node, Loop):
            return self._loop(node, scope, by_block)
        if isinstance(node, Branch):
            return self._branch(node, scope, by_block)
        return self._while(node, scope, by_block)

    def _kinds(self, nodes: Sequence[Node]) -> set[str]:
        """Who executes the statements in some nodes."""
        kinds = {node.per for node in nodes if isinstance(node, Statement)}
        for node in nodes:
            if not isinstance(node, Statement):
                known = self._kinds_known.get(id(node))
                if known is None:
                    known = self._kinds_known[id(node)] = self._kinds(_bodies(node))
                kinds |= known
        return kinds

    def _loop(self, node: Loop, scope: Scope, by_block: bool) -> NodeCount:
        executions = self._executions(node, scope, by_block)
        inner, extent = self._enter(node, scope)
        trips = bounds(extent, scope.domain.box)[1]
        return NodeCount(
            node,
            max(0, int(trips)) if isinstance(trips, int) else None,
            executions,
            children=self._body(node.body, inner, by_block=by_block),
            iterations=self._executions(node, inner, by_block),
        )

    def _enter(self, node: Loop, scope: Scope) -> tuple[Scope, Expr]:
        """The scope of a loop's body, and the loop's extent."""
        start, step = scope.resolve(node.start), scope.resolve(node.step)
        extent = self._known_extent(node, scope)
        env = dict(scope.env)
        env.pop(node.var, None)
        threads = scope.threads | {node.var} if node.kind == "block" else scope.threads
        blocks = scope.blocks | {node.var} if node.kind == "grid" else scope.blocks
        if step == 1 and not is_data_dependent(start):
            domain = scope.domain.with_axis(node.var, start, extent)
        else:
            domain = scope.domain.with_axis(node.var, 0, extent)
            env[node.var] = simplify(("+", start, ("*", step, node.var)))
        inner = replace(scope, domain=domain, env=env, threads=threads, blocks=blocks)
        return scope.hand_down(inner), extent

    def _known_extent(self, node: Loop, scope: Scope) -> Expr:
        """The extent, or an upper bound where it depends on data and one can be derived."""
        extent = scope.resolve(node.extent)
        if not is_data_dependent(extent):
            return extent
        text = to_text(extent)
        if node.var in self.bindings:
            self._note(f"{text} trips of {node.var} depend on data: bound by hand", node.sites)
            return self.bindings[node.var]
        bound = upper(extent)
        if bound is not None:
            how = f"counted as {to_text(bound)}, the most"
            self._note(f"{text} trips of {node.var} depend on data: {how}", node.sites)
            return bound
        once = passed(node, scope, self.buffers, self.shapes) or self._passed.get(extent)
        # A loop over the same extent that meets no array, a consumer's, turns as often.
        self._passed[extent] = once
        if once is None:
            self._unknown.add(extent)
        taken = once and length(node, extent, once, scope, self.buffers)
        if taken:
            known = self.lengths.get(taken.array, taken)
            self.lengths[taken.array] = min(known, taken, key=lambda one: one.value)
        how = f"bind {node.var} to a number"
        if once is not None:
            how = f"counted as {once.turns}, which pass over {once.buffer} once; {how} if not so"
        self._note(f"{text} trips of {node.var} depend on data: {how}", node.sites)
        return extent if once is None else once.turns

    def _branch(self, node: Branch, scope: Scope, by_block: bool) -> NodeCount:
        executions = self._executions(node, scope, by_block)
        scope = scope.by_tile(scope.resolve(node.condition))
        condition = scope.resolve(node.condition)
        is_open = self._is_open(condition, scope.domain)
        inside = self._where(scope, condition, node.sites, noted=not is_open)
        then = self._body(node.then, inside, by_block=by_block)
        orelse: tuple[NodeCount, ...] = ()
        otherwise = scope
        if node.orelse:
            otherwise = self._where(scope, negate(condition), node.sites, noted=not is_open)
            orelse = self._body(node.orelse, otherwise, by_block=by_block)
        if is_open:
            for part in conjuncts(condition):
                self._limited.setdefault(limit(part), []).append(then)
            refused = bool(orelse) and outweighs(orelse, then)
            self._note_open(condition, scope.domain, either(then, orelse), refused, node.sites)
            # Of two sides one runs: the one that costs more is counted, and the other not at all.
            if refused:
                then = self._body(node.then, replace(inside, share=NEVER), by_block=by_block)
            elif orelse:
                orelse = self._body(node.orelse, replace(otherwise, share=NEVER), by_block=by_block)
        return NodeCount(node, None, executions, children=then + orelse)

    def _note_open(
        self, condition: Expr, domain: Domain, costs: str, refused: bool, sites: Sequence[Span]
    ) -> None:
        """How the two sides of a branch on data are counted, and what they cost at the least."""
        for part in conjuncts(condition):
            if self._by_data(part, domain):
                how = "counted as if it never held" if refused else self._taken(part, domain)[2]
                either_way = f" ({costs}, never to always met)" if costs else ""
                self._note(f"{to_text(part)} depends on data: {how}{either_way}", sites)

    def _while(self, node: While, scope: Scope, by_block: bool) -> NodeCount:
        self._whiles += 1
        name = f"while_{self._whiles}"
        trips = self.bindings.get(name)
        if trips is None:
            text = to_text(scope.resolve(node.condition))
            self._note(
                f"how often `while {text}` repeats is not known: bind {name} to a number",
                node.sites,
            )
        executions = self._executions(node, scope, by_block)
        extent: Expr = ("opaque", f"trips of {name}") if trips is None else trips
        inner = replace(scope, domain=scope.domain.with_axis(name, 0, extent))
        return NodeCount(
            node,
            trips,
            executions,
            children=self._body(node.body, inner, by_block=by_block),
            iterations=self._executions(node, inner, by_block),
        )


def _bodies(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Branch):
        return node.then + node.orelse
    return node.body if isinstance(node, (Loop, While)) else ()
