"""The cost and the value of tile operations and intrinsics of tilelang and TVM.

`lookup` returns the handler of an operation.  The operation is a statement, or part of an
expression if it is more than scalar arithmetic (a shuffle, an atomic with a result); the walk then
uses the `arith` and `accesses` of the handler's statement.  `scalar` returns the arithmetic of a
scalar call (``tir.exp`` -> ``exp``).  The walk reports operations that neither knows.  `value`
gives what a call returns, `varies` what it varies with where that is not known before the run.

The first lookup imports every module of this package; a new operation is a new module.  The counts
of a statement with ``per="block"`` are those of all threads of a block, with ``per="thread"`` those
of one thread.  An instruction that 32 lanes execute together therefore has a 32nd of its work,
always an integer.
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
    Value,
    Values,
    Varies,
    accounts,
    find_handler,
    find_scalar,
    find_value,
    gives,
    scalars,
    unknown,
    variation,
)

__all__ = [
    "Context",
    "Handler",
    "Layout",
    "Region",
    "TensorMap",
    "Value",
    "Values",
    "Varies",
    "accounts",
    "gives",
    "lookup",
    "scalar",
    "scalars",
    "unknown",
    "value",
    "varies",
]


@functools.lru_cache(maxsize=None)
def _discover() -> None:
    for module in pkgutil.walk_packages(__path__, __name__ + "."):
        importlib.import_module(module.name)


def lookup(name: str) -> Optional[Handler]:
    """The handler of the operation `name` in any framework's spelling; None if there is none."""
    _discover()
    return find_handler(name)


def scalar(name: str) -> Optional[str]:
    """The `Arith.op` of the scalar function `name`, or several, separated by spaces.

    The empty string means no cost (constants, reinterpretation of bits), None that `name` is not a
    known scalar function.
    """
    _discover()
    return find_scalar(name)


def value(name: str) -> Optional[Value]:
    """What gives the value of a call of `name`; None if the value is not known before the run."""
    _discover()
    return find_value(name)


def varies(name: str) -> Varies:
    """What the value of a call of `name` varies with where it is not known before the run."""
    _discover()
    return variation(name)
