"""Exact counts of the integer points of guarded loop nests.

A `Domain` is the set of points that nested loops with conditions visit.  Bounds, conditions and
weights are quasi-affine expressions of any form (`Expr`): sums, products with constants, floor
division, modulo, minimum, maximum, comparisons and logic.  Counts are Python integers of any size.

The number of points of a triangle:

>>> from tirlens_counting import Domain, Solver
>>> triangle = Domain().with_axis("i", 0, 1000).with_axis("j", 0, ("+", "i", 1))
>>> triangle.points(Solver())
Sum(value=500500, exact=True)

The sum of a weight, under a condition with a modulo:

>>> even = triangle.under_condition(("==", ("%", "j", 2), 0))
>>> even.total(Solver(), ["j"]).value
83333000

The distinct positions of index expressions, here overlapping windows of an array of 110 elements:

>>> from tirlens_counting import find_image
>>> windows = Domain().with_axis("i", 0, 100).with_axis("k", 0, 11)
>>> find_image(windows.problem, [("+", "i", "k")], [110], Solver()).size
110

Expressions are simplified under the ranges of their variables:

>>> from tirlens_counting import simplify_in_ranges
>>> simplify_in_ranges(("//", ("+", ("*", "i", 32), "j"), 32), {"i": (0, 7), "j": (0, 31)})
'i'

`README.md` in this folder says what is exact, and compares the library with barvinok.
"""

from .domain import Domain
from .expressions import Expr, evaluate, simplify, substitute, to_text
from .images import Image, find_image
from .range_simplification import simplify_in_ranges
from .solver import Solver, Sum
from .symbolic_counts import Points, count_symbolically

__all__ = [
    "Domain",
    "Expr",
    "Image",
    "Points",
    "Solver",
    "Sum",
    "count_symbolically",
    "evaluate",
    "find_image",
    "simplify",
    "simplify_in_ranges",
    "substitute",
    "to_text",
]
