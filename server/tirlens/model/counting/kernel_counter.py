"""Count every node of a kernel over its iteration domain, from the outermost loop inwards.

* A statement of each thread (``per="thread"``) counts once for each thread that executes it; one
  of a block once for each block in which a thread executes it; one of a warp or warpgroup as often
  as its threads, divided by their number.
* A loop, branch or let counts as its statements do: once a block if all of them are a block's.
* An access counts the elements of its box, of a clipped box those inside the buffer.  An index that
  differs between the threads of a block-wide statement has its value at the first thread.

A data-dependent condition is assumed to hold; of two sides the costlier one runs.  An extent that
depends on data is replaced by an upper bound where one can be derived.  Both leave a caveat.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cached_property

from tirlens_counting.data_bounds import upper_bound
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
from tirlens_counting.intervals import largest_value
from tirlens_worker.facts import Branch, Caveat, Expr, Let, Loop, Node, Span, Statement, While

from ..dtypes import byte_count
from . import lane_divergence
from .array_bounds import accesses_outside
from .data_conditions import data_limit, executed_shares
from .data_extents import estimate_length, estimate_trips
from .facts_walk import walk_nodes
from .kernel_counts import BufferCount, Counts, LaunchCount, NodeCount, cost_range, is_costlier
from .scope import CountingScope
from .statement_counter import StatementCounter
from .unknown_indices import unknown_index_caveats, unknown_parts

BLOCK_ONLY = {"block"}
NO_SHARE = Fraction(0)


class KernelCounter(StatementCounter):
    """Counts one kernel with one set of bindings: see the module."""

    def counts(self) -> Counts:
        """The executions of each node, and the elements that it accesses."""
        root = self._count_root()
        if any(self._trip_estimates[extent] for extent in self._unknown_extents):
            # A later loop of the same extent has resolved its trip count.
            self._limited_bodies = {}
            root = self._recount()
        buffers = {name: self._count_buffer(name) for name in self.buffers}
        sizes = {name: item.bytes for name, item in buffers.items() if item.bytes is not None}
        self._limit_shares = executed_shares(self._limited_bodies, sizes)
        if self._limit_shares:
            root = self._recount()
        for caveat in unknown_index_caveats(root, self._unknown_names, buffers):
            self._caveats[caveat] = None
        order = [variable.name for variable in self.facts.variables if variable.name in self._needs]
        order += [name for name in self._needs if name not in self._declared]
        launch = self.facts.launch
        return Counts(
            root,
            LaunchCount(
                self._resolve_sizes(launch.grid),
                self._resolve_sizes(launch.threads),
                self._resolve_sizes(launch.cluster),
            ),
            buffers,
            (*self.facts.caveats, *self._caveats),
            tuple(order),
            tuple(self._find_accesses_outside()),
        )

    def _find_accesses_outside(self) -> dict[Caveat, None]:
        """The accesses that leave their arrays, none where a trip count is estimated."""
        if any(estimate is not None for estimate in self._trip_estimates.values()):
            return {}
        sites = {
            id(access): node.sites
            for node in walk_nodes(self.facts.body)
            if isinstance(node, Statement)
            for access in node.accesses
        }
        outside = accesses_outside(self.accesses, self.buffers, self.shapes, sites)
        return {Caveat(message, places[0] if places else None): None for message, places in outside}

    def _recount(self) -> tuple[NodeCount, ...]:
        self.accesses, self._caveats, self._while_loops = [], {}, 0
        return self._count_root()

    def _count_root(self) -> tuple[NodeCount, ...]:
        return self._count_body(
            self.facts.body, CountingScope(Domain(), {**self.bindings}), by_block=False
        )

    def _resolve_sizes(self, exprs: Iterable[Expr]) -> tuple[int, ...] | None:
        values: list[int] = []
        for expr in exprs:
            value = simplify(substitute(expr, self.bindings))
            if not isinstance(value, int):
                self._needs.update(dict.fromkeys(sorted(free_variables(value))))
                return None
            values.append(int(value))
        return tuple(values)

    def _count_buffer(self, name: str) -> BufferCount:
        item = self.buffers[name]
        shape = tuple([int(size) for size in self.shapes[name] if isinstance(size, int)])
        if len(shape) < len(item.shape):
            return BufferCount(item, None, None)
        return BufferCount(item, shape, byte_count(math.prod(shape), item.dtype))

    def _count_body(
        self, nodes: Sequence[Node], scope: CountingScope, *, by_block: bool
    ) -> tuple[NodeCount, ...]:
        kinds = self._executors(nodes)
        by_block = kinds == BLOCK_ONLY if kinds else by_block
        counted: list[NodeCount] = []
        for node in nodes:
            if isinstance(node, Let):
                counted.append(NodeCount(node, None, self._executions(node, scope, by_block)))
                value = self.bindings.get(node.var)
                resolved = scope.resolve(node.value) if value is None else value
                scope = replace(scope, env={**scope.env, node.var: resolved})
                unknown = unknown_parts(resolved, {})
                if unknown:
                    self._unknown_names[node.var] = unknown
            else:
                counted.append(self._count_node(node, scope, by_block))
        return tuple(counted)

    def _count_node(
        self, node: Loop | Branch | While | Statement, scope: CountingScope, by_block: bool
    ) -> NodeCount:
        if isinstance(node, Statement):
            return self._count_statement(node, scope)
        kinds = self._executors((node,))
        by_block = kinds == BLOCK_ONLY if kinds else by_block
        if isinstance(node, Loop):
            return self._count_loop(node, scope, by_block)
        if isinstance(node, Branch):
            return self._count_branch(node, scope, by_block)
        return self._count_while(node, scope, by_block)

    def _executors(self, nodes: Sequence[Node]) -> set[str]:
        """The executors (`Statement.per`) of the statements in some nodes."""
        kinds = {node.per for node in nodes if isinstance(node, Statement)}
        for node in nodes:
            if not isinstance(node, Statement):
                known = self._executors_by_node.get(id(node))
                if known is None:
                    known = self._executors_by_node[id(node)] = self._executors(_children(node))
                kinds |= known
        return kinds

    def _count_loop(self, node: Loop, scope: CountingScope, by_block: bool) -> NodeCount:
        executions = self._executions(node, scope, by_block)
        inner, extent = self._loop_scope(node, scope)
        trips = largest_value(extent, scope.domain.box)
        return NodeCount(
            node,
            max(0, int(trips)) if isinstance(trips, int) else None,
            executions,
            children=self._count_body(node.body, inner, by_block=by_block),
            iterations=self._executions(node, inner, by_block),
        )

    def _loop_scope(self, node: Loop, scope: CountingScope) -> tuple[CountingScope, Expr]:
        """The scope of a loop's body, and the loop's extent."""
        start, step = scope.resolve(node.start), scope.resolve(node.step)
        extent = self._resolve_extent(node, scope)
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
        return scope.inherit_into(inner), extent

    def _resolve_extent(self, node: Loop, scope: CountingScope) -> Expr:
        """The extent, or an upper bound where it depends on data and one can be derived."""
        extent = scope.resolve(node.extent)
        if not is_data_dependent(extent):
            return extent
        text = to_text(extent)
        if node.var in self.bindings:
            lanes = lane_divergence.TRIPS if self._differs_between_lanes(extent) else ""
            how = f"bound explicitly{lanes}"
            self._note(f"{text} trips of {node.var} depend on data: {how}", node.sites)
            return self.bindings[node.var]
        bound = upper_bound(extent)
        if bound is not None:
            how = f"counted as {to_text(bound)}, the upper bound"
            self._note(f"{text} trips of {node.var} depend on data: {how}", node.sites)
            return bound
        once = estimate_trips(node, scope, self.buffers, self.shapes) or self._trip_estimates.get(
            extent
        )
        # A consumer's loop over the same extent, without an array, has the same trip count.
        self._trip_estimates[extent] = once
        if once is None:
            self._unknown_extents.add(extent)
        taken = once and estimate_length(node, extent, once, scope, self.buffers)
        if taken:
            known = self.lengths.get(taken.array, taken)
            self.lengths[taken.array] = min(known, taken, key=lambda one: one.value)
        how = f"bind {node.var} to a number"
        if once is not None:
            how = f"counted as {once.trips}, which traverse {once.buffer} once; {how} to change it"
            how += lane_divergence.TRIPS if self._differs_between_lanes(extent) else ""
        self._note(f"{text} trips of {node.var} depend on data: {how}", node.sites)
        return extent if once is None else once.trips

    def _count_branch(self, node: Branch, scope: CountingScope, by_block: bool) -> NodeCount:
        executions = self._executions(node, scope, by_block)
        scope = scope.with_tile_number(scope.resolve(node.condition))
        condition = scope.resolve(node.condition)
        is_open = self._is_undecided(condition, scope.domain)
        inside = self._under_condition(scope, condition, node.sites, noted=not is_open)
        then = self._count_body(node.then, inside, by_block=by_block)
        orelse: tuple[NodeCount, ...] = ()
        otherwise = scope
        if node.orelse:
            otherwise = self._under_condition(
                scope, negate(condition), node.sites, noted=not is_open
            )
            orelse = self._count_body(node.orelse, otherwise, by_block=by_block)
        if is_open:
            for part in conjuncts(condition):
                self._limited_bodies.setdefault(data_limit(part), []).append(then)
            refused = bool(orelse) and is_costlier(orelse, then)
            divergence = lane_divergence.TWO_SIDES if orelse else lane_divergence.ONE_SIDE
            self._note_data_branch(
                condition,
                scope.domain,
                (cost_range(then, orelse), divergence),
                refused,
                node.sites,
            )
            # One side runs: the costlier one is counted, the other is not.
            if refused:
                then = self._count_body(
                    node.then, replace(inside, share=NO_SHARE), by_block=by_block
                )
            elif orelse:
                orelse = self._count_body(
                    node.orelse, replace(otherwise, share=NO_SHARE), by_block=by_block
                )
        return NodeCount(node, None, executions, children=then + orelse)

    def _note_data_branch(
        self,
        condition: Expr,
        domain: Domain,
        costs: tuple[str, str],
        refused: bool,
        sites: Sequence[Span],
    ) -> None:
        """Add a caveat: how the sides of a data-dependent branch are counted, and their costs.

        `costs` are the range of counts, and the time where lanes of a warp differ.
        """
        counted, divergence = costs
        for part in conjuncts(condition):
            if self._depends_on_data(part, domain):
                how = (
                    "counted as never holding" if refused else self._assumed_domain(part, domain)[2]
                )
                either_way = f" ({counted}, if it never or always holds)" if counted else ""
                lanes = divergence if self._differs_between_lanes(part) else ""
                self._note(f"{to_text(part)} depends on data: {how}{either_way}{lanes}", sites)

    def _differs_between_lanes(self, expr: Expr) -> bool:
        return lane_divergence.differs_between_lanes(expr, self._lanes, self.buffers)

    @cached_property
    def _lanes(self) -> frozenset[str]:
        return lane_divergence.lane_variables(self.facts)

    def _count_while(self, node: While, scope: CountingScope, by_block: bool) -> NodeCount:
        self._while_loops += 1
        name = f"while_{self._while_loops}"
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
            children=self._count_body(node.body, inner, by_block=by_block),
            iterations=self._executions(node, inner, by_block),
        )


def _children(node: Node) -> tuple[Node, ...]:
    if isinstance(node, Branch):
        return node.then + node.orelse
    return node.body if isinstance(node, (Loop, While)) else ()
