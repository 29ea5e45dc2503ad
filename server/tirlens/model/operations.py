"""Arithmetic of a kernel or of a line in two units: FLOP, and integer operations (IOP)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

_INTEGER_CLASSES = ("tensor.int", "tensor.uint", "tensor.bool")


@dataclass(frozen=True)
class Operations:
    """Operations on data; a multiply-accumulate is two, of integers as of floating point.

    Attributes
    ----------
    flop
        Operations of floating point, and of products of matrix units of any type; None: not known.
    int_ops
        Operations on integers outside of matrix units; None: not known.
    integer_flop
        The part of `flop` that multiplies and adds integers.
    """

    flop: int | None
    int_ops: int | None = 0
    integer_flop: int = 0

    @property
    def float_ops(self) -> int | None:
        """Operations of floating point."""
        return None if self.flop is None else self.flop - self.integer_flop

    @property
    def iop(self) -> int | None:
        """Operations on integers, of matrix units and others."""
        return None if self.int_ops is None else self.int_ops + self.integer_flop

    @property
    def are_integer(self) -> bool:
        """Whether most of them are on integers."""
        return (self.iop or 0) > (self.float_ops or 0)

    @property
    def main(self) -> int | None:
        """The operations that are the work: on integers if these are most of them."""
        return self.iop if self.are_integer else self.float_ops


def integer_flop(flop_by_class: Mapping[str, int]) -> int:
    """The FLOP of the classes of integer products of matrix units."""
    return sum(flop for name, flop in flop_by_class.items() if name.startswith(_INTEGER_CLASSES))


def sum_counts(parts: Iterable[Operations]) -> Operations:
    """The sum of some operations."""
    flop: int | None = 0
    int_ops: int | None = 0
    products = 0
    for part in parts:
        flop = None if flop is None or part.flop is None else flop + part.flop
        int_ops = None if int_ops is None or part.int_ops is None else int_ops + part.int_ops
        products += part.integer_flop
    return Operations(flop, int_ops, products)
