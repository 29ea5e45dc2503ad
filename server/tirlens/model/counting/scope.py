"""The iteration domain and the values of names at one point of the walk over the facts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction

from tirlens_counting.domain import Domain
from tirlens_counting.expressions import (
    NEGATED,
    free_variables,
    from_linear,
    linear,
    simplify,
    substitute,
    to_text,
)
from tirlens_counting.range_simplification import simplify_in_ranges
from tirlens_worker.facts import Expr

WHOLE = Fraction(1)


@dataclass(frozen=True)
class CountingScope:
    """The iteration domain of a node, and the values of names there.

    `threads` are the loop variables of a block's threads, `blocks` those of the grid.  `share` is
    the share of the points at which data-dependent conditions are assumed to hold.  `totals` caches
    sums over the domain, `condition_scopes` the scopes under a condition.
    """

    domain: Domain
    env: Mapping[str, Expr]
    threads: frozenset[str] = frozenset()
    blocks: frozenset[str] = frozenset()
    share: Fraction = WHOLE
    totals: dict[tuple[Expr, ...], int | None] = field(
        default_factory=dict[tuple[Expr, ...], "int | None"], init=False, repr=False, compare=False
    )
    condition_scopes: dict[Expr, CountingScope] = field(
        default_factory=dict[Expr, "CountingScope"], init=False, repr=False, compare=False
    )
    _resolved: dict[Expr, Expr] = field(
        default_factory=dict[Expr, Expr], init=False, repr=False, compare=False
    )

    @property
    def is_whole(self) -> bool:
        """Whether no data-dependent condition removes points."""
        return self.share is WHOLE or self.share == 1

    def resolve(self, expr: Expr) -> Expr:
        """`expr` in terms of loop variables alone, simplified."""
        if isinstance(expr, int):
            return expr
        return simplify_in_ranges(expr, self.domain.box, self.env, self._resolved)

    def inherit_into(self, inner: CountingScope) -> CountingScope:
        """`inner`, with this scope's resolved expressions if they hold there.

        They do where `inner` only adds variables.
        """
        if self.env == inner.env and self.domain.box.items() <= inner.domain.box.items():
            inner._resolved.update(self._resolved)
        return inner

    def at_first_thread(self, expr: Expr) -> Expr:
        """`expr` with each thread variable at its lowest value."""
        mine = free_variables(expr) & self.threads
        if not mine:
            return expr
        first = {name: self.domain.box[name][0] for name in mine}
        return simplify(substitute(expr, first))

    def with_tile_number(self, condition: Expr) -> CountingScope:
        """The scope with one variable for the tile number, where `condition` compares it.

        A persistent kernel numbers its tiles ``wave * blocks + block``; its work depends on that
        number alone.
        """
        if not isinstance(condition, tuple) or condition[0] not in NEGATED or self.domain.missing:
            return self
        box = self.domain.box
        terms, _ = linear(("-", *condition[1:]))
        parts = {atom: abs(factor) for atom, factor in terms.items() if atom in box}
        digits = [str(atom) for atom in sorted(parts, key=parts.__getitem__)]
        unit = 1
        for digit in digits:
            if parts[digit] != unit or box[digit][0] != 0:
                return self
            unit *= int(box[digit][1]) + 1
        if len(digits) < 2 or digits[0] not in self.blocks or digits[-1] in self.blocks:
            return self
        if not self.threads.isdisjoint(digits):
            return self
        name = f"({to_text(from_linear({digit: parts[digit] for digit in reversed(digits)}, 0))})"
        domain, values = self.domain.join_axes(digits, name)
        env = {
            other: simplify_in_ranges(substitute(value, values), domain.box)
            for other, value in self.env.items()
        }
        return replace(self, domain=domain, env={**env, **values})
