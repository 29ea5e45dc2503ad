"""Expressions of facts: extents, indices, guards and counts.

An expression (`Expr`) is plain data, which JSON can represent:

* an ``int``, a ``float`` or a ``bool``;
* a ``str``: a variable, unique in the kernel (a loop variable, a let, a shape variable);
* a tuple ``(operator, operand, ...)`` with one of these operators:

  ``+ - * // % min max`` (floor division and modulo as in Python), ``/`` on floats, ``truncdiv``
  and ``truncmod`` (towards zero, as in C), ``< <= == != > >=``, ``and or not``,
  ``select`` (condition, then, else), ``& | ^ << >> ~``, ``cast`` (dtype name, value),
  ``load`` (buffer id, index, ...): the content of an array,
  ``opaque`` (text, value, ...): any other value that is not known before the kernel runs, and that
  may differ where one of the values does (no values: one for the whole kernel).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Tuple, Union

Expr = Union[int, float, bool, str, Tuple[Any, ...]]


@dataclass(frozen=True)
class Variable:
    """A shape variable, which must be bound to a size for numeric results."""

    name: str
    dtype: str = "int32"
