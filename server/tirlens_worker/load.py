"""Execute the text of a document as a module, as far as it goes.

Kernels need the definitions of their file and nothing of what its programs do.  The text is
therefore run statement by statement under a name that is not ``__main__``: bare expressions are
left out, and a statement that fails is remembered and does not stop the ones after it.
"""

from __future__ import annotations
import __future__

import ast
import os
import re
import sys
from types import ModuleType
from typing import Any, Callable, Collection, Dict, Iterator, List, Optional, Tuple

from .document import Document, chain, package_of
from .network import NetworkClosedError
from .protocol import Problem

# Calls that are made for their effect and on which later definitions depend.
_EFFECTS = frozenset(["append", "extend", "insert", "update", "add", "setdefault"])
_FUTURE_FLAGS = {
    name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
}


_UNDEFINED = re.compile(r"name '(\w+)' is not defined")
# No program goes on after these, on no machine; the lack of a GPU, say, is another matter.
_TOLD_AT_ONCE = (EOFError, KeyboardInterrupt, RecursionError)


class Loaded:
    """The module, and what failed while it was executed."""

    def __init__(self, document: Document, module: ModuleType) -> None:
        self.document = document
        self.module = module
        self.problems: List[Problem] = []
        self._failed: Dict[str, Problem] = {}

    @property
    def namespace(self) -> Dict[str, Any]:
        return self.module.__dict__

    def why_missing(self, name: str) -> Optional[Problem]:
        """The failure that left `name` undefined."""
        return self._failed.get(name)

    def _cause(self, error: BaseException) -> Optional[Problem]:
        """The earlier failure behind a name that is not defined."""
        match = _UNDEFINED.search(str(error)) if isinstance(error, NameError) else None
        return self._failed.get(match.group(1)) if match else None

    def record(self, statement: ast.stmt, error: BaseException) -> None:
        at = self.document.span_of(statement)
        if isinstance(error, ImportError):
            problem = self.document.problem("import", error, at=at)
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
            problem = self._cause(error) or self.document.problem("trace", error, at=at)
            # Other failures are told where a kernel needs what they have left undefined.
            defines = isinstance(statement, (ast.FunctionDef, ast.ClassDef))
            if not defines and (isinstance(error, _TOLD_AT_ONCE) or _wanted_network(error)):
                self.problems.append(problem)
        for name in bound_names(statement):
            self._failed[name] = problem


def load(
    document: Document,
    sys_path: Tuple[str, ...],
    on_statement: Callable[[int], None],
    leave_out: Collection[int] = (),
) -> Loaded:
    """Execute `document`; `on_statement` is told the line of each statement before it runs.

    The statements that start at the lines `leave_out` are not executed.
    """
    name, _ = package_of(document.path)
    package = name.rpartition(".")[0]
    _extend_search_path(document.path, sys_path)
    # A file that is called like a module of the standard library must not stand in for it.
    module = ModuleType(name if package else "tirlens_document")
    module.__file__ = document.path
    module.__package__ = package
    module.__dict__["__builtins__"] = __builtins__
    sys.modules[module.__name__] = module
    sys.argv = [document.path]
    document.fill_linecache()
    loaded = Loaded(document, module)
    wanted = [item for item in document.tree.body if item.lineno not in leave_out]
    run(loaded, wanted, module.__dict__, on_statement)
    return loaded


def run(
    loaded: Loaded,
    statements: List[ast.stmt],
    namespace: Dict[str, Any],
    on_statement: Callable[[int], None],
) -> None:
    """Execute `statements` one by one in `namespace`, past those that fail."""
    flags = _future_flags(loaded.document.tree)
    path = loaded.document.path
    modules = dict(sys.modules)
    for statement in statements:
        if _is_bare(statement):
            continue
        on_statement(statement.lineno)
        try:
            _execute(statement, path, flags, namespace)
        except BaseException as error:
            for rest in _salvage(statement):
                try:
                    _execute(rest, path, flags, namespace)
                except BaseException:
                    continue
            loaded.record(statement, error)
        if len(sys.modules) < len(modules):
            # The frameworks do not work without the modules that they have imported.
            sys.modules.update(dict(modules, **sys.modules))


def execute(
    loaded: Loaded,
    statement: ast.stmt,
    namespace: Dict[str, Any],
    place: Optional[Dict[str, Any]] = None,
) -> None:
    """Execute one statement, letting its error through; what it binds goes to `place` if given."""
    flags = _future_flags(loaded.document.tree)
    _execute(statement, loaded.document.path, flags, namespace, place)


def bound_names(statement: ast.stmt) -> List[str]:
    """The names that `statement` would bind at its own level."""
    if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return [statement.name]
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return [alias.asname or alias.name.split(".")[0] for alias in statement.names]
    return [
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    ]


def _execute(
    statement: ast.stmt,
    path: str,
    flags: int,
    namespace: Dict[str, Any],
    place: Optional[Dict[str, Any]] = None,
) -> None:
    module = ast.Module(body=[statement], type_ignores=[])
    code = compile(module, path, "exec", flags, dont_inherit=True)
    exec(code, namespace, namespace if place is None else place)


def _wanted_network(error: BaseException) -> bool:
    """Whether it comes of what is refused here and would have worked elsewhere."""
    return any(isinstance(cause, NetworkClosedError) for cause in chain(error))


def _is_bare(statement: ast.stmt) -> bool:
    """Whether it is an expression on its own that no later definition can depend on."""
    if not isinstance(statement, ast.Expr):
        return False
    call = statement.value
    if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
        return True
    return call.func.attr not in _EFFECTS or not _is_dotted(call.func.value)


def _is_dotted(node: ast.expr) -> bool:
    while isinstance(node, ast.Attribute):
        node = node.value
    return isinstance(node, ast.Name)


def _salvage(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The parts of a failed import, one name each: some of them may exist."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)) and len(statement.names) > 1:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                part: ast.stmt = ast.Import(names=[alias])
            else:
                part = ast.ImportFrom(module=statement.module, names=[alias], level=statement.level)
            yield ast.copy_location(part, statement)


def _future_flags(tree: ast.Module) -> int:
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= _FUTURE_FLAGS.get(alias.name, 0)
    return flags


def search_folders(path: str, extra: Tuple[str, ...]) -> List[str]:
    """Where the user's modules are looked for: a package's parent, or else the document's folder,
    as ``python file.py`` has it, and then `extra`."""
    name, root = package_of(path)
    first = root if "." in name else os.path.dirname(os.path.abspath(path))
    return list(dict.fromkeys((first, *extra)))


def _extend_search_path(path: str, extra: Tuple[str, ...]) -> None:
    sys.path[:0] = [item for item in search_folders(path, extra) if item not in sys.path]
    folder = os.path.dirname(os.path.abspath(path))
    if folder not in sys.path:
        sys.path.append(folder)
