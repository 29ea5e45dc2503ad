"""The only importers of the frameworks: which are installed, and facts from their IR."""

from __future__ import annotations

import importlib
import importlib.util
from typing import List, Optional, Tuple

from .. import framework_names
from ..protocol import FrameworkInfo


def detect() -> Tuple[FrameworkInfo, ...]:
    """The frameworks of this interpreter, tilelang first, because it contains a fork of `tvm`.

    A framework is imported to prove that it works; the warm worker needs it imported anyway.  A
    process that has one of them ends where it imports another (tvm_ffi registers each function
    once), so that the others are not tried.
    """
    found: List[FrameworkInfo] = []
    for name in sorted(framework_names.MODULES, key=lambda name: name != "tilelang"):
        if _is_installed(name):
            found.append(_probe_import(name))
            if found[-1].error is None:
                break
    return tuple(found)


def version(name: str) -> str:
    """The version of an imported framework, ``unknown`` without one."""
    return str(getattr(importlib.import_module(name), "__version__", "unknown"))


def _is_installed(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def _probe_import(name: str) -> FrameworkInfo:
    error: Optional[str] = None
    try:
        importlib.import_module(name)
    except Exception as problem:
        error = "{}: {}".format(type(problem).__name__, problem)
    return FrameworkInfo(name, None if error else version(name), error)
