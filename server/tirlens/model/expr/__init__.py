"""Expressions of facts: evaluate, substitute, simplify and print them.

The form is that of `tirlens_worker.facts`.  Arithmetic is Python's, so integers have any size and
`//` and `%` round down.
"""

from .evaluation import COMPARISONS, UnknownValueError, evaluate
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
