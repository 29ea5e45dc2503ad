"""Compilations that a program has asked for: the functions, with the options they were to have."""

from __future__ import annotations

from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..frameworks.compile_options import COMPILE_FLAGS, PASS_CONFIGS
from . import other_versions


class NotRunError(RuntimeError):
    """The program wanted to compile or run something; only the definitions are read."""


class CapturedKernel:
    """What a compilation returns here: the function that would have been compiled."""

    def __init__(self, prim_func: Any) -> None:
        self.prim_func = prim_func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotRunError("kernels are read here and not run")

    def __getattr__(self, name: str) -> Any:
        raise NotRunError("kernels are read here and not compiled: no '{}'".format(name))


_captured: List[Any] = []


def take_captured() -> List[Any]:
    """The functions whose compilation was asked for since the last call."""
    captured = list(_captured)
    _captured.clear()
    return captured


def tuned_arguments(
    configs: Any, names: List[str], args: Tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Dict[str, Any]:
    """The first of autotuning's configurations, or nothing if the call sets one of its values."""
    first = first_configuration(configs, args, kwargs)
    if any(key in kwargs or key in names[: len(args)] for key in first):
        return {}
    return first


def first_configuration(
    configs: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """The first entry of a list of configurations, or of what a function of the call gives."""
    if callable(configs):
        configs = configs(*args, **(kwargs or {}))
    for config in configs or ():
        return {key: value for key, value in dict(config).items() if key != "pass_configs"}
    return {}


def with_options(
    function: Any, pass_configs: Optional[Mapping[Any, Any]], compile_flags: Any = None
) -> Any:
    """`function` with the options of its compilation in tilelang's own attributes."""
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


def capture(function: Any) -> CapturedKernel:
    """Note that `function` was to be compiled; what the program gets instead of a kernel."""
    _captured.append(function)
    return CapturedKernel(function)
