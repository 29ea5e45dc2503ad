"""The arguments and classes of Relax until apache-tvm 0.25, translated to those of later versions.

In 0.26 struct info became types: the argument ``out_sinfo`` of ``R.call_tir`` is ``out_ty``,
``sinfo_args`` is ``ty_args``, and ``relax.TensorStructInfo`` is ``relax.TensorType``. The text is
not changed.

Sources: apache/tvm: ``python/tvm/relax`` of 0.25.0.post1 and 0.26.0.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from types import FunctionType, ModuleType
from typing import Any, Callable

_RENAMED = {"out_sinfo": "out_ty", "sinfo_args": "ty_args"}
_MODULES = ("tvm.relax", "tvm.relax.op", "tvm.relax.script")
_INFO, _TYPE = "StructInfo", "Type"


def install() -> None:
    """Make the functions and classes of the installed Relax known by their old words, too."""
    for name in _MODULES:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        for word, function in list(vars(module).items()):
            if isinstance(function, FunctionType) and _is_renamed(function):
                setattr(module, word, _with_old_arguments(function))
        _add_old_classes(module)


def _is_renamed(function: Callable[..., Any]) -> bool:
    """Whether a function has an argument under its new name only."""
    try:
        names = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    return any(new in names and old not in names for old, new in _RENAMED.items())


def _with_old_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{_RENAMED.get(key, key): kwargs[key] for key in kwargs})

    return call


def _add_old_classes(module: ModuleType) -> None:
    """``TensorStructInfo`` for each class such as ``TensorType``, where the module has none."""
    for word, value in list(vars(module).items()):
        if isinstance(value, type) and word.endswith(_TYPE):
            old = word[: -len(_TYPE)] + _INFO
            if not hasattr(module, old):
                setattr(module, old, value)
