"""Execution of a module statement by statement, past those that fail.

All user code is started by `execute` and `value_of`; `patches` identifies the end of user code by
this file.
"""

from __future__ import annotations
import __future__

import ast
from types import CodeType
from typing import Any, Dict, Iterator, List, Optional, Union

_FUTURE_FLAGS = {
    name: getattr(__future__, name).compiler_flag for name in __future__.all_feature_names
}


def attempt(
    statement: ast.stmt, path: str, flags: int, namespace: Dict[str, Any]
) -> Optional[BaseException]:
    """Execute one statement, and the parts of an import that fails; the error, if it fails."""
    try:
        execute(statement, path, flags, namespace)
    except BaseException as error:
        for part in _parts(statement):
            try:
                execute(part, path, flags, namespace)
            except BaseException:
                continue
        return error
    return None


def execute(
    statement: ast.stmt,
    path: str,
    flags: int,
    namespace: Dict[str, Any],
    local_names: Optional[Dict[str, Any]] = None,
) -> None:
    """Execute one statement, which may raise; it binds names in `local_names` if that is given."""
    module = ast.Module(body=[statement], type_ignores=[])
    code = compile(module, path, "exec", flags, dont_inherit=True)
    exec(code, namespace, namespace if local_names is None else local_names)


def value_of(
    code: Union[CodeType, str],
    namespace: Dict[str, Any],
    local_names: Optional[Dict[str, Any]] = None,
) -> Any:
    """The value of an expression with the names of `local_names`, then of `namespace`.

    Raises:
        BaseException: the error of the expression.
    """
    return eval(code, namespace, local_names)


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


def future_flags(tree: ast.Module) -> int:
    """The compiler flags of the module's imports from ``__future__``."""
    flags = 0
    for statement in tree.body:
        if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
            for alias in statement.names:
                flags |= _FUTURE_FLAGS.get(alias.name, 0)
    return flags


def _parts(statement: ast.stmt) -> Iterator[ast.stmt]:
    """The parts of a failed import with one name each, some of which may succeed."""
    if isinstance(statement, (ast.Import, ast.ImportFrom)) and len(statement.names) > 1:
        for alias in statement.names:
            if isinstance(statement, ast.Import):
                part: ast.stmt = ast.Import(names=[alias])
            else:
                part = ast.ImportFrom(module=statement.module, names=[alias], level=statement.level)
            yield ast.copy_location(part, statement)
