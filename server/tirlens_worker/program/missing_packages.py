"""Stand-ins for packages that a file imports and that are not installed.

A kernel seldom needs them: a test module imports pytest for its decorators, a program a tokenizer.
Where an import fails that the program does not catch, a stand-in takes the place of the package.
Its attributes are names that may decorate, be inherited from, annotate and be called, which yields
another name.  Whatever needs a value of it fails with the message that the package is missing.
"""

from __future__ import annotations

import importlib.machinery
import importlib.util
import sys
from importlib.abc import Loader, MetaPathFinder
from types import ModuleType
from typing import Any, Callable, Iterator, List, Optional, Sequence, Tuple

from .. import framework_names

# Without these no kernel can be read; their errors have messages of their own.
_NEEDED = (*framework_names.MODULES, "tvm_ffi", "numpy")
_MAX_PACKAGES = 40
_OPERATIONS = (
    "abs add and bool ceil contains divmod eq float floor floordiv ge gt index int invert iter le "
    "len lshift lt matmul mod mul ne neg next pos pow radd rdivmod rfloordiv rlshift rmatmul rmod "
    "rmul round rpow rrshift rshift rsub rtruediv rxor setitem sub truediv trunc xor"
)


class MissingPackageError(ImportError):
    """The program needs a value from a package that is not installed."""


def attempt_with_stand_ins(
    attempt: Callable[[], Optional[BaseException]], error: Optional[BaseException]
) -> Tuple[Optional[BaseException], List[BaseException]]:
    """Repeat what failed with `error`, with a stand-in for each package that it reports missing.

    The result is the last error, and those that stand-ins have replaced.  Afterwards an import of
    such a package fails as before, so that a program that expects its absence sees it.
    """
    if error is None:
        return None, []
    replaced: List[BaseException] = []
    finder = _Finder()
    sys.meta_path.append(finder)
    try:
        while error is not None and finder.can_replace(error):
            replaced.append(error)
            error = attempt()
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if name.split(".")[0] in finder.packages]:
            del sys.modules[name]
    return error, replaced


def _has(package: str) -> bool:
    """Whether a package is found; its import fails for another reason."""
    try:
        return importlib.util.find_spec(package) is not None
    except (ImportError, ValueError):
        return False


class _Finder(MetaPathFinder):
    """A finder of the stand-ins and of their modules."""

    def __init__(self) -> None:
        self.packages: List[str] = []

    def can_replace(self, error: BaseException) -> bool:
        """Provide the package whose absence an import reports; False if that is not possible."""
        if not isinstance(error, ModuleNotFoundError):
            return False
        package = (error.name or "").split(".")[0]
        if not package or package in _NEEDED or package in self.packages or _has(package):
            return False
        self.packages.append(package)
        return len(self.packages) <= _MAX_PACKAGES

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name.split(".")[0] not in self.packages:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)


class _Loader(Loader):
    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """Attributes are made on access."""


class _Module(ModuleType):
    """The stand-in for a module: all its attributes are names of the missing package."""

    __all__: Tuple[str, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name("{}.{}".format(self.__name__, name))


class _Name:
    """A name of a missing package, with what modules do with names before they use them."""

    def __init__(self, path: str) -> None:
        self.__dict__["_path"] = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Name("{}.{}".format(self._path, name))

    def __setattr__(self, name: str, value: Any) -> None:
        """Settings of a missing package have no effect."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        # A decorator leaves what it decorates as it is.
        if len(args) == 1 and not kwargs and _is_definition(args[0]):
            return args[0]
        return _Name(self._path + "()")

    def __getitem__(self, _: Any) -> Any:
        return self

    def __or__(self, _: Any) -> Any:
        return self

    __ror__ = __or__

    def __mro_entries__(self, _: Any) -> Tuple[type, ...]:
        return (_missing_base(self._path),)

    def __instancecheck__(self, _: Any) -> bool:
        return False

    def __subclasscheck__(self, _: Any) -> bool:
        return False

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: Any) -> None:
        """Errors in the block go on."""

    def __hash__(self) -> int:
        return hash(self._path)

    def __repr__(self) -> str:
        return "<{} of a package that is not installed>".format(self._path)


def _missing_base(path: str) -> type:
    """The base of classes that inherit from `path`; there are no objects of them."""

    def new(cls: type, *_: Any, **__: Any) -> Any:
        raise _missing(path)

    return type(path.rpartition(".")[2], (), {"__new__": new})


def _missing(path: str) -> MissingPackageError:
    package = path.split(".")[0]
    message = "No module named '{}', of which {} is needed here"
    return MissingPackageError(message.format(package, path), name=package)


def _is_definition(value: Any) -> bool:
    return hasattr(value, "__code__") or isinstance(value, type) or hasattr(value, "get_tir")


def _fails(name: str) -> Any:
    def operation(self: Any, *_: Any) -> Any:
        raise _missing(self._path)

    operation.__name__ = name
    return operation


def _operations() -> Iterator[str]:
    return ("__{}__".format(word) for word in _OPERATIONS.split())


for _operation in _operations():
    setattr(_Name, _operation, _fails(_operation))
