"""How each tile operation and intrinsic of tilelang and TVM is accounted, as `Statement` facts.

`lookup` gives the handler of an operation that stands as a statement, or inside an expression
where it does more than scalar arithmetic (a shuffle, an atomic with a result): the walk then takes
the `arith` and `accesses` of the handler's statement.  `scalar` names the arithmetic of a plain
scalar call (``tir.exp`` -> ``exp``).  An operation that neither knows is the walk's to report.

Every module of this package is imported at the first question; adding an operation is adding a
module.  How counts are meant: a statement with ``per="block"`` states what all threads of a block
do together; with ``per="thread"`` what one thread does, so an instruction that 32 lanes execute
together states a 32nd of its work, always an integer.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from typing import Optional

from .registry import (
    Context,
    Handler,
    Layout,
    Region,
    TensorMap,
    accounts,
    find_handler,
    find_scalar,
    scalars,
)

__all__ = [
    "Context",
    "Handler",
    "Layout",
    "Region",
    "TensorMap",
    "accounts",
    "lookup",
    "scalar",
    "scalars",
]


@functools.lru_cache(maxsize=None)
def _discover() -> None:
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        importlib.import_module(module.name)


def lookup(name: str) -> Optional[Handler]:
    """The handler of the operation `name` in any framework's spelling, None if there is none."""
    _discover()
    return find_handler(name)


def scalar(name: str) -> Optional[str]:
    """The `Arith.op` of the scalar function `name`, or several, apart by spaces.

    The empty string means that it costs nothing (constants, reinterpretation of bits); None that
    `name` is no scalar function known here.
    """
    _discover()
    return find_scalar(name)
