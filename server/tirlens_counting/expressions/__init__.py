"""Expressions as plain data: evaluate, substitute, simplify and print them.

`Expr` documents the form.  Arithmetic is Python's: integers have any size, and `//` and `%` round
down.
"""

from .evaluation import COMPARISONS, UnknownValueError, evaluate
from .expression import Expr
from .simplification import (
    NEGATED,
    conjuncts,
    is_integer,
    modulo,
    negate,
    rebuild,
    simplify,
    simplify_cast,
)
from .terms import (
    UNKNOWN_OPERATORS,
    collect,
    free_variables,
    from_linear,
    is_data_dependent,
    linear,
    loads,
    operands,
    operators,
    substitute,
    walk,
)
from .text import to_text

__all__ = [
    "COMPARISONS",
    "NEGATED",
    "UNKNOWN_OPERATORS",
    "Expr",
    "UnknownValueError",
    "collect",
    "conjuncts",
    "evaluate",
    "free_variables",
    "from_linear",
    "is_data_dependent",
    "is_integer",
    "linear",
    "loads",
    "modulo",
    "negate",
    "operands",
    "operators",
    "rebuild",
    "simplify",
    "simplify_cast",
    "substitute",
    "to_text",
    "walk",
]
