"""Where the walk over the facts is, and what names stand for there."""

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
from tirlens_counting.within import within
from tirlens_worker.facts import Expr

WHOLE = Fraction(1)


@dataclass(frozen=True)
class CountingScope:
    """Where the walk is: the points that get here and what names stand for.

    `threads` are the loop variables of the threads of a block, `blocks` those of the grid, `share`
    is the part of the points at which conditions on data are taken to hold.  `totals` remembers
    sums over the points, `inner` the scopes where a condition holds.
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
        """Whether no condition on data thins the points."""
        return self.share is WHOLE or self.share == 1

    def resolve(self, expr: Expr) -> Expr:
        """`expr` in loop variables alone, simplified."""
        if isinstance(expr, int):
            return expr
        return within(expr, self.domain.box, self.env, self._resolved)

    def inherit_into(self, inner: CountingScope) -> CountingScope:
        """`inner`, a scope inside of this, where what is resolved here is so too.

        That is if only variables that this one does not have are more.
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
        """The scope with a variable for the number of the tile, where `condition` compares that.

        A persistent kernel numbers its tiles ``wave * blocks + block``, and all that it does with a
        tile depends on its number alone.
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
        domain, values = self.domain.joined(digits, name)
        env = {
            other: within(substitute(value, values), domain.box)
            for other, value in self.env.items()
        }
        return replace(self, domain=domain, env={**env, **values})
