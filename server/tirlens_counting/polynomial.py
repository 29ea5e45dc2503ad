"""Polynomials with integer coefficients over shape variables and other unknowns of a formula."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .expressions import Expr, to_text

Monomial = tuple[Expr, ...]


@dataclass(frozen=True)
class Polynomial:
    """``sum(coefficient * product of atoms)``; an atom may occur several times in a product."""

    terms: tuple[tuple[Monomial, int], ...]

    @staticmethod
    def of(expr: Expr) -> Polynomial:
        """`expr`, simplified; what is no sum or product is an atom."""
        if isinstance(expr, (bool, int)):
            return Polynomial((((), int(expr)),) if expr else ())
        if isinstance(expr, tuple) and expr[0] == "+":
            parts = [Polynomial.of(part) for part in expr[1:]]
            total = parts[0]
            for part in parts[1:]:
                total = total + part
            return total
        if isinstance(expr, tuple) and expr[0] == "*":
            product = Polynomial.of(1)
            for part in expr[1:]:
                product = product * Polynomial.of(part)
            return product
        return Polynomial((((expr,), 1),))

    def __add__(self, other: Polynomial) -> Polynomial:
        return _collect([*self.terms, *other.terms])

    def __mul__(self, other: Polynomial) -> Polynomial:
        return _collect(
            [
                (tuple(sorted((*mine, *theirs), key=repr)), a * b)
                for mine, a in self.terms
                for theirs, b in other.terms
            ]
        )

    def text(self, variables: Sequence[str]) -> str:
        """Readable text, factors in the order of `variables`, highest products first."""
        order = {name: index for index, name in enumerate(variables)}

        def place(atom: Expr) -> tuple[int, str]:
            return (order.get(atom, len(order)) if isinstance(atom, str) else -1, to_text(atom))

        parts: list[str] = []
        for monomial, coefficient in sorted(self.terms, key=lambda t: (-len(t[0]), repr(t[0]))):
            factors = [_factor(atom) for atom in sorted(monomial, key=place)]
            if abs(coefficient) != 1 or not factors:
                factors.insert(0, str(abs(coefficient)))
            sign = " - " if coefficient < 0 else " + "
            parts.append((sign if parts else sign.strip(" +")) + "*".join(factors))
        return "".join(parts) or "0"


def _factor(atom: Expr) -> str:
    text = to_text(atom)
    return text if isinstance(atom, str) or (text.endswith(")") and text[0] != "(") else f"({text})"


def _collect(terms: Sequence[tuple[Monomial, int]]) -> Polynomial:
    sums: dict[Monomial, int] = {}
    for monomial, coefficient in terms:
        sums[monomial] = sums.get(monomial, 0) + coefficient
    return Polynomial(tuple((m, c) for m, c in sums.items() if c))
