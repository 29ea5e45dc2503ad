"""Names and arguments of tilelang's other versions, translated to those of the installed one.

Between its versions tilelang has moved modules (``tilelang.intrinsics`` to
``tilelang.cuda.intrinsics``), functions and classes, and has removed arguments that only advise the
compiler.  Before it was a package of its own it was ``tvm.tl``.  What is missing is looked up by
its name in the installed package: a module by the end of its dotted path, a function or class
by its definition.  The text is not changed.

Sources: tilelang 0.1.0 to 0.1.15, and ``tvm.tl`` of BitBLAS 0.1.
"""

from __future__ import annotations

import functools
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import re
import sys
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from . import old_quantize, removed_names

_LANGUAGE = "tilelang.language"
_FIRST_NAME = "tvm.tl"
_QUANTIZE = "tilelang.quantize"
# Names in the language that have others now.
_RENAMED: Mapping[str, str] = {
    "DataType": "dtype",
    "block": "sblock",
    "block_attr": "sblock_attr",
    "gemm_v1": "gemm",
    "gemm_v2": "gemm",
    "gemm_sp_v2": "gemm_sp",
}
# Arguments that only advise the compiler, by function of the language; what is computed and moved
# is the same without them.
_ADVICE: Mapping[str, Tuple[str, ...]] = {
    "gemm": ("k_pack", "wg_wait"),
    "gemm_sp": ("k_pack", "wg_wait"),
    "Pipelined": ("sync", "group"),
    "copy": ("coalesced_width", "disable_tma", "eviction_policy"),
    "Parallel": ("coalesced_width", "prefer_async"),
}
_PARTS_OF_OTHERS = ("rocm", "metal", "ascend", "webgpu", "cpu")
_SKIPPED = ("3rdparty", "src", "lib", "testing", "contrib", "__pycache__")
_DEFINITION = re.compile(r"^(?:def|class)[ \t]+(\w+)|^(\w+)[ \t]*(?::[^=\n]*)?=(?!=)", re.MULTILINE)
_LDMATRIX_ARGUMENTS = 8

_left_out: Dict[Tuple[str, int, str], None] = {}


def arguments_left_out() -> List[Tuple[str, int, str]]:
    """The arguments that were left out: the file and line of the call, and a message."""
    return list(_left_out)


def install(tilelang: ModuleType) -> None:
    """Make the names of other versions of `tilelang` available."""
    sys.meta_path.append(_Finder())
    if importlib.util.find_spec(_QUANTIZE) is None:
        sys.modules[_QUANTIZE] = sys.modules[_QUANTIZE + ".quantization"] = old_quantize.module()
    autotuner = sys.modules.get("tilelang.autotuner")
    if autotuner is not None and not hasattr(autotuner, "jit"):
        _decorators_of_tuner(tilelang, autotuner)
    for name, module in list(sys.modules.items()):
        if name == "tilelang" or name.startswith("tilelang."):
            _add_missing_names(module)
    language = sys.modules.get(_LANGUAGE)
    if language is not None:
        for name, advice in _ADVICE.items():
            _without_advice(language, name, advice)
        _accept_old_ldmatrix(language)


class _Finder(MetaPathFinder):
    """A finder of moved modules, for names that no other finder has found."""

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        found = _module_for(name)
        if found is None:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(found), is_package=True)


class _Loader(Loader):
    def __init__(self, name: str) -> None:
        self._name = name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _MovedModule(spec.name, importlib.import_module(self._name))

    def exec_module(self, module: ModuleType) -> None:
        """Attributes are looked up on access."""


class _MovedModule(ModuleType):
    """A module under its old name, with the attributes that it has under its present one."""

    def __init__(self, name: str, module: ModuleType) -> None:
        super().__init__(name)
        self._module = module
        self.__all__ = list(
            getattr(module, "__all__", [word for word in dir(module) if word[:1] != "_"])
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._module, name)


def _module_for(name: str) -> Optional[str]:
    """The module of the installed tilelang that has the place of the missing module `name`."""
    if name == _FIRST_NAME or name.startswith(_FIRST_NAME + "."):
        name = "tilelang" + name[len(_FIRST_NAME) :]
        if name in sys.modules or name == "tilelang":
            return name
    if not name.startswith("tilelang."):
        return None
    parts = name.split(".")
    ranked = sorted(
        (-_shared_end(parts, other.split(".")), _rank(other), other)
        for other in _modules()
        if other.rpartition(".")[2] == parts[-1] and other != "tilelang"
    )
    return ranked[0][2] if ranked and ranked[0][2] != name else None


def _shared_end(parts: Sequence[str], others: Sequence[str]) -> int:
    count = 0
    for one, other in zip(reversed(parts), reversed(others)):
        if one != other:
            break
        count += 1
    return count


def _rank(module: str) -> Tuple[bool, int, str]:
    """Modules for other devices than NVIDIA's come last, short names first."""
    parts = module.split(".")
    return any(part in _PARTS_OF_OTHERS for part in parts), len(parts), module


@functools.lru_cache(maxsize=None)
def _modules() -> Mapping[str, str]:
    """The modules of the installed package, with their files."""
    root = os.path.dirname(sys.modules["tilelang"].__file__ or "")
    found: Dict[str, str] = {}
    for folder, folders, files in os.walk(root):
        folders[:] = [item for item in folders if item not in _SKIPPED]
        parts = os.path.relpath(folder, os.path.dirname(root)).split(os.sep)
        for file in files:
            stem, extension = os.path.splitext(file)
            if extension == ".py":
                name = parts if stem == "__init__" else [*parts, stem]
                found[".".join(name)] = os.path.join(folder, file)
    return found


@functools.lru_cache(maxsize=None)
def _definitions() -> Mapping[str, Tuple[str, ...]]:
    """The modules of the installed package that define a name, by the name."""
    found: Dict[str, List[str]] = {}
    for module, path in _modules().items():
        with open(path, encoding="utf-8", errors="replace") as stream:
            text = stream.read()
        for match in _DEFINITION.finditer(text):
            found.setdefault(match.group(1) or match.group(2), []).append(module)
    return {name: tuple(sorted(set(modules), key=_rank)) for name, modules in found.items()}


def _add_missing_names(module: ModuleType) -> None:
    """Make `module` look up names that it lacks where the installed version defines them."""
    before = getattr(module, "__getattr__", None)

    def attribute(name: str) -> Any:
        if before is not None:
            try:
                return before(name)
            except AttributeError:
                pass
        found = None if name.startswith("__") else _moved_attribute(module.__name__, name)
        if found is None:
            message = "module {!r} has no attribute {!r}".format(module.__name__, name)
            raise AttributeError(message)
        return found

    module.__dict__["__getattr__"] = attribute


def _moved_attribute(module: str, name: str) -> Any:
    """What `name` of `module` is now; None if nothing of that name is left."""
    if module == _LANGUAGE:
        language = sys.modules[module]
        return language.__dict__.get(_RENAMED.get(name, ""))
    if name in _REMOVED:
        return _REMOVED[name]
    for other in _definitions().get(name, ()):
        if other != module and ".language" not in other:
            try:
                return importlib.import_module(other).__dict__[name]
            except (ImportError, KeyError):
                continue
    return None


def _coordinates(index: Any, shape: Sequence[Any]) -> List[Any]:
    """The coordinates of the element `index` of an array of `shape`, the last the fastest."""
    found: List[Any] = []
    for size in reversed(shape):
        found.insert(0, index % size)
        index = index // size
    return found


def _torch_type(dtype: Any) -> Any:
    """The dtype of torch with the name `dtype`."""
    torch = importlib.import_module("torch")
    word = {"float8_e4m3": "float8_e4m3fn"}.get(str(dtype), str(dtype))
    return getattr(torch, word)


_REMOVED: Mapping[str, Any] = {
    "map_torch_type": _torch_type,
    "index_to_coordinates": _coordinates,
}


def _decorators_of_tuner(tilelang: ModuleType, autotuner: ModuleType) -> None:
    """``tilelang.autotuner.jit``, and ``autotune`` with the arguments that it had."""
    autotuner.__dict__["jit"] = _known_arguments(tilelang.__dict__["jit"])
    tune = _known_arguments(tilelang.__dict__["autotune"])
    autotuner.__dict__["autotune"] = tilelang.__dict__["autotune"] = tune


def _known_arguments(function: Callable[..., Any]) -> Callable[..., Any]:
    """`function` without those of its arguments by name that this version does not have."""
    known = inspect.signature(function).parameters

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **{key: kwargs[key] for key in kwargs if key in known})

    return call


def _without_advice(language: ModuleType, name: str, advice: Tuple[str, ...]) -> None:
    """Make a function of the language leave out the `advice` that it does not take."""
    function = language.__dict__.get(name)
    if not inspect.isfunction(function):
        return
    known = inspect.signature(function).parameters
    unknown = [word for word in advice if word not in known]
    if not unknown or any(item.kind is item.VAR_KEYWORD for item in known.values()):
        return

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for word in unknown:
            if word in kwargs:
                del kwargs[word]
                version = getattr(sys.modules.get("tilelang"), "__version__", "")
                message = "tilelang {}: {}() has no argument '{}': it is left out"
                frame = inspect.currentframe()
                caller = frame and frame.f_back
                if caller is not None:
                    place = caller.f_code.co_filename, caller.f_lineno
                    _left_out[(*place, message.format(version, name, word))] = None
        return function(*args, **kwargs)

    language.__dict__[name] = call


def _accept_old_ldmatrix(language: ModuleType) -> None:
    """``T.ptx_ldmatrix`` also with the pointers and offsets of TVM's intrinsic."""
    function = language.__dict__.get("ptx_ldmatrix")
    if not inspect.isfunction(function):
        return
    if len(inspect.signature(function).parameters) >= _LDMATRIX_ARGUMENTS:
        return
    tir = removed_names.tir_package()
    name = "{}.ptx_ldmatrix".format(tir.__name__.rpartition(".")[2])

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) == _LDMATRIX_ARGUMENTS:
            return tir.call_intrin(args[0], name, *args[1:])
        return function(*args, **kwargs)

    language.__dict__["ptx_ldmatrix"] = call
