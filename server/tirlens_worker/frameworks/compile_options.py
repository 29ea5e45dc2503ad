"""What a kernel asks of nvcc, as far as it changes what its operations cost."""

from __future__ import annotations

import os
from typing import Any, Dict, List, Mapping

# Where a PrimFunc keeps the options of its compilation (tilelang/jit/__init__.py).
PASS_CONFIGS = "tilelang_pass_configs"
COMPILE_FLAGS = "tilelang_compile_flags"
FAST_MATH_FLAGS = ("--use_fast_math", "-use_fast_math")
# tilelang/transform/pass_config.py
_FAST_MATH = "tl.enable_fast_math"
_FLAGS_OPTION = "tl.device_compile_flags"
_LEFT_OUT = {
    "tl.disable_tma_lower": "tma",
    "tl.disable_warp_specialized": "warp_specialized",
}


def fast_math(framework: str, attributes: Mapping[str, Any]) -> bool:
    """Whether the kernel is compiled with ``--use_fast_math``.

    TVM does so unless an environment variable says no (tvm/support/nvcc.py), tilelang where an
    option of the kernel's compilation or a flag of its own says so (tilelang/cuda/backend.py).
    """
    if framework != "tilelang":
        return not os.environ.get("TVM_CUDA_NVCC_NO_FAST_MATH")
    named = _options(attributes)
    flags = (*_words(named.get(_FLAGS_OPTION)), *_words(attributes.get(COMPILE_FLAGS)))
    return bool(named.get(_FAST_MATH)) or any(flag in flags for flag in FAST_MATH_FLAGS)


def left_out(attributes: Mapping[str, Any]) -> Dict[str, bool]:
    """What tilelang would do with the kernel by itself and is asked not to, as false."""
    named = _options(attributes)
    return {what: False for option, what in _LEFT_OUT.items() if named.get(option)}


def _options(attributes: Mapping[str, Any]) -> Dict[str, Any]:
    options: Mapping[Any, Any] = attributes.get(PASS_CONFIGS) or {}
    return {str(key): value for key, value in options.items()}


def _words(flags: Any) -> List[str]:
    if isinstance(flags, str):
        return flags.split()
    return [word for flag in flags or () for word in str(flag).split()]
