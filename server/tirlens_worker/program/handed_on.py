"""Names of a framework that a helper module hands on, where it has none to give on this machine.

``T = None`` stands beside ``import tilelang.language as T`` for machines without a GPU, of which
the analysis needs none.
"""

from __future__ import annotations

import importlib
from typing import Any, Dict, Mapping


def bind_missing(namespace: Dict[str, Any], paths: Mapping[str, str]) -> None:
    """Bind each name of `paths` that is None to the part of a framework that it denotes."""
    for name, path in paths.items():
        if name in namespace and namespace[name] is None:
            namespace[name] = _value(path)


def _value(path: str) -> Any:
    """The module or attribute of a dotted path; None if there is none."""
    try:
        return importlib.import_module(path)
    except ImportError:
        module, _, name = path.rpartition(".")
        return getattr(_value(module), name, None) if module else None
