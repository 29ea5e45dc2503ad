"""Import of the user's modules, past statements that fail.

Helpers of a kernel's file may import modules that this environment does not have (another library,
another version of a framework), or need a GPU.  Such a module is executed like the analysed text:
the statements after one that fails are executed too.  An undefined name is reported where a kernel
uses it.

A package often imports the analysed text, which is not yet executed when it imports its package.
Python would have imported the package first.  What fails for this reason is executed again when
the text has been executed.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from types import ModuleType
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from .. import framework_names
from ..isolation.network import NetworkClosedError
from . import execution, missing_packages, other_versions
from .document import describe, missing_name, trace_text

_OWN_FOLDER = os.path.dirname(os.path.dirname(__file__))
# Their modules are never executed statement by statement, wherever they are.
_FRAMEWORKS = (*framework_names.MODULES, "torch", "numpy", "tirlens", "tirlens_worker")
# The import ends with these.
_ENDS = (SystemExit, KeyboardInterrupt, MemoryError, RecursionError, EOFError, NetworkClosedError)
_NAME = re.compile(r"cannot import name '(\w+)'")
_ATTRIBUTE = re.compile(r"module '([\w.]+)' has no attribute '(\w+)'")


@dataclass(frozen=True)
class Cause:
    """The error of a statement of a user's module, which left names undefined."""

    kind: str
    message: str
    path: str
    line: int
    detail: str

    def __str__(self) -> str:
        return "{} ({}, line {})".format(self.message, os.path.basename(self.path), self.line)


@dataclass(frozen=True)
class _Failure:
    """A statement of a user's module that failed because `module` has no `name`.

    `module` is empty where it is a global name that is missing.
    """

    statement: ast.stmt
    path: str
    flags: int
    names: Dict[str, Any]
    module: str
    name: str


_causes: Dict[str, Cause] = {}
_failures: List[_Failure] = []


def cause_of(name: str) -> Optional[Cause]:
    """The error that left `name` undefined in a user's module; None if there was none."""
    return _causes.get(name)


def import_error_message(error: ImportError) -> str:
    """The message about a name that its module failed to define; empty for other errors."""
    match = _NAME.search(str(error))
    cause = _causes.get(match.group(1)) if match else None
    return "cannot import '{}': {}".format(match.group(1), cause) if match and cause else ""


def execute_again(module: str) -> None:
    """Execute again what failed because the document, now complete as `module`, was not.

    A module's failures are known before those of the modules that import it, so that one pass in
    their order is enough.
    """
    defined: Set[str] = set()
    for failure in tuple(_failures):
        if failure.module != module and failure.name not in defined:
            continue
        statement, path = failure.statement, failure.path
        if execution.attempt(statement, path, failure.flags, failure.names) is not None:
            continue
        _failures.remove(failure)
        for name in execution.bound_names(statement):
            defined.add(name)
            cause = _causes.get(name)
            if cause is not None and (cause.path, cause.line) == (path, statement.lineno):
                del _causes[name]


class Importer(MetaPathFinder):
    """A finder of the user's modules on the search path, active in a `with` block."""

    def __enter__(self) -> Importer:
        sys.meta_path.insert(0, self)
        return self

    def __exit__(self, *_: object) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, name: str, path: Optional[Sequence[str]] = None, target: Optional[ModuleType] = None
    ) -> Optional[ModuleSpec]:
        """The spec of a user's module, which is executed statement by statement."""
        if name.partition(".")[0] in _FRAMEWORKS:
            return None
        spec = PathFinder.find_spec(name, path, target)
        loader = spec and spec.loader
        if spec is None or type(loader) is not SourceFileLoader or is_installed(loader.path):
            return None
        spec.loader = _Loader(loader.name, loader.path)
        return spec


def is_installed(path: str) -> bool:
    """Whether `path` is in an installed package, the standard library or this package."""
    return "site-packages" in path or path.startswith((sys.base_prefix, _OWN_FOLDER))


class _Loader(SourceFileLoader):
    def exec_module(self, module: ModuleType) -> None:
        try:
            super().exec_module(module)
        except _ENDS:
            raise
        except Exception as error:
            line = self._line(error)
            if line is None:
                raise
            self._execute_rest(module, line, error)

    def _line(self, error: BaseException) -> Optional[int]:
        """The line at the module's top level that raised `error`; None if there is none."""
        trace = error.__traceback__
        while trace is not None:
            code = trace.tb_frame.f_code
            if code.co_filename == self.path and code.co_name == "<module>":
                return trace.tb_lineno
            trace = trace.tb_next
        return None

    def _execute_rest(self, module: ModuleType, line: int, error: Exception) -> None:
        """Execute the statements after that of `line`, which raised `error`."""
        tree = ast.parse(self.get_data(self.path), self.path)
        flags = execution.future_flags(tree)
        for statement in tree.body:
            if (statement.end_lineno or statement.lineno) < line:
                continue
            raised: Optional[BaseException] = error
            if _first_line(statement) > line or isinstance(statement, (ast.Import, ast.ImportFrom)):
                attempt = functools.partial(
                    execution.attempt, statement, self.path, flags, module.__dict__
                )
                raised, _ = missing_packages.attempt_with_stand_ins(attempt, attempt())
            if isinstance(raised, _ENDS):
                raise raised
            if raised is not None:
                self._record(statement, raised)
                asked, name = _missing_part(raised)
                if name:
                    names = module.__dict__
                    _failures.append(_Failure(statement, self.path, flags, names, asked, name))

    def _record(self, statement: ast.stmt, error: BaseException) -> None:
        first = isinstance(error, NameError) and _causes.get(missing_name(error))
        kind = "import" if isinstance(error, ImportError) else "trace"
        what = other_versions.missing_part_message(error) if isinstance(error, ImportError) else ""
        cause = first or Cause(
            kind, what or describe(error), self.path, statement.lineno, trace_text(error)
        )
        for name in execution.bound_names(statement):
            _causes.setdefault(name, cause)


def _missing_part(error: BaseException) -> Tuple[str, str]:
    """The module and its name that an error says are missing; empty if it says nothing of it."""
    if isinstance(error, NameError):
        return "", missing_name(error)
    if isinstance(error, ImportError):
        found = _NAME.search(str(error))
        return (error.name or "", found.group(1)) if found else ("", "")
    found = _ATTRIBUTE.search(str(error)) if isinstance(error, AttributeError) else None
    return (found.group(1), found.group(2)) if found else ("", "")


def _first_line(statement: Any) -> int:
    """The line of a statement or of its first decorator."""
    decorators = getattr(statement, "decorator_list", ())
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])
