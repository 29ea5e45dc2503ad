"""The beginning of a recording, before the first statement of the user's program."""

from __future__ import annotations

import inspect
import json
import os
import sys
from typing import Any, Callable, Dict

from ..program import fake_gpu, gpu_queries, other_versions
from ..program.patches import patch_source_lines
from . import recording
from .import_hooks import PatchingFinder
from .other_libraries import OtherLibraries, patch_triton

#: The environment variable with the settings: a JSON object with `folder` of the journals, `base`
#: of paths, `root` of the user's code, and `target` as in `patches.install`.
VARIABLE = "TIRLENS_CAPTURE"


def begin() -> None:
    """Begin if the environment asks for it."""
    settings: Dict[str, Any] = json.loads(os.environ.get(VARIABLE) or "{}")
    if not settings:
        return
    fake_gpu.set_gpu(settings["target"])
    recording.begin(settings["folder"], settings["base"], settings["root"])
    recording.current().journal.begin()
    patch_source_lines(inspect)
    sys.meta_path.insert(0, PatchingFinder(_patches()))
    sys.meta_path.append(OtherLibraries())


def _patches() -> Dict[str, Callable[[Any], None]]:
    return {
        "torch": _patch_torch,
        "torch.cuda.nvtx": _lazily("sections", "patch_torch_nvtx"),
        "torch.autograd.profiler": _lazily("sections", "patch_torch_profiler"),
        "nvtx.nvtx": _lazily("sections", "patch_nvtx"),
        "tirlens.sections": _lazily("sections", "patch_tirlens"),
        "tilelang": _add_old_names,
        "tilelang.jit": _lazily("tilelang_kernels", "patch_jit"),
        "tilelang.language.eager.builder": _lazily("tilelang_kernels", "patch_builder"),
        "tilelang.autotuner.tuner": _lazily("tilelang_kernels", "patch_tuner"),
        "tilelang.profiler": _lazily("tilelang_kernels", "patch_profiler"),
        "tilelang.profiler.bench": _lazily("tilelang_kernels", "patch_bench"),
        "tilelang.carver.arch.driver": gpu_queries.patch_driver,
        "tilelang.carver.arch.driver.cuda_driver": gpu_queries.patch_driver,
        "tilelang.carver.arch.cuda": gpu_queries.patch_arch,
        "tilelang.backend.target": gpu_queries.patch_target,
        "tilelang.utils.target": gpu_queries.patch_target,
        "tilelang.transform.pass_config": other_versions.allow_unknown_options,
        "triton.runtime.jit": patch_triton,
        "triton.runtime.autotuner": patch_triton,
        "triton.testing": _lazily("tilelang_kernels", "patch_bench"),
        "_pytest.config": _lazily("test_cases", "patch_config"),
        "tvm.driver.build_module": _lazily("tvm_kernels", "patch_build_module"),
        "tvm.tirx.build": _lazily("tvm_kernels", "patch_tirx_build"),
        "tvm.script.parser.core.entry": _lazily("tvm_kernels", "patch_parser"),
        "tvm.runtime.device": _lazily("tvm_kernels", "patch_device"),
        "tvm.runtime._tensor": _lazily("tvm_kernels", "patch_tensor"),
        "tvm.testing.utils": _lazily("tvm_kernels", "patch_testing"),
        "numpy.testing": _lazily("tvm_kernels", "patch_testing"),
        "numpy": _lazily("tvm_kernels", "patch_numpy"),
    }


def _lazily(module: str, name: str) -> Callable[[Any], None]:
    def patch(target: Any) -> None:
        from importlib import import_module

        getattr(import_module("tirlens_worker.capture." + module), name)(target)

    return patch


def _add_old_names(tilelang: Any) -> None:
    from ..frameworks import old_tilelang

    old_tilelang.install(tilelang)


def _patch_torch(torch: Any) -> None:
    from . import torch_gpu, torch_tensors

    torch_gpu.begin()
    torch_tensors.begin()
