"""torch without a GPU: tensors are shapes, and say that they are on one.

Tensors of up to `SMALL` elements are on the CPU with their values, so that routing tables and
sequence lengths can be read.  Larger ones, and all that a kernel computes, are shapes alone
(torch's ``meta`` device) and take no memory.  `torch_shapes` answers what is asked of these.
"""

# The values of torch, tvm and tilelang have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false
# pyright: reportUnknownParameterType=false, reportUntypedBaseClass=false

from __future__ import annotations

import threading
import types
from typing import Any, Callable, Dict, Tuple

import torch
from torch.overrides import TorchFunctionMode

from . import origins, recording, torch_operations
from .answers import returns
from .other_libraries import is_nothing, nothing
from .torch_shapes import (
    HOLDS,
    OF_SHAPES,
    as_number,
    as_shape,
    forget_values,
    is_shape,
    leaves,
    map_leaves,
)
from .unknown_values import UnknownInt, has_unknown_size, mark_size, note_read, uses_unknown

SMALL = 1 << 16
GPU = torch.device("cuda", 0)
# So many zeros take the place of values that are not known, where torch has no shapes.
_MOST_ZEROS = 1 << 20

_CREATING = {
    getattr(torch, name)
    for name in (
        "arange", "empty", "empty_like", "empty_strided", "eye", "full", "full_like", "linspace",
        "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn",
        "randn_like", "randperm", "zeros", "zeros_like", "logspace", "normal", "tril_indices",
        "triu_indices",
    )
}  # fmt: skip
_LITERALS = (torch.tensor, torch.as_tensor, torch.asarray)
_TRUE_IF_UNKNOWN = {
    getattr(owner, name)
    for name in ("all", "eq", "le", "lt", "ge", "gt", "isclose", "isfinite")
    for owner in (torch, torch.Tensor)
} | {torch.Tensor.__eq__, torch.Tensor.__le__, torch.Tensor.__lt__, torch.Tensor.__ge__,
     torch.Tensor.__gt__}  # fmt: skip
_SIZES = {torch.Tensor.shape.__get__, torch.Tensor.size, torch.Tensor.numel, torch.numel,
          torch.Tensor.__len__}  # type: ignore[attr-defined] # fmt: skip
_EQUAL = {torch.allclose, torch.equal, torch.Tensor.allclose, torch.Tensor.equal}


def _is_on_gpu(value: Any) -> bool:
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


_TORCH_ITSELF = ("torch._refs", "torch._prims", "torch._decomp", "torch._meta_registrations")
_real_device = torch.Tensor.device.__get__  # type: ignore[attr-defined]


class _Thread(threading.local):
    """Of this thread: whether torch itself is at work."""

    is_inside = False


_thread = _Thread()


def _is_torch(frame: Any) -> bool:
    """Whether torch itself is at work: it computes shapes in Python, also in a backward pass."""
    return _thread.is_inside or str(frame.f_globals.get("__name__")).startswith(_TORCH_ITSELF)


def _device(tensor: Any) -> torch.device:
    """The GPU to those who ask from outside, the truth to torch itself."""
    return _real_device(tensor) if _is_torch(origins.caller()) else GPU


def _call(func: Any, args: Any, kwargs: Any) -> Any:
    before, _thread.is_inside = _thread.is_inside, True
    try:
        return func(*args, **kwargs)
    finally:
        _thread.is_inside = before


class NoGpu(TorchFunctionMode):
    """While it is entered, devices are pretended and large tensors are shapes."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if func is torch.device or _is_torch(origins.caller()):
            return func(*args, **kwargs)
        if any(map(is_nothing, leaves((args, kwargs)))):
            return nothing()
        if func in _SIZES and args and has_unknown_size(args[0]):
            asking = origins.caller()
            note_read(None if origins.is_framework(asking) else asking)
        if func in _CALLING_BACK:
            return self._call_back(_CALLING_BACK[func], args, kwargs)
        own = torch_operations.find(func)
        if own is not None:
            return self._call_back(own, args, kwargs)
        if func in (torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory):
            return args[0]
        if func in _EQUAL:
            return True
        if kwargs.get("generator") is not None:
            kwargs.pop("generator")
        kwargs.pop("pin_memory", None)
        if func is torch.Tensor.requires_grad_ and args[1:2] != (False,):
            return _call(as_shape, (_call(func, args, kwargs),), {})
        result = self._answer(func, args, kwargs)
        _note_operation(func, args, kwargs, result)
        return result

    def _answer(self, func: Any, args: Any, kwargs: Any) -> Any:
        given = (args, kwargs)
        if func in _CREATING:
            unknown = _is_of_unknown_size(given) or uses_unknown(
                origins.user_frame(origins.caller())
            )
            created = self._create(func, args, kwargs)
            return mark_size(created) if unknown else created
        args, kwargs = _without_gpu(func, args, kwargs)
        if func is torch.Tensor.to and len(args) == 1 and not kwargs:
            return args[0]
        if any(map(is_shape, leaves((args, kwargs)))):
            result = self._of_shapes(func, args, kwargs)
        else:
            result = self._of_values(func, args, kwargs)
        if _is_of_unknown_size(given):
            for item in leaves(result):
                if isinstance(item, torch.Tensor) and item.dim():
                    mark_size(item)
        return result

    def _call_back(self, func: Any, args: Any, kwargs: Any) -> Any:
        """Call a function that calls the user's code, for which this is entered again."""
        before, _thread.is_inside = _thread.is_inside, False
        try:
            with self:
                return func(*args, **kwargs)
        finally:
            _thread.is_inside = before

    def _create(self, func: Any, args: Any, kwargs: Any) -> Any:
        kwargs["device"] = "meta"
        if not func.__name__.endswith("_like"):
            args, kwargs = _call(map_leaves, (as_number, (args, kwargs)), {})
        shape = _call(func, map_leaves(as_shape, args), map_leaves(as_shape, kwargs))
        if shape.numel() > SMALL or shape.requires_grad or any(map(is_shape, args)):
            # Gradients are shapes, and so are the tensors that have some.
            return shape
        try:
            return _call(func, args, dict(kwargs, device="cpu"))
        except (NotImplementedError, RuntimeError):
            # Some types have no random numbers.
            return shape

    def _of_shapes(self, func: Any, args: Any, kwargs: Any) -> Any:
        known = OF_SHAPES.get(func)
        if known is not None:
            return _call(known, args, kwargs)
        first = args[0] if args else None
        args, kwargs = map_leaves(as_shape, args), map_leaves(as_shape, kwargs)
        result = _shapes_of(func, args, kwargs)
        if isinstance(first, torch.Tensor) and result is args[0]:
            # An operation in place on a tensor with values: they are not known any more.
            forget_values(first)
            return first
        if func in _TRUE_IF_UNKNOWN and isinstance(result, torch.Tensor):
            setattr(result, HOLDS, True)
        return result

    def _of_values(self, func: Any, args: Any, kwargs: Any) -> Any:
        try:
            result = _call(func, args, kwargs)
        except NotImplementedError:
            # The CPU does not compute with all types that GPUs have.
            args, kwargs = map_leaves(as_shape, args), map_leaves(as_shape, kwargs)
            return _call(func, args, kwargs)
        if isinstance(result, torch.Tensor) and result.numel() > 64 * SMALL:
            return as_shape(result)
        return result


def _shapes_of(func: Any, args: Any, kwargs: Any) -> Any:
    """The result of `func` for shapes.

    Of an operation that torch does not have for shapes it is the shape of its result for zeros. If
    that depends on the values, it is marked.
    """
    try:
        return _call(func, args, kwargs)
    except NotImplementedError:
        values = (_call(map_leaves, (_zeros, item), {}) for item in (args, kwargs))
        given, named = values
        return _call(map_leaves, (_of_zeros, _call(func, given, named)), {})


def _zeros(value: Any) -> Any:
    if not isinstance(value, torch.Tensor):
        return value
    if value.numel() > _MOST_ZEROS:
        # What the CPU computes of as many values takes long; the type and rank are the same.
        value = value.flatten()[:_MOST_ZEROS] if value.dim() == 1 else value
    return torch.zeros(value.shape, dtype=value.dtype, device="cpu")


def _of_zeros(value: Any) -> Any:
    return mark_size(as_shape(value)) if isinstance(value, torch.Tensor) else value


def _is_of_unknown_size(given: Any) -> bool:
    return any(
        isinstance(item, UnknownInt) or (isinstance(item, torch.Tensor) and has_unknown_size(item))
        for item in leaves(given)
    )


# What runs no kernel, of what gives a tensor that is no view.
_NO_KERNELS = frozenset(
    ["detach", "requires_grad_", "empty", "empty_like", "empty_strided", "clone_shape", "to",
     "new_empty", "pin_memory", "share_memory_", "as_tensor", "tensor", "asarray", "from_numpy",
     "set_", "data", "grad", "__get__", "__set__"]
)  # fmt: skip


def _note_operation(func: Any, args: Any, kwargs: Any, result: Any) -> None:
    """Record an operation of torch that computes on the GPU: its result is a new tensor, or it
    changes one."""
    name = str(getattr(func, "__name__", "?"))
    tensors = [item for item in leaves(result) if isinstance(item, torch.Tensor)]
    if not tensors or name in _NO_KERNELS or is_nothing(result):
        return
    given = [item for item in leaves((args, kwargs)) if isinstance(item, torch.Tensor)]
    changes = name.endswith("_") and not name.endswith("__")
    is_in_place = changes or name in ("__setitem__", "__iadd__", "__imul__", "__isub__")
    is_new = any(
        not item._is_view() and not any(item is other for other in given) for item in tensors
    )
    if is_in_place or is_new:
        recording.current().journal.operation("torch.{}".format(name.strip("_") or name))


def _without_gpu(func: Any, args: Any, kwargs: Any) -> Tuple[Any, Any]:
    """The arguments of a call without the devices among them."""
    if kwargs.get("device") is not None:
        if func is not torch.Tensor.to and func in _LITERALS:
            kwargs["device"] = "cpu"
        else:
            kwargs.pop("device")
    if func is torch.Tensor.to:
        rest = [item for item in args[1:] if not isinstance(item, (str, torch.device))]
        if rest and isinstance(rest[0], torch.Tensor):
            rest[0] = rest[0].dtype
        if not rest or isinstance(rest[0], bool) or rest[0] is None:
            rest = []
        kwargs.pop("non_blocking", None)
        kwargs.pop("copy", None)
        args = (args[0], *rest[:1])
    elif any(map(_is_on_gpu, args)):
        args = tuple("cpu" if _is_on_gpu(item) else item for item in args)
    return args, kwargs


class _Generator(torch.Generator):
    """Random numbers of the CPU, also for a GPU."""

    def __new__(cls, device: Any = None) -> Any:
        return super().__new__(cls, "cpu")


def _backward(tensor: Any, *args: Any, **kwargs: Any) -> Any:
    names = ("gradient", "retain_graph", "create_graph", "inputs")
    given = {**dict(zip(names, args)), **kwargs}
    gradient = given.pop("gradient", None)
    return _BACKWARD(tensor, gradient, **given)


def _without_overrides(function: Any) -> Any:
    """`function` of torch, which then does not call the mode for itself."""
    names = dict(function.__globals__, has_torch_function=returns(False))
    out = types.FunctionType(
        function.__code__, names, function.__name__, function.__defaults__, function.__closure__
    )
    out.__kwdefaults__ = function.__kwdefaults__
    return out


def _with_shapes_of_gradients(function: Any, position: int, name: str) -> Any:
    """`function` of torch, given the gradients at `position` or by `name` as shapes.

    A tensor that has gradients is a shape, and theirs have to be on its device.
    """
    inner = _without_overrides(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > position:
            gradients = _call(map_leaves, (as_shape, args[position]), {})
            args = (*args[:position], gradients, *args[position + 1 :])
        elif name in kwargs:
            kwargs = dict(kwargs, **{name: _call(map_leaves, (as_shape, kwargs[name]), {})})
        return inner(*args, **kwargs)

    return call


_BACKWARD = _with_shapes_of_gradients(torch.autograd.backward, 1, "grad_tensors")
# Functions that call the user's code: the mode is not entered while it handles a function.
_CALLING_BACK: Dict[Any, Callable[..., Any]] = {
    torch.Tensor.backward: _backward,
    torch.autograd.backward: _BACKWARD,
    torch.autograd.grad: _with_shapes_of_gradients(torch.autograd.grad, 2, "grad_outputs"),
}


def begin() -> None:
    """Let all tensors say that they are on a GPU, from now on."""
    tensor: Any = torch.Tensor
    tensor.is_cuda = property(returns(True))
    tensor.is_cpu = property(returns(False))
    tensor.device = property(_device)
    tensor.get_device = returns(0)
    tensor.record_stream = returns(None)
    tensor.is_pinned = returns(True)
    library = getattr(torch, "library", None)
    if hasattr(library, "custom_op"):
        torch_operations.patch_library(library)
    torch.set_default_device = returns(None)
    torch.Generator = _Generator
    torch.compile = lambda model=None, **_: model if model is not None else lambda inner: inner
    torch.testing.assert_close = returns(None)
    # It does not ask for overrides.
    torch.autograd.backward = _BACKWARD
    NoGpu().__enter__()
    _begin_in_threads()


def _begin_in_threads() -> None:
    """Enter the mode in each thread that starts: it holds for one thread."""
    thread: Any = threading.Thread
    bootstrap = thread._bootstrap_inner

    def bootstrap_with_mode(self: Any) -> None:
        with NoGpu():
            bootstrap(self)

    thread._bootstrap_inner = bootstrap_with_mode
