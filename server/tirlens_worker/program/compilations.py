"""The compilations that a program requests: the functions with their compile options."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..frameworks import adapters
from ..frameworks.compile_options import COMPILE_FLAGS, PASS_CONFIGS
from . import other_versions
from .gpu_queries import complete_target

#: The key of a configuration that is no parameter of the kernel but options of its compilation.
PASS_CONFIGS_KEY = "pass_configs"


class NotRunError(RuntimeError):
    """The program compiles or runs a kernel; an analysis does neither."""


class CapturedKernel:
    """The result of a compilation in an analysis: the function that is not compiled."""

    def __init__(self, prim_func: Any) -> None:
        self.prim_func = prim_func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotRunError("kernels are read here and not run")

    def __getattr__(self, name: str) -> Any:
        raise NotRunError("kernels are read here and not compiled: no '{}'".format(name))


_captured: List[Any] = []


def take_captured() -> List[Any]:
    """The functions whose compilation was requested since the last call."""
    captured = list(_captured)
    _captured.clear()
    return captured


_configurations: List[Dict[str, Any]] = []


def take_configurations() -> List[Dict[str, Any]]:
    """The configurations of the autotuned kernel that was called last."""
    found = list(_configurations)
    _configurations.clear()
    return found


def tuned_arguments(
    configs: Any, names: List[str], args: Tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Dict[str, Any]:
    """The first autotuning configuration; empty if the call sets one of its values."""
    first = first_configuration(configs, args, kwargs)
    if any(key in kwargs or key in names[: len(args)] for key in first):
        return {}
    return first


def first_configuration(
    configs: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """The first of a list of configurations, or of those that a function of the call returns."""
    configs = without_filter(configs)
    if callable(configs):
        configs = _call(configs, args, kwargs or {})
    _configurations[:] = [dict(config) for config in configs or ()]
    for config in _configurations:
        return {key: value for key, value in config.items() if key != PASS_CONFIGS_KEY}
    return {}


def without_filter(configs: Any) -> Any:
    """The configurations of `tirlens.tune.best` before it filters them."""
    return configs.candidates if type(configs).__module__ == "tirlens.tune" else configs


def _call(configs: Any, args: Tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
    """What a function of configurations returns for a call of the kernel.

    A call that sets a value of a configuration is not tuned; the function does not take this value.
    """
    parameters = inspect.signature(configs).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        names = {parameter.name for parameter in parameters}
        kwargs = {name: value for name, value in kwargs.items() if name in names}
    return configs(*args, **kwargs)


def with_options(
    function: Any, pass_configs: Optional[Mapping[Any, Any]], compile_flags: Any = None
) -> Any:
    """`function` with its compile options in the attributes that tilelang reads."""
    if pass_configs:
        options_of_function = dict(function.attrs.get(PASS_CONFIGS) or {})
        known = other_versions.known_options(pass_configs)
        options_of_function.update(
            {getattr(key, "value", key): value for key, value in known.items()}
        )
        function = function.with_attr(PASS_CONFIGS, options_of_function)
    if compile_flags:
        flags = [compile_flags] if isinstance(compile_flags, str) else list(compile_flags)
        before = list(function.attrs.get(COMPILE_FLAGS) or ())
        function = function.with_attr(COMPILE_FLAGS, before + flags)
    return function


def with_target(module: Any, target: Any, name: str = "target") -> Any:
    """A function or module with the target that it is compiled for, where it states none."""
    tvm = sys.modules.get(type(module).__module__.partition(".")[0])
    if target is None or tvm is None:
        return module
    try:
        # A target that is given as text is no query of the GPU.
        target = tvm.target.Target(complete_target(target) or target)
        if type(module).__name__ == "PrimFunc" or adapters.is_function(module):
            return module if name in module.attrs else module.with_attr(name, target)
        if type(module).__name__ == "IRModule":
            functions = {
                variable: with_target(function, target, name)
                for variable, function in module.functions.items()
            }
            return type(module)(functions, attrs=module.attrs)
    except Exception:
        # An incomplete target; the functions are the same.
        return module
    return module


def capture(function: Any) -> CapturedKernel:
    """Record the compilation of `function`; the object that replaces the compiled kernel."""
    _captured.append(function)
    return CapturedKernel(function)
