"""The form of expressions: plain data that survives JSON.

An expression (`Expr`) is

* an ``int``, a ``float`` or a ``bool``;
* a ``str``, the name of a variable;
* a tuple ``(operator, operand, ...)`` with one of these operators:

  ``+ - * // % min max`` (floor division and modulo as in Python), ``/`` on floats, ``truncdiv``
  and ``truncmod`` (towards zero, as in C), ``< <= == != > >=``, ``and or not``,
  ``select`` (condition, then, else), ``& | ^ << >> ~``, ``cast`` (dtype name, value),
  ``load`` (array, index, ...): the value is data, not known before the run,
  ``opaque`` (text, value, ...): any other value that is not known before the run, and that may
  differ where one of the values does.
"""

from __future__ import annotations

from typing import Any

Expr = int | float | bool | str | tuple[Any, ...]
