"""Count single statements under their conditions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from tirlens_counting.data_bounds import upper_bound
from tirlens_counting.domain import Domain
from tirlens_counting.expressions import (
    UnknownValueError,
    conjuncts,
    free_variables,
    is_data_dependent,
    simplify,
    substitute,
    to_text,
)
from tirlens_counting.intervals import Interval, bounds
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_counting.solver import Solver
from tirlens_worker.facts import (
    THREADS_TOGETHER,
    Access,
    Arith,
    Caveat,
    Expr,
    KernelFacts,
    Node,
    Span,
    Statement,
    Useful,
)

from ..dtypes import bits
from .data_conditions import congruence_share, data_limit, selected_iteration
from .data_extents import LengthEstimate, TripEstimate
from .kernel_counts import AccessCount, ArithCount, NodeCount
from .scope import WHOLE, CountingScope

# Executors whose executions need no division by a number of threads.
_UNDIVIDED_EXECUTORS = frozenset(
    {"block", *(per for per, number in THREADS_TOGETHER.items() if number == 1)}
)


class StatementCounter:
    """Counts of statements at one point of the walk, and the state of the walk."""

    def __init__(self, facts: KernelFacts, bindings: Mapping[str, int]) -> None:
        self.facts = facts
        self.bindings = dict(bindings)
        self._declared = {variable.name for variable in facts.variables}
        self.solver = Solver()
        self.buffers = {item.id: item for item in facts.buffers}
        self.shapes = {
            item.id: tuple(
                [
                    s if type(s) is int else simplify(substitute(s, self.bindings))
                    for s in item.shape
                ]
            )
            for item in facts.buffers
        }
        self._bits = {item.id: bits(item.dtype) for item in facts.buffers}
        # Each access with its scope.
        self.accesses: list[tuple[Access, CountingScope]] = []
        self._caveats: dict[Caveat, None] = {}
        # The values of names that are not known before the run.
        self._unknown_names: dict[str, tuple[Expr, ...]] = {}
        self._needs: dict[str, None] = {}
        self._while_loops = 0
        self._executors_by_node: dict[int, set[str]] = {}
        # Bodies limited by a number in memory, and the share of their iterations that runs.
        self._limited_bodies: dict[Expr | None, list[Sequence[NodeCount]]] = {}
        self._limit_shares: Mapping[Expr | None, Fraction] = {}
        # Data-dependent extents with their estimated trip counts.
        self._trip_estimates: dict[Expr, TripEstimate | None] = {}
        self._unknown_extents: set[Expr] = set()
        # The assumed values of arrays of lengths that bound such loops.
        self.lengths: dict[str, LengthEstimate] = {}

    def _count_statement(self, node: Statement, scope: CountingScope) -> NodeCount:
        executions = self._count_points(scope, (), node.per, node.sites)
        arith = tuple([self._count_arith(item, node, scope, executions) for item in node.arith])
        single = executions is not None and self._is_uniform(node, scope)
        accesses: list[AccessCount] = []
        for item in node.accesses:
            if single and not item.extents and item.guard is None:
                # Fast path: one element, as in unrolled code.
                assert executions is not None
                self.accesses.append((item, scope))
                accesses.append(self._access_count(item, executions, executions * item.lanes))
            else:
                accesses.append(self._count_access(item, node, scope, executions))
        return NodeCount(node, None, executions, arith, tuple(accesses))

    def _count_arith(
        self, item: Arith, node: Statement, scope: CountingScope, executions: int | None
    ) -> ArithCount:
        if item.guard is not None:
            scope = self._resolve_condition(scope, item.guard, node.sites)
            executions = self._count_points(scope, (), node.per, node.sites)
        number = item.count if isinstance(item.count, int) else scope.resolve(item.count)
        if is_data_dependent(number):
            bound = upper_bound(number)
            self._note(f"the number of {item.op}, {to_text(number)}, depends on data", node.sites)
            if bound is None:
                return ArithCount(item, None)
            number = bound
        total = self._weighted_executions(executions, (number,), node, scope)
        if item.op != "mma":
            return ArithCount(item, total, total, 0)
        kept, masked = self._count_useful(item.useful, node.per, scope)
        return ArithCount(item, total, kept, masked)

    def _count_useful(
        self, useful: Useful | None, per: str, scope: CountingScope
    ) -> tuple[int | None, int | None]:
        """Operations that contribute to the result, and those that a mask discards."""
        if useful is None or not scope.is_whole or per not in _UNDIVIDED_EXECUTORS:
            return None, None
        domain = scope.domain
        for name, extent in useful.loops:
            domain = domain.with_axis(name, 0, simplify_in_ranges(extent, domain.box, scope.env))
        count = scope.at_first_thread(simplify_in_ranges(useful.count, domain.box, scope.env))
        condition = simplify_in_ranges(
            True if useful.guard is None else useful.guard, domain.box, scope.env
        )
        if is_data_dependent(count) or is_data_dependent(condition):
            return None, None
        if self._has_data_scalar(condition, domain):
            return None, None
        kept = domain.under_condition(condition)
        if kept.unknown((count,)) is not None or domain.unknown((count,)) is not None:
            return None, None
        projected = scope.threads if per == "block" else frozenset[str]()
        try:
            inside = kept.total(self.solver, (count,), projected)
            all_ = inside if kept is domain else domain.total(self.solver, (count,), projected)
        except UnknownValueError:
            return None, None
        if not (inside.exact and all_.exact):
            return None, None
        return inside.value, all_.value - inside.value

    def _count_access(
        self, item: Access, node: Statement, scope: CountingScope, executions: int | None
    ) -> AccessCount:
        if item.guard is not None:
            scope = self._resolve_condition(scope, item.guard, node.sites)
            executions = self._count_points(scope, (), node.per, node.sites)
        self.accesses.append((item, scope))
        weights = self._box_sizes(item, scope, node)
        elements = self._weighted_executions(executions, (*weights, item.lanes), node, scope)
        return self._access_count(item, executions, elements)

    def _access_count(
        self, item: Access, executions: int | None, elements: int | None
    ) -> AccessCount:
        width = self._bits[item.buffer]
        size = None if elements is None or width is None else (elements * width + 7) // 8
        return AccessCount(item, self.buffers[item.buffer], executions, elements, size)

    def _box_sizes(self, item: Access, scope: CountingScope, node: Statement) -> list[Expr]:
        """The size of the access box in each dimension; of a clipped box the part in the buffer."""
        lengths: list[Expr] = []
        shape = self.shapes[item.buffer]
        for axis, size in enumerate(item.extents):
            extent = size if isinstance(size, int) else scope.resolve(size)
            if is_data_dependent(extent):
                bound = upper_bound(extent)
                extent = shape[axis] if bound is None else bound
                self._note(
                    "the size of a region depends on data: counted as its upper bound", node.sites
                )
            if item.clipped:
                # At a data-dependent offset at most as much is inside as at offset 0.
                index = scope.resolve(item.indices[axis])
                index = 0 if is_data_dependent(index) else index
                extent = _clipped_length(index, extent, shape[axis], scope.domain.box)
            if not isinstance(extent, int) or extent < 0:
                extent = simplify_in_ranges(("max", 0, extent), scope.domain.box)
            lengths.append(extent)
        return lengths

    def _weighted_executions(
        self, executions: int | None, weights: Sequence[Expr], node: Statement, scope: CountingScope
    ) -> int | None:
        """The sum of the product of `weights` over the executions of a statement."""
        if executions is not None and self._is_uniform(node, scope):
            for weight in weights:
                if not isinstance(weight, int):
                    break
                executions *= weight
            else:
                return executions
        return self._count_points(scope, weights, node.per, node.sites)

    def _is_uniform(self, node: Statement, scope: CountingScope) -> bool:
        """Whether a constant summed over the executions is a product."""
        return scope.is_whole and node.per in _UNDIVIDED_EXECUTORS

    def _resolve_condition(
        self, scope: CountingScope, condition: Expr, sites: Sequence[Span]
    ) -> CountingScope:
        return self._under_condition(scope, scope.resolve(condition), sites)

    def _under_condition(
        self, scope: CountingScope, condition: Expr, sites: Sequence[Span], noted: bool = True
    ) -> CountingScope:
        """`scope` under a condition; a data-dependent part is assumed to hold, with a caveat."""
        known = scope.condition_scopes.get(condition)
        if known is not None:
            return known
        domain, share = scope.domain, scope.share
        by_data = False
        for part in conjuncts(condition):
            if not self._depends_on_data(part, domain):
                domain = domain.under_conjunct(part)
                continue
            by_data = True
            domain, part_share, how = self._assumed_domain(part, domain)
            share *= part_share
            if noted:
                self._note(f"{to_text(part)} depends on data: {how}", sites)
        if domain is scope.domain and share is scope.share:
            return scope
        inner = scope.inherit_into(replace(scope, domain=domain, share=share))
        if not by_data:
            # Scopes of data-dependent conditions are not cached: each statement has its caveat.
            scope.condition_scopes[condition] = inner
        return inner

    def _assumed_domain(self, part: Expr, domain: Domain) -> tuple[Domain, Fraction, str]:
        """Where and how often a data-dependent condition is assumed to hold, also in words."""
        chosen, share = selected_iteration(part, domain), congruence_share(part)
        if chosen is not None:
            # An unrolled ring of stages: `for s in range(n): if stage == s`.
            met = domain.under_condition(("==", chosen, domain.box[chosen][0]))
            return met, WHOLE, "counted as holding in one iteration"
        if share is not None:
            return domain, share, f"counted as holding in {share} of the iterations"
        share = self._limit_shares.get(data_limit(part))
        if share is not None:
            return (
                domain,
                share,
                f"counted as holding in {share} of the iterations, which write each output once",
            )
        return domain, WHOLE, "counted as always holding"

    def _is_undecided(self, condition: Expr, domain: Domain) -> bool:
        """Whether a condition depends on data and its form does not tell how often it holds."""
        parts = [part for part in conjuncts(condition) if self._depends_on_data(part, domain)]
        return bool(parts) and all(
            selected_iteration(part, domain) is None and congruence_share(part) is None
            for part in parts
        )

    def _depends_on_data(self, condition: Expr, domain: Domain) -> bool:
        return is_data_dependent(condition) or self._has_data_scalar(condition, domain)

    def _has_data_scalar(self, condition: Expr, domain: Domain) -> bool:
        """Whether a name in it is a scalar read from data: no loop, let or shape variable."""
        return not free_variables(condition) <= domain.box.keys() | self._declared

    def _executions(self, node: Node, scope: CountingScope, by_block: bool) -> int | None:
        return self._count_points(scope, (), "block" if by_block else "thread", node.sites)

    def _count_points(
        self, scope: CountingScope, weights: Sequence[Expr], per: str, sites: Sequence[Span]
    ) -> int | None:
        key = (per, *weights)
        if key in scope.totals:
            return scope.totals[key]
        projected = scope.threads if per == "block" else frozenset[str]()
        if per == "block":
            weights = [scope.at_first_thread(weight) for weight in weights]
        unknown = scope.domain.unknown(weights)
        if unknown is not None:
            if isinstance(unknown, str) and unknown not in scope.domain.box:
                self._needs[unknown] = None
            scope.totals[key] = None
            return None
        try:
            total = scope.domain.total(self.solver, weights, projected)
        except UnknownValueError:
            # It has no value, such as a shift by a negative number.
            scope.totals[key] = None
            return None
        together = THREADS_TOGETHER.get(per, 1)
        # Integers: `Fraction` reduces at each operation.
        part, whole = scope.share.numerator, scope.share.denominator * together
        number = -(-total.value * part // whole)
        if total.exact:
            scope.totals[key] = number
        else:
            self._note("too many cases to enumerate: estimated from a sample", sites)
        return number

    def _note(self, message: str, sites: Sequence[Span]) -> None:
        self._caveats[Caveat(message, sites[0] if sites else None)] = None


def _clipped_length(index: Expr, extent: Expr, size: Expr, box: Mapping[str, Interval]) -> Expr:
    """The length of the part of ``[index, index + extent)`` inside ``[0, size)``."""
    if isinstance(extent, int) and isinstance(size, int):
        low, high = bounds(index, box)
        if low >= 0 and high + extent <= size:
            return extent
    stop = ("min", size, ("+", index, extent))
    return ("-", stop, ("max", 0, index))
