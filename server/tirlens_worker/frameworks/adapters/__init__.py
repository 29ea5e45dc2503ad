"""Adapters: functions of other IRs as the PrimFuncs that the walk reads.

An adapter is a module of this package for one IR.  It has `is_function`, whether a value is a
function of this IR, and `adapt`, the function as a `nodes.PrimFunc`.  Statements are translated
to those of `nodes`; expressions stay the objects of the framework, whose classes have the same
names in all IRs (`ir.dialect` hides what their attributes are called).
"""

from __future__ import annotations

from typing import Any, Dict, Tuple

from ..ir import dialect
from . import tirx

_ADAPTERS = (tirx,)
#: Functions with their adapted forms by the identity of the former, which it has while it lives.
_adapted: Dict[int, Tuple[Any, Any]] = {}
_MAX_FUNCTIONS = 1000


def is_function(value: Any) -> bool:
    """Whether `value` is a function that an adapter translates."""
    return any(adapter.is_function(value) for adapter in _ADAPTERS)


def adapt(value: Any) -> Any:
    """The function that the walk reads: `value` itself, or its translation."""
    adapter = next((one for one in _ADAPTERS if one.is_function(value)), None)
    if adapter is None:
        return value
    key = dialect.key(value)
    if key not in _adapted:
        if len(_adapted) >= _MAX_FUNCTIONS:
            _adapted.clear()
        _adapted[key] = value, adapter.adapt(value)
    return _adapted[key][1]
