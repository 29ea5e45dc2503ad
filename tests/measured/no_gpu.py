"""torch without a GPU, for code that thinks it runs on one: shapes are real, big data is not.

Tensors of up to `SMALL` elements live on the CPU with their values, so that routing tables and
sequence lengths can be read; bigger ones are shapes alone (torch's ``meta`` device).  Both say
that they are on ``cuda:0``.  What is computed of another library's results is nothing either.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import torch
import torch._dynamo  # before anything is pretended: it registers operations of its own
from other_libraries import NOTHING, is_nothing
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

SMALL = 1 << 16
GPU = torch.device("cuda", 0)

_FACTORIES: dict[Any, Callable[..., Any]] = {
    getattr(torch, name): getattr(torch, name)
    for name in (
        "arange", "empty", "empty_like", "empty_strided", "eye", "full", "full_like", "linspace",
        "ones", "ones_like", "rand", "rand_like", "randint", "randint_like", "randn",
        "randn_like", "randperm", "zeros", "zeros_like",
    )
}  # fmt: skip
_LITERALS = (torch.tensor, torch.as_tensor)
_READS = {
    torch.Tensor.item: lambda tensor: False if tensor.dtype is torch.bool else 1,
    torch.Tensor.__bool__: lambda _: False,
    torch.Tensor.data_ptr: lambda tensor: id(tensor) << 20,
}


def _on_gpu(value: Any) -> bool:
    return isinstance(value, (str, torch.device)) and str(value).startswith("cuda")


def _is_meta(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_meta


def _as_meta(value: Any) -> Any:
    return value.to("meta") if isinstance(value, torch.Tensor) and not value.is_meta else value


_real_device = torch.Tensor.device.__get__  # type: ignore[attr-defined]
_inside = 0


def _device(tensor: Any) -> torch.device:
    """The GPU to those who ask from outside, the truth to torch itself."""
    return _real_device(tensor) if _inside else GPU


def _called(func: Any, args: Any, kwargs: Any) -> Any:
    global _inside
    _inside += 1
    try:
        return func(*args, **kwargs)
    finally:
        _inside -= 1


class NoGpu(TorchFunctionMode):
    """While it is entered, devices are pretended and big tensors are shapes."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = dict(kwargs or {})
        if any(map(is_nothing, tree_leaves((args, kwargs)))):
            return NOTHING
        if func in (torch.Tensor.cuda, torch.Tensor.cpu, torch.Tensor.pin_memory):
            return args[0]
        generator = kwargs.get("generator")
        if generator is not None:
            kwargs.pop("generator")
        if func in _FACTORIES:
            kwargs["device"] = "meta"
            shape = _called(func, args, kwargs)
            if shape.numel() > SMALL or any(map(_is_meta, args)):
                return shape
            return _called(func, args, {**kwargs, "device": "cpu"})
        if "device" in kwargs and kwargs["device"] is not None:
            if func is torch.Tensor.to or func not in _LITERALS:
                kwargs.pop("device")
                if func is torch.Tensor.to and len(args) == 1 and not kwargs:
                    return args[0]
            else:
                kwargs["device"] = "cpu"
        if func is torch.Tensor.to:
            args = (args[0], *(item for item in args[1:] if not _on_gpu(item)))
            if any(isinstance(item, torch.Tensor) for item in args[1:]):
                args = (args[0], args[1].dtype)
            if len(args) == 1 and not kwargs:
                return args[0]
        if any(map(_is_meta, tree_leaves((args, kwargs)))):
            if func in _READS:
                return _READS[func](args[0])
            args, kwargs = tree_map(_as_meta, (args, kwargs))
        return _called(func, args, kwargs)


class _Stream:
    """A stream or event on which nothing waits: what is asked of it answers at once."""

    cuda_stream = 0
    device = GPU

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: 0.0


_SILENT = (
    "synchronize", "empty_cache", "manual_seed", "manual_seed_all", "set_device", "init",
    "reset_peak_memory_stats", "ipc_collect",
)  # fmt: skip
_STREAMS = ("Stream", "Event", "current_stream", "default_stream", "stream", "device")


def pretend() -> Iterator[None]:
    """Tensors say that they are on a GPU, and torch that there is one to wait for."""
    torch.Tensor.is_cuda = property(lambda _: True)  # type: ignore[assignment]
    torch.Tensor.device = property(_device)  # type: ignore[assignment]
    torch.Tensor.record_stream = lambda *_: None  # type: ignore[method-assign]
    for name in _SILENT:
        setattr(torch.cuda, name, lambda *_, **__: None)
    for name in _STREAMS:
        setattr(torch.cuda, name, _Stream)
    torch.library.custom_op = _plain
    with NoGpu():
        yield


_registered = torch.library.custom_op


def _plain(*args: Any, **kwargs: Any) -> Any:
    """In place of a registered operation, which torch would answer for without calling it."""
    if str(sys._getframe(1).f_globals.get("__name__")).startswith("torch."):
        return _registered(*args, **kwargs)

    def decorate(function: Any) -> Any:
        function.register_fake = lambda fake: fake
        function.register_autograd = lambda *_, **__: None
        function.register_kernel = lambda *_, **__: lambda kernel: kernel
        return function

    return decorate
