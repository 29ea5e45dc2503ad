"""Operations that a program registers with torch, which are called as the functions that they are.

torch would answer for one with tensors that are shapes without calling it.
"""

# The values of torch have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUntypedBaseClass=false

from __future__ import annotations

import functools
import inspect
from typing import Any, Callable, Dict, Optional, Tuple

import torch

from . import origins
from .answers import returns

_operations: Dict[str, Operation] = {}


class Operation:
    """A registered function, with the backward pass that is registered for it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self._gradient: Any = None
        functools.update_wrapper(self, function)
        self.register_fake = self.register_vmap = self.impl_abstract = _same
        self.register_kernel = returns(_same)

    def register_autograd(
        self, backward: Callable[..., Any], *, setup_context: Optional[Callable[..., Any]] = None
    ) -> None:
        """Call `backward` in backward passes, with the context that `setup_context` has filled."""
        self._gradient = _gradient(self._function, backward, setup_context)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._gradient is None or not torch.is_grad_enabled():
            return self._function(*args, **kwargs)
        bound = inspect.signature(self._function).bind(*args, **kwargs)
        bound.apply_defaults()
        if not any(map(_has_gradient, bound.arguments.values())):
            return self._function(*args, **kwargs)
        return self._gradient.apply(dict(bound.kwargs), *bound.args)


def _same(function: Any) -> Any:
    return function


def _has_gradient(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.requires_grad


def _shapes(value: Any) -> Any:
    """`value` with shapes for its tensors that can have gradients, which are shapes too."""
    if isinstance(value, (tuple, list)):
        return tuple(map(_shapes, value))
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        return torch.empty_like(value, requires_grad=True).detach()
    return value


def _gradient(
    function: Callable[..., Any],
    backward: Callable[..., Any],
    setup_context: Optional[Callable[..., Any]],
) -> Any:
    """The class of a differentiable function whose first argument are the named arguments."""

    def forward(ctx: Any, named: Dict[str, Any], *inputs: Any) -> Any:
        output = _shapes(function(*inputs, **named))
        if setup_context is not None:
            extra = {"keyword_only_inputs": named} if named else {}
            setup_context(ctx, inputs=inputs, output=output, **extra)
        return output

    def backward_of_all(ctx: Any, *gradients: Any) -> Tuple[Any, ...]:
        found = _shapes(backward(ctx, *gradients))
        return (None, *(found if isinstance(found, tuple) else (found,)))

    names = {"forward": staticmethod(forward), "backward": staticmethod(backward_of_all)}
    return type("Gradient", (torch.autograd.Function,), names)


def find(func: Any) -> Optional[Operation]:
    """The operation of the user that ``torch.ops`` has as `func`."""
    if not _operations or not type(func).__module__.startswith("torch._ops"):
        return None
    name = str(getattr(func, "_qualified_op_name", "") or getattr(func, "name", lambda: "")())
    return _operations.get(name.partition(".")[0])


def patch_library(library: Any) -> None:
    """Let ``torch.library`` register operations that are called."""
    registered = library.custom_op
    register_autograd = getattr(library, "register_autograd", returns(None))

    def custom_op(name: str, fn: Any = None, **options: Any) -> Any:
        if str(origins.caller().f_globals.get("__name__")).startswith("torch."):
            return registered(name, fn, **options)

        def decorate(function: Any) -> Operation:
            registered(name, function, **options)
            _operations[name] = Operation(function)
            return _operations[name]

        return decorate if fn is None else decorate(fn)

    def register_gradient(op: Any, backward: Any, **options: Any) -> None:
        found = op if isinstance(op, Operation) else _operations.get(str(op)) or find(op)
        if found is None:
            register_autograd(op, backward, **options)
        else:
            found.register_autograd(backward, setup_context=options.get("setup_context"))

    library.custom_op = custom_op
    library.register_autograd = register_gradient
