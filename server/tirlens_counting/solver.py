"""Exact sums of products of weights over the integer points of a box under conditions.

Methods from cheap to expensive: split into components that share no condition; write divided
variables in digits, which become independent; solve linear conditions for a variable, whose sum is
then an expression in the others (tails, triangles, clipped tiles); sum over a single variable as a
quasi-polynomial; else eliminate variables in tables of integers, or split into cases.  With too
many cases the sum is estimated from a regular sample and marked as inexact.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from .case_splits import split_shift_conditions
from .closed_forms import count_in_closed_form
from .digit_variables import change_to_digits
from .elimination import SMALL_TABLE, Table, Tables, TooLargeError, eliminate_variables
from .expressions import Expr, free_variables, from_linear, simplify, substitute
from .guards import Guard
from .intervals import linear_bounds
from .problem import Problem, is_empty, make_problem, split_components
from .quasi_polynomials import sum_over_variable
from .single_use_variables import find_single_uses, tabulate_counts

# Largest table of one elimination step at all, in elements.
MAX_TABLE_ELEMENTS = 2_000_000
# Limits of the cases of one split: values of a variable, and carries of a sum.
MAX_CASES = 64
MAX_CARRIES = 4
# Limit of the cases of one analysis, after which only tables and samples are used.
MAX_TOTAL_CASES = 2000
SAMPLES = 129
# Limit of points that are enumerated without analysis of the conditions.
MAX_ENUMERATED_POINTS = 1024


@dataclass(frozen=True)
class Sum:
    """The sum of a problem; `exact` is False where it is an estimate from a sample."""

    value: int
    exact: bool = True

    def __add__(self, other: Sum) -> Sum:
        return Sum(self.value + other.value, self.exact and other.exact)

    def __mul__(self, other: Sum) -> Sum:
        return Sum(self.value * other.value, self.exact and other.exact)


ZERO, ONE = Sum(0), Sum(1)


@dataclass
class Solver:
    """Solves problems, with a cache for one analysis.

    Attributes
    ----------
    small_table
        Elements of a table that is evaluated without further analysis.
    max_enumerated_points
        Points of a problem that is enumerated.
    uses_closed_forms
        Whether closed forms are tried first.
    """

    small_table: int = SMALL_TABLE
    max_enumerated_points: int = MAX_ENUMERATED_POINTS
    uses_closed_forms: bool = True
    _cases: int = 0
    _tables: Tables = field(default_factory=Tables, repr=False)
    _known: dict[object, Sum] = field(default_factory=dict[object, Sum], repr=False)

    def solve(self, whole: Problem) -> Sum:
        """The sum over all points."""
        result = Sum(whole.scale)
        if whole.scale == 0 or is_empty(whole.box):
            return ZERO
        for part in split_components(whole):
            result = result * self.solve_part(part)
            if result.value == 0:
                return ZERO
        return result

    def solve_part(self, part: Problem) -> Sum:
        """The sum over one of the `components`, whose scale is 1."""
        if is_empty(part.box):
            return ZERO
        if not part.guards and not part.weights:
            free = (interval for name, interval in part.box.items() if name not in part.projected)
            return Sum(math.prod(high - low + 1 for low, high in free))
        key = part.key()
        if key not in self._known:
            self._known[key] = self._solve_new(part)
        return self._known[key]

    def _solve_new(self, part: Problem) -> Sum:
        total = count_in_closed_form(part) if self.uses_closed_forms else None
        if total is None:
            total = self._enumerate(part)
        if total is not None:
            return Sum(total)
        simpler = _tighten(part) or _change_to_digits(part)
        if simpler is not None:
            return self.solve(simpler)
        tell_apart = not part.projected and self._cases < MAX_TOTAL_CASES
        if tell_apart and (cases := _split_by_carry(part)):
            return self._sum_cases(cases)
        if simpler := _solve_for_variable(part):
            return self.solve(simpler)
        try:
            if len(part.box) == 1 and not part.projected:
                ((name, (low, high)),) = part.box.items()
                return Sum(sum_over_variable(name, low, high, part.factors()))
            return Sum(self._eliminate(part, self.small_table))
        except TooLargeError:
            pass
        if tell_apart and (
            cases := _split_disjunction(part)
            or split_shift_conditions(part)
            or _split_by_value(part)
        ):
            return self._sum_cases(cases)
        try:
            return Sum(self._eliminate(part, MAX_TABLE_ELEMENTS))
        except TooLargeError:
            return self._sample(part)

    def _enumerate(self, part: Problem) -> int | None:
        """The sum over few points, those of variables that only one condition has not counted."""
        points = math.prod(high - low + 1 for low, high in part.box.values())
        found = list(find_single_uses(part)) if points > self.max_enumerated_points else []
        alone = {name for tail in found for name in tail.variables}
        box = {name: interval for name, interval in part.box.items() if name not in alone}
        if math.prod(high - low + 1 for low, high in box.values()) > self.small_table:
            return None
        tables: list[Table] = []
        for tail in found:
            table = tabulate_counts(tail, part.box, self._tables)
            if table is None:
                return None
            tables.append(table)
        solved = {tail.condition for tail in found}
        rest = [item.expression() for item in part.guards if item not in solved]
        tables += [self._tables.table_of(factor, box) for factor in (*rest, *part.weights)]
        return eliminate_variables(box, tables, part.projected, self.small_table)

    def _eliminate(self, part: Problem, limit: int) -> int:
        tables = [self._tables.table_of(factor, part.box, limit) for factor in part.factors()]
        return eliminate_variables(part.box, tables, part.projected, limit)

    def _sum_cases(self, cases: Sequence[Problem]) -> Sum:
        self._cases += len(cases)
        return sum(map(self.solve, cases), ZERO)

    def _sample(self, part: Problem) -> Sum:
        """An estimate: the sums at equally spaced values of the longest variable."""
        free = [name for name in part.box if name not in part.projected] or list(part.box)
        name = max(free, key=lambda n: part.box[n][1] - part.box[n][0])
        low, high = part.box[name]
        length = high - low + 1
        count = min(SAMPLES, length)
        total = 0
        for index in range(count):
            value = low + (2 * index + 1) * length // (2 * count)
            total += self.solve(_fix_variable(part, name, value)).value
        return Sum(total * length // count, exact=False)


def eliminate_projected(whole: Problem) -> Problem:
    """The same points without those projected variables that can be solved for."""
    while whole.projected and whole.scale:
        free = frozenset(name for name in whole.projected if not _is_bound(whole, name))
        if free and not is_empty(whole.box):
            box = {name: interval for name, interval in whole.box.items() if name not in free}
            whole = replace(whole, box=box, projected=whole.projected - free, is_tight=False)
            continue
        simpler = _solve_for_variable(whole)
        if simpler is None:
            break
        whole = simpler
    return whole


def _is_bound(whole: Problem, name: str) -> bool:
    """Whether a condition or weight depends on a variable."""
    return any(name in item.scope for item in whole.guards) or any(
        name in free_variables(weight) for weight in whole.weights
    )


def _tighten(part: Problem) -> Problem | None:
    """The problem with what follows for the ranges of its variables; None if nothing does."""
    if part.is_tight:
        return None
    narrower = make_problem(part.box, part.factors(), part.projected)
    return None if narrower.scale and narrower.box == part.box else narrower


def _change_to_digits(part: Problem) -> Problem | None:
    """The problem with divided variables in digits; None if nothing is gained."""
    change = change_to_digits(part.box, part.factors(), part.projected)
    if change is None:
        return None
    return make_problem(dict(change.box), (*change.exprs, *change.conditions), change.projected)


def _solve_for_variable(part: Problem) -> Problem | None:
    """The problem without one variable whose conditions can be solved for it, if there is one."""
    names = [name for name in part.box if name in part.projected] or list(part.box)
    weighted = frozenset[str]().union(*map(free_variables, part.weights))
    for name in sorted(names, key=lambda n: part.box[n][0] - part.box[n][1]):
        if name in weighted:
            continue
        mine = [item for item in part.guards if name in item.scope]
        solved = [item.limits(name) for item in mine]
        limits = [limit for limit in solved if limit is not None]
        if len(limits) < len(solved):
            continue
        low, high = part.box[name]
        lows: list[Expr] = [low, *(least for least, _ in limits if least is not None)]
        highs: list[Expr] = [high + 1, *(most for _, most in limits if most is not None)]
        box = {n: interval for n, interval in part.box.items() if n != name}
        rest = [item.expression() for item in part.guards if item not in mine]
        if name in part.projected:
            # Some value exists exactly if every lower bound is below every upper one.
            rest += [("<", least, most) for least in lows for most in highs]
        else:
            rest.append(_interval_length(lows, highs))
        return make_problem(box, (*rest, *part.weights), part.projected)
    return None


def _interval_length(lows: Iterable[Expr], highs: Iterable[Expr]) -> Expr:
    """How many integers lie from the largest of `lows` up to below the least of `highs`."""
    first, stop = ("max", *lows), ("min", *highs)
    return simplify(("max", 0, ("-", stop, first)))


def _split_by_carry(part: Problem) -> list[Problem] | None:
    """Cases by the carry of a sum of large and small terms, which are independent in each case.

    ``unit * x + r < 0`` holds exactly if ``x + r // unit < 0``; where ``r // unit`` takes a few
    values only, each of them is a case with a condition on x and one on r.
    """
    for item in part.guards:
        terms = dict(item.terms)
        if len(terms) < 3:
            # One variable solved for leaves one, which is summed over in closed form.
            continue
        units = {abs(factor) for factor in terms.values()} - {1}
        for unit in sorted(units, reverse=True):
            large = {a: factor // unit for a, factor in terms.items() if factor % unit == 0}
            small = {a: factor for a, factor in terms.items() if factor % unit}
            low, high = linear_bounds(small, item.constant, part.box)
            carries = range(int(low // unit), int(high // unit) + 1)
            if not small or len(carries) > MAX_CARRIES:
                continue
            others = [other.expression() for other in part.guards if other is not item]
            rest = from_linear(small, item.constant)
            return [
                make_problem(
                    part.box,
                    (
                        *others,
                        *part.weights,
                        *_carry_conditions(item, from_linear(large, 0), rest, unit, c),
                    ),
                )
                for c in carries
            ]
    return None


def _carry_conditions(
    item: Guard, large: Expr, rest: Expr, unit: int, carry: int
) -> Iterator[Expr]:
    if item.equality:
        yield ("==", rest, carry * unit)
        yield ("==", large, -carry)
        return
    yield (">=", rest, carry * unit)
    yield ("<", rest, (carry + 1) * unit)
    yield ("<", large, -carry)


def _split_disjunction(part: Problem) -> list[Problem] | None:
    """A disjunction as disjoint cases, each of which may be solved in closed form."""
    for weight in part.weights:
        if not isinstance(weight, tuple) or weight[0] not in ("or", "!="):
            continue
        others = list(part.weights)
        others.remove(weight)
        if weight[0] == "!=":
            cases: list[Expr] = [("<", *weight[1:]), (">", *weight[1:])]
        else:
            cases = [
                simplify(("and", *(("not", one) for one in weight[1:index]), weight[index]))
                for index in range(1, len(weight))
            ]
        guards = [item.expression() for item in part.guards]
        return [make_problem(part.box, (*guards, *others, case)) for case in cases]
    return None


def _split_by_value(part: Problem) -> list[Problem] | None:
    """The problem at each value of its shortest variable, if those are few and others remain."""
    name = min(part.box, key=lambda n: part.box[n][1] - part.box[n][0])
    low, high = part.box[name]
    if high - low + 1 > MAX_CASES or len(part.box) < 2:
        return None
    return [_fix_variable(part, name, value) for value in range(low, high + 1)]


def _fix_variable(part: Problem, name: str, value: int) -> Problem:
    """The problem at one value of a variable."""
    box = {n: interval for n, interval in part.box.items() if n != name}
    factors = [substitute(factor, {name: value}) for factor in part.factors()]
    return make_problem(box, factors, part.projected - {name})
