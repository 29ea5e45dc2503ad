"""Libraries of GPU kernels that are not installed, or whose kernels are not run.

What comes of a library that is not installed is one value that can be called, subscripted,
unpacked, computed with and asked on.  An import that the program guards by ``try`` fails as it
would without the recording: the program then has its own way to continue.
"""

from __future__ import annotations

import ast
import dis
import importlib.util
import linecache
import os
import types
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any, Dict, Iterator, Optional, Set, Tuple

from . import origins, recording
from .answers import returns

# Libraries that need a GPU or its compiler to be installed or imported.
GPU_LIBRARIES = frozenset([
    "aiter", "apex", "bitsandbytes", "causal_conv1d", "cuda", "cupti", "cupy", "cutlass",
    "deep_ep", "deep_gemm", "fast_hadamard_transform", "fbgemm_gpu", "flag_gems", "flash_attn",
    "flash_attn_2_cuda", "flash_attn_3", "flash_attn_interface", "flash_mla", "flashinfer",
    "liger_kernel", "mamba_ssm", "natten", "nvidia", "pynvml", "quack", "sageattention",
    "sgl_kernel", "torch_npu", "transformer_engine", "triton", "vllm", "xformers",
])  # fmt: skip
_IMPORT_GUARDS = frozenset(["ImportError", "ModuleNotFoundError"])
_GUARDS = _IMPORT_GUARDS | {"Exception", "BaseException"}


class _Anything(type):
    """A class that can be called, subscripted, unpacked, computed with and asked on."""

    def __call__(cls, *args: Any, **_: Any) -> Any:
        # As a decorator it leaves the function, so that its module can be imported.
        if len(args) == 1 and isinstance(args[0], types.FunctionType):
            return args[0]
        return cls

    def __getitem__(cls, _: Any) -> Any:
        return cls

    def __iter__(cls) -> Iterator[Any]:
        """As many as the caller unpacks."""
        caller = origins.caller()
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

    def __ne__(cls, _: object) -> bool:
        return False

    def __hash__(cls) -> int:
        return 0

    def __int__(cls) -> int:
        return 1

    __index__ = __int__

    def __float__(cls) -> float:
        return 1.0

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *_: Any) -> None:
        pass

    def __mro_entries__(cls, _: Any) -> Tuple[Any, ...]:
        return ()


def _same(cls: Any, _: Any = None) -> Any:
    return cls


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "matmul", "pow", "and", "or"):
    for _side in ("__{}__", "__r{}__"):
        setattr(_Anything, _side.format(_name), _same)
for _name in ("__neg__", "__abs__", "__invert__"):
    setattr(_Anything, _name, _same)
for _name in ("__lt__", "__le__", "__gt__", "__ge__"):
    setattr(_Anything, _name, returns(True))


class _NOTHING(metaclass=_Anything):
    """Whatever is asked of another library: a class, for programs ask what is an instance."""


def nothing() -> Any:
    """The value that comes of a library that is not there."""
    return _NOTHING


def is_nothing(value: Any) -> bool:
    """Whether a value comes of a library that is not there."""
    return isinstance(value, _Anything)


class OtherLibraries(MetaPathFinder, Loader):
    """Finds libraries of GPU kernels that are not installed: there is nothing in them."""

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> Optional[ModuleSpec]:
        if fullname.partition(".")[0] not in GPU_LIBRARIES or _is_guarded(origins.caller()):
            return None
        recording.current().journal.skip("{} is not installed".format(fullname.split(".")[0]))
        return ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: ModuleSpec) -> types.ModuleType:
        module = types.ModuleType(spec.name)
        module.__path__ = []
        module.__getattr__ = _attribute_of  # type: ignore[method-assign]
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """There is nothing to execute."""


def _attribute_of(name: str) -> Any:
    if name.startswith("__"):
        raise AttributeError(name)
    return _NOTHING


def _is_guarded(frame: Any) -> bool:
    """Whether the import that is executed is in a ``try`` for its failure, or asks for a spec.

    Outside of the function that imports, only a handler of `ImportError` is one for it.
    """
    while frame is not None and _is_importlib(frame):
        if frame.f_code is importlib.util.find_spec.__code__:
            return True
        frame = frame.f_back
    if frame is None or _is_of_library(frame):
        # A library has its own way to be imported without another.
        return True
    names = _GUARDS
    while frame is not None and not _is_of_library(frame):
        if not names.isdisjoint(_guards_at(frame.f_code.co_filename, frame.f_lineno)):
            return True
        names = _IMPORT_GUARDS
        frame = frame.f_back
        while frame is not None and _is_importlib(frame):
            frame = frame.f_back
    return False


def _is_of_library(frame: Any) -> bool:
    return origins.is_library(os.path.realpath(frame.f_code.co_filename))


def _is_importlib(frame: Any) -> bool:
    return "importlib" in frame.f_code.co_filename


_guards: Dict[str, Dict[int, Set[str]]] = {}


def _guards_at(path: str, line: int) -> Set[str]:
    """The exceptions that are handled at a line of a file."""
    known = _guards.get(path)
    if known is None:
        known = _guards[path] = {}
        try:
            tree = ast.parse("".join(linecache.getlines(path)))
        except (SyntaxError, ValueError, RecursionError):
            return set()
        for node in ast.walk(tree):
            handled = set(_handler_names(node))
            body: Any = getattr(node, "body", None)
            if handled and body:
                for number in range(body[0].lineno, (body[-1].end_lineno or 0) + 1):
                    known.setdefault(number, set()).update(handled)
    return known.get(line, set())


def _handler_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Try):
        for handler in node.handlers:
            # A handler that raises another error is no way to continue.
            if not isinstance(handler.body[-1], ast.Raise):
                yield from _words(handler.type) if handler.type else ("BaseException",)
    elif isinstance(node, ast.With):
        words = {word for item in node.items for word in _words(item.context_expr)}
        if "suppress" in words:
            yield from words


def _words(node: ast.AST) -> Iterator[str]:
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            yield part.id
        elif isinstance(part, ast.Attribute):
            yield part.attr


def patch_triton(module: Any) -> None:
    """Triton's kernels are not compiled; they write into arrays that exist."""

    def run(self: Any, *_: Any, **__: Any) -> None:
        inner = self
        while hasattr(inner, "fn"):
            # An autotuner has a kernel with heuristics, that a function.
            inner = inner.fn
        name = getattr(inner, "__name__", "?")
        recording.current().journal.skip("triton kernel {}".format(name))
        recording.current().journal.operation("triton.{}".format(name))

    for name in ("JITFunction", "Autotuner", "Heuristics"):
        kind = getattr(module, name, None)
        if kind is not None:
            kind.run = run
