"""The compile options of a kernel that affect its cost."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping

# The attributes of a PrimFunc with its compile options (tilelang/jit/__init__.py).
PASS_CONFIGS = "tilelang_pass_configs"
COMPILE_FLAGS = "tilelang_compile_flags"
FAST_MATH_FLAGS = ("--use_fast_math", "-use_fast_math")
# tilelang/transform/pass_config.py
_FAST_MATH = "tl.enable_fast_math"
_FLAGS_OPTION = "tl.device_compile_flags"
_DISABLING_OPTIONS = {
    "tl.disable_tma_lower": "tma",
    "tl.disable_warp_specialized": "warp_specialized",
}


def fast_math(framework: str, attributes: Mapping[str, Any]) -> bool:
    """Whether the kernel is compiled with ``--use_fast_math``.

    TVM uses the flag unless an environment variable disables it (tvm/support/nvcc.py).  tilelang
    uses it if a pass option or a compile flag of the kernel sets it (tilelang/cuda/backend.py).
    """
    if framework != "tilelang":
        return not os.environ.get("TVM_CUDA_NVCC_NO_FAST_MATH")
    named = _options(attributes)
    flags = (*_words(named.get(_FLAGS_OPTION)), *_words(attributes.get(COMPILE_FLAGS)))
    return bool(named.get(_FAST_MATH)) or any(flag in flags for flag in FAST_MATH_FLAGS)


def disabled_transformations(attributes: Mapping[str, Any]) -> Dict[str, bool]:
    """The default transformations of tilelang that the kernel disables, each as false."""
    named = _options(attributes)
    return {
        transformation: False
        for option, transformation in _DISABLING_OPTIONS.items()
        if named.get(option)
    }


def _options(attributes: Mapping[str, Any]) -> Dict[str, Any]:
    options: Mapping[Any, Any] = attributes.get(PASS_CONFIGS) or {}
    return {str(key): value for key, value in options.items()}


def _words(flags: Any) -> List[str]:
    if isinstance(flags, str):
        return flags.split()
    return [word for flag in flags or () for word in str(flag).split()]
