"""The passes that TVM applies to a Relax module before it compiles the kernels.

``tvm.compile`` lowers and fuses operators and schedules the kernels for the target (dlight).  The
passes after these are about memory and the virtual machine, and leave the kernels as they are.

Source: apache-tvm 0.26, ``python/tvm/relax/backend/*/pipeline.py``.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

from ..frameworks import relax_graph
from .build_record import remark
from .gpu_queries import complete_target

_BACKENDS = {"cuda": "cuda", "rocm": "rocm", "llvm": "cpu_generic", "c": "cpu_generic"}
# A module of a large model takes longer than an analysis may.
_MAX_BINDINGS = 2000


def with_default_passes(module: Any, target: Any, pipeline: Any = "default") -> Any:
    """`module` as ``tvm.compile`` schedules it; others than Relax modules are returned as they are.

    Where the passes are not applied, a remark says so.
    """
    if type(module).__name__ != "IRModule" or not relax_graph.has_graph(module):
        return module
    if pipeline != "default":
        remark("the kernels are as they are before relax_pipeline")
        return module
    tvm = sys.modules["tvm"]
    try:
        if target is None:
            target = tvm.target.Target.current(allow_none=True)
        else:
            target = tvm.target.Target(complete_target(target) or target)
        if target is None:
            return module
        if relax_graph.binding_count(module) > _MAX_BINDINGS:
            remark("the kernels are as they are before TVM's default passes: a large module")
            return module
        backend = _BACKENDS.get(str(target.kind.name), "gpu_generic")
        passes = importlib.import_module("tvm.relax.backend.{}.pipeline".format(backend))
        first = [*passes.library_dispatch_passes(target), *passes.legalize_passes(target)]
        with target:
            return tvm.transform.Sequential(first)(module)
    except Exception as error:
        text = "the kernels are as they are before TVM's default passes, which failed: {}"
        remark(text.format(str(error).strip().splitlines()[-1] if str(error).strip() else error))
        return module
