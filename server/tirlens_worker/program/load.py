"""Execution of the text of a document as a module, past statements that fail.

Kernels need the definitions of their file, not the effects of its program.  The text is therefore
executed statement by statement under a name other than ``__main__``.  Bare expressions are left
out.  A failure is recorded, and the statements after it are executed.
"""

from __future__ import annotations

import ast
import functools
import os
import re
import sys
from dataclasses import replace
from types import ModuleType
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Tuple

from .. import framework_names
from ..frameworks import old_tvm
from ..isolation.network import NetworkClosedError
from ..protocol import KernelRequest, Problem
from ..statements import walk_statements
from . import (
    build_record,
    defined_values,
    execution,
    handed_on,
    missing_packages,
    other_versions,
    user_imports,
)
from .build_record import BuildRecord
from .document import Document, chain, missing_name, package_of, relative_levels

# Methods with effects on which later definitions may depend.
_EFFECTS = frozenset(["append", "extend", "insert", "update", "add", "setdefault", "register"])
# What later statements of a program change by calls.
_BUILT_TYPES = frozenset(["Schedule", "BlockBuilder"])
# Errors that end the program on any machine, unlike a missing GPU.
_REPORTED_AT_ONCE = (EOFError, KeyboardInterrupt, RecursionError)
_PROJECT_FILES = (".git", "pyproject.toml", "setup.py", "setup.cfg")
_UNDEFINED = re.compile(r"Undefined variable: (\w+)")
_PRINTED = re.compile(r"#[ \t]*(?P<text>from tvm\.script import \w+ as (?P<name>\w+))[ \t]*$")


class Loaded:
    """A module of which the first `executed` statements ran, with the failures of those.

    `compile_targets` are the targets of the text's compilations and `handed_on` its names of a
    framework that helper modules import, as in `Analyze`.
    """

    def __init__(self, document: Document, module: ModuleType) -> None:
        self.document = document
        self.module = module
        self.problems: List[Problem] = []
        self.executed = 0
        self.compile_targets: Sequence[Mapping[str, Any]] = ()
        self.handed_on: Mapping[str, str] = {}
        self.record_of_builds = BuildRecord(document)
        self._failed_at: Dict[int, Tuple[int, Problem]] = {}
        self._failed: Dict[str, Problem] = {}
        self._replaced = {node.lineno for node in document.replaced}
        self._replaced_values: Dict[int, Any] = {}

    def replace_document(self, document: Document) -> None:
        """Go on with another version, of which the executed statements are the same."""
        self.document = document
        self.record_of_builds.replace_document(document)
        self._replaced = {node.lineno for node in document.replaced}
        document.fill_linecache()

    @property
    def namespace(self) -> Dict[str, Any]:
        """The names that the module has defined."""
        return self.module.__dict__

    def store_replaced(self, statement: ast.stmt) -> None:
        """Store the value of a definition that a later one of the same name replaces."""
        if statement.lineno in self._replaced and isinstance(
            statement, (ast.FunctionDef, ast.ClassDef)
        ):
            self._replaced_values[statement.lineno] = self.namespace[statement.name]

    def namespace_at(self, line: int) -> Dict[str, Any]:
        """The names for a kernel at `line`, with the definition at that line for its name.

        A script or an exported notebook may define several versions of a kernel with one name.
        """
        replaced = self.document.replaced_at(line) if self._replaced else None
        if replaced is None:
            return self.namespace
        names = dict(self.namespace)
        names.pop(replaced.name, None)
        if replaced.lineno in self._replaced_values:
            names[replaced.name] = self._replaced_values[replaced.lineno]
        return names

    def why_missing(self, name: str) -> Optional[Problem]:
        """The failure that left `name` undefined, in this text or in a user's module."""
        found = self._failed.get(name)
        if found is None:
            cause = user_imports.cause_of(name)
            found = cause and Problem(cause.kind, str(cause), detail=cause.detail)
        return found

    def failure_at(self, request: KernelRequest) -> Optional[Problem]:
        """The failure of the top-level statement that contains `request`, as a problem of it."""
        line = request.span.line
        for first_line, (last_line, problem) in self._failed_at.items():
            if first_line <= line <= last_line:
                return replace(problem, kernel=request.name, span=problem.span or request.span)
        return None

    def with_description(self, problem: Problem, error: BaseException) -> Problem:
        """`problem` with the message about a name that the installed framework does not have."""
        return replace(problem, message=other_versions.foreign_word(error) or problem.message)

    def _cause(self, error: BaseException) -> Optional[Problem]:
        """The earlier failure that left a name undefined."""
        if isinstance(error, NameError):
            return self.why_missing(missing_name(error))
        # TVM's parser says it in words.
        match = _UNDEFINED.search(" ".join(map(str, chain(error))))
        return self.why_missing(match.group(1)) if match else None

    def note_option(self, statement: ast.stmt, option: str) -> None:
        """Report an `option` that the installed tilelang does not have; it is left out."""
        message = "tilelang has no option {} in this version: it is left out".format(option)
        self.problems.append(Problem("unsupported", message, self.document.span_of(statement)))

    def note_missing_package(self, statement: ast.stmt, error: BaseException) -> None:
        """Report a package that is not installed; a stand-in takes its place."""
        problem = self.document.problem("import", error, at=self.document.span_of(statement))
        if problem.message not in [known.message for known in self.problems]:
            self.problems.append(problem)

    def note_old_names(self, mention: Optional[Tuple[int, str]]) -> None:
        """Report the line that uses names of earlier versions, which are translated."""
        if mention is not None:
            line, message = mention
            self.problems.insert(
                0, Problem("unsupported", message, self.document.span_of_line(line))
            )

    def record(self, statement: ast.stmt, error: BaseException) -> None:
        """Record a failed statement: reported at once, or where a name that it defines is used."""
        at = self.document.span_of(statement)
        needs_package = isinstance(error, missing_packages.MissingPackageError)
        if isinstance(error, ImportError) and not needs_package:
            problem = self.document.problem("import", error, at=at)
            message = (
                user_imports.import_error_message(error)
                or other_versions.missing_part_message(error)
                or problem.message
            )
            problem = replace(problem, message=message)
            if problem.message not in [known.message for known in self.problems]:
                self.problems.append(problem)
        elif isinstance(error, SystemExit):
            problem = Problem(
                "trace",
                "the file ends the program here (sys.exit) when it is imported; the statements "
                "after it were read all the same",
                at,
            )
            self.problems.append(problem)
        elif isinstance(error, MemoryError):
            problem = self.document.problem("memory", error, at=at)
            self.problems.append(problem)
        else:
            problem = self._cause(error)
            if problem is None:
                problem = self.with_description(self.document.problem("trace", error, at=at), error)
            # Other failures are reported where a kernel needs a name that they leave undefined.
            defines = isinstance(statement, (ast.FunctionDef, ast.ClassDef))
            if not defines and (isinstance(error, _REPORTED_AT_ONCE) or _is_network_refusal(error)):
                self.problems.append(problem)
        for name in execution.bound_names(statement):
            self._failed[name] = problem
        end_line = getattr(statement, "end_lineno", None) or statement.lineno
        self._failed_at[statement.lineno] = end_line, problem


def load(
    document: Document,
    sys_path: Tuple[str, ...],
    on_statement: Callable[[int], None],
) -> Loaded:
    """Execute `document`; `on_statement` receives the line of each statement before it runs."""
    loaded = begin(document, sys_path)
    run_leading_imports(loaded, on_statement)
    run_rest(loaded, on_statement)
    return loaded


def begin(document: Document, sys_path: Tuple[str, ...]) -> Loaded:
    """The module of `document`, of which no statement has been executed."""
    levels = relative_levels(document.tree)
    name, _ = package_of(document.path, levels)
    package = name.rpartition(".")[0]
    _extend_search_path(document.path, sys_path, levels)
    # A file must not replace a module of the standard library of the same name.
    module = ModuleType(name if package else "tirlens_document")
    module.__file__ = document.path
    module.__package__ = package
    module.__dict__["__builtins__"] = __builtins__
    module.__dict__.update(defined_values.names())
    loaded = Loaded(document, module)
    module.__dict__[build_record.NOTE_NAME] = loaded.record_of_builds.note
    build_record.use(loaded.record_of_builds)
    sys.modules[module.__name__] = module
    sys.argv = [document.path]
    document.fill_linecache()
    return loaded


def run_leading_imports(loaded: Loaded, on_statement: Callable[[int], None]) -> None:
    """Execute the `leading_imports` of the document that have not been executed."""
    body = loaded.document.tree.body
    end = leading_imports(body)
    if loaded.executed == 0:
        run_statements(loaded, printed_imports(loaded.document), loaded.namespace, on_statement)
    if end > loaded.executed:
        run_statements(loaded, body[loaded.executed : end], loaded.namespace, on_statement)
        loaded.executed = end


def run_rest(loaded: Loaded, on_statement: Callable[[int], None]) -> None:
    """Execute the statements of the document that have not been executed."""
    body = loaded.document.tree.body
    run_statements(loaded, body[loaded.executed :], loaded.namespace, on_statement)
    loaded.executed = len(body)
    user_imports.execute_again(loaded.module.__name__)
    loaded.note_old_names(old_tvm.find_old_name(loaded.document.text))


def leading_imports(body: List[ast.stmt]) -> int:
    """The number of statements up to the last import before the first function or class."""
    end = 0
    for number, statement in enumerate(body, 1):
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            break
        if any(
            isinstance(node, (ast.Import, ast.ImportFrom)) for node in walk_statements(statement)
        ):
            end = number
    return end


def printed_imports(document: Document) -> List[ast.stmt]:
    """The imports in comments of TVM's printer (``# from tvm.script ...``).

    Imports of names that the text binds are left out.
    """
    found: List[ast.stmt] = []
    bound = {name for statement in document.tree.body for name in execution.bound_names(statement)}
    for number, line in enumerate(document.lines, 1):
        match = _PRINTED.match(line)
        if match and match.group("name") not in bound:
            found += ast.parse(match.group("text")).body
            bound.add(match.group("name"))
            ast.increment_lineno(found[-1], number - 1)
    return found


def run_statements(
    loaded: Loaded,
    selected: List[ast.stmt],
    namespace: Dict[str, Any],
    on_statement: Callable[[int], None],
) -> None:
    """Execute the `selected` statements one by one in `namespace`, past those that fail."""
    flags = execution.future_flags(loaded.document.tree)
    path = loaded.document.path
    modules = dict(sys.modules)
    for statement in selected:
        if _is_bare(statement) and not _is_building(loaded, statement, namespace):
            continue
        on_statement(statement.lineno)
        error = execution.attempt(statement, path, flags, namespace)
        error, missing = missing_packages.attempt_with_stand_ins(
            functools.partial(execution.attempt, statement, path, flags, namespace), error
        )
        for absence in missing:
            loaded.note_missing_package(statement, absence)
        if error is not None:
            loaded.record(statement, error)
        elif namespace is loaded.namespace:
            loaded.store_replaced(statement)
            handed_on.bind_missing(namespace, loaded.handed_on)
        for option in other_versions.unknown_options():
            loaded.note_option(statement, option)
        if len(sys.modules) < len(modules):
            # The frameworks need their modules, which the statement removed.
            sys.modules.update(dict(modules, **sys.modules))


def execute(
    loaded: Loaded,
    statement: ast.stmt,
    namespace: Dict[str, Any],
    local_names: Optional[Dict[str, Any]] = None,
) -> None:
    """Execute one statement, which may raise; it binds names in `local_names` if that is given."""
    flags = execution.future_flags(loaded.document.tree)
    execution.execute(statement, loaded.document.path, flags, namespace, local_names)


def _is_network_refusal(error: BaseException) -> bool:
    """Whether the cause of an error is the network, which the sandbox refuses."""
    return any(isinstance(cause, NetworkClosedError) for cause in chain(error))


def _is_bare(statement: ast.stmt) -> bool:
    """Whether `statement` is an expression on which no later definition can depend."""
    if not isinstance(statement, ast.Expr):
        return False
    call = statement.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return True
    return call.func.attr not in _EFFECTS or not _is_dotted(call.func.value)


def _is_building(loaded: Loaded, statement: ast.stmt, namespace: Dict[str, Any]) -> bool:
    """Whether a bare call changes a schedule or a graph, or its value is recorded."""
    if loaded.record_of_builds.is_watched(statement):
        return True
    call = getattr(statement, "value", None)
    if not isinstance(call, ast.Call):
        return False
    changed = [call.func.value] if isinstance(call.func, ast.Attribute) else list(call.args)
    if isinstance(call.func, ast.Attribute) and call.func.attr == "show":
        return False
    names = [node.id for node in changed if isinstance(node, ast.Name)]
    return any(type(namespace.get(name)).__name__ in _BUILT_TYPES for name in names)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def project_folders(path: str) -> List[str]:
    """The folders from which tests and programs of the project around a file are run.

    They are the nearest folder above with a project's file, and its ``src`` and ``python``.  A
    folder with the sources of a framework, which are not built, is left out.
    """
    folder = os.path.dirname(os.path.abspath(path))
    while os.path.dirname(folder) != folder:
        if any(os.path.exists(os.path.join(folder, name)) for name in _PROJECT_FILES):
            found = [folder, *(os.path.join(folder, name) for name in ("src", "python"))]
            return [item for item in found if os.path.isdir(item) and not _has_framework(item)]
        folder = os.path.dirname(folder)
    return []


def _has_framework(folder: str) -> bool:
    return any(os.path.isdir(os.path.join(folder, name)) for name in framework_names.MODULES)


def search_folders(path: str, extra: Tuple[str, ...], levels: int = 0) -> List[str]:
    """The search path of the user's modules.

    The parent of a package, or else the folder of the document as in ``python file.py``, then
    `extra`, then the folders of the project.
    """
    return list(dict.fromkeys((*_first_folders(path, extra, levels), *project_folders(path))))


def _first_folders(path: str, extra: Tuple[str, ...], levels: int) -> Tuple[str, ...]:
    name, root = package_of(path, levels)
    return (root if "." in name else os.path.dirname(os.path.abspath(path)), *extra)


def _extend_search_path(path: str, extra: Tuple[str, ...], levels: int) -> None:
    first = dict.fromkeys(_first_folders(path, extra, levels))
    sys.path[:0] = [folder for folder in first if folder not in sys.path]
    # What is installed goes before what the project has under the same name.
    for folder in (os.path.dirname(os.path.abspath(path)), *project_folders(path)):
        if folder not in sys.path:
            sys.path.append(folder)
