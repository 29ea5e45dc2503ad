"""Searches of meta-schedule, which compile and time candidates on a device: none is started.

A pass that tunes leaves a module as it is.  A database that an earlier search has filled is
applied.
"""

from __future__ import annotations

import sys
from typing import Any

from .build_record import remark
from .compilations import NotRunError

_MESSAGE = "a search of meta-schedule times candidates on the device, and is not run here"


def patch_transforms(transform: Any) -> None:
    """Patch the passes of Relax that tune."""
    for name in ("MetaScheduleTuneTIR", "MetaScheduleTuneIRMod"):
        for module in (transform, sys.modules.get("tvm.relax.transform.transform")):
            if hasattr(module, name):
                setattr(module, name, _leave)


def patch_meta_schedule(meta_schedule: Any) -> None:
    """Patch the functions that tune."""
    for owner in ("", ".relax_integration", ".tir_integration", ".tune"):
        module = sys.modules.get(meta_schedule.__name__ + owner)
        for name in ("tune_tir", "tune_relax", "tune_tasks", "_tune_relax", "_tune_tir"):
            if hasattr(module, name):
                setattr(module, name, _refuse)


def _leave(*_: Any, **__: Any) -> Any:
    remark(_MESSAGE + ": the kernels are as they were before it")
    return sys.modules["tvm"].transform.Sequential([])


def _refuse(*_: Any, **__: Any) -> Any:
    raise NotRunError(_MESSAGE)
