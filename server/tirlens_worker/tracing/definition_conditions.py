"""The conditions that a definition sets for its parameters together, tested without a framework.

They are its assertions, and the tests of branches that raise. The statements before its kernel are
evaluated with values of the parameters, so that conditions on what is computed of them count, too:
``groups = heads // kv_heads``. A branch is followed where its test is known; a statement that
cannot be evaluated, such as one that needs a symbolic variable, leaves its names unknown.
"""

from __future__ import annotations

import ast
import functools
import math
from dataclasses import dataclass, field
from types import CodeType
from typing import (
    Any,
    Dict,
    FrozenSet,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Set,
    Tuple,
    cast,
)

from .asserted_values import conjuncts

_MOST_STATEMENTS = 200
# The frameworks' sizes have 64 bits.
_BEYOND_SIZES = 1 << 63
# Functions of numbers. Others may build something, print or wait.
_FUNCTIONS = frozenset(
    [
        "abs",
        "bool",
        "divmod",
        "float",
        "int",
        "isinstance",
        "len",
        "max",
        "min",
        "pow",
        "range",
        "round",
        "str",
        "sum",
        "tuple",
        "list",
        "set",
    ]
) | {name for name in dir(math) if not name.startswith("_")}
_OF_LIBRARIES = frozenset(
    ["ceildiv", "cdiv", "ceil_div", "next_power_of_2", "align_up", "bit_length"]
)


@dataclass(frozen=True)
class Broken:
    """A condition that values do not satisfy.

    `names` are the parameters on which it depends, `numbers` the sizes that it has: its constants,
    and the values of both sides of its comparison.
    """

    line: int
    names: FrozenSet[str]
    numbers: FrozenSet[int]


def _none() -> List[Broken]:
    return []


@dataclass
class _Run:
    """The names known so far, and for each the parameters on which it depends."""

    namespace: Dict[str, Any]
    names: Dict[str, Any]
    origins: Dict[str, FrozenSet[str]]
    broken: List[Broken] = field(default_factory=_none)
    left: int = _MOST_STATEMENTS


def broken_conditions(
    function: ast.AST,
    relations: Sequence[ast.expr],
    values: Mapping[str, Any],
    namespace: Mapping[str, Any],
) -> List[Broken]:
    """The conditions of `function` that the values of its parameters do not satisfy.

    Those of its callers are `relations`; `namespace` has the names of its module. A condition that
    depends on a parameter without a value is not tested.
    """
    origins = {name: frozenset([name]) for name in values}
    run = _Run(dict(namespace), dict(values), origins)
    arguments = getattr(function, "args", None)
    for item in () if arguments is None else (*arguments.args, *arguments.kwonlyargs):
        if item.arg not in values:
            run.origins.setdefault(item.arg, frozenset())
    for relation in relations:
        _test(run, relation, True)
    _execute(run, getattr(function, "body", ()))
    return run.broken


def has_conditions(function: ast.AST) -> bool:
    """Whether a definition may set conditions before its kernel."""
    return any(
        isinstance(node, ast.Assert) or (isinstance(node, ast.If) and _raises(node.body))
        for node in _statements(getattr(function, "body", ()))
    )


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef, ast.With)):
            continue
        yield node
        if isinstance(node, ast.If):
            yield from _statements([*node.body, *node.orelse])


def _execute(run: _Run, body: Sequence[ast.stmt]) -> bool:
    """Whether the statements after `body` are executed."""
    for node in body:
        run.left -= 1
        if run.left < 0 or isinstance(node, (ast.Return, ast.With, ast.Raise)):
            return False
        if isinstance(node, ast.Assert):
            for part in conjuncts(node.test):
                _test(run, part, True)
        elif isinstance(node, ast.If):
            if not _branch(run, node):
                return False
        elif isinstance(node, ast.Assign) and len(node.targets) == 1:
            _assign(run, node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            _assign(run, node.target, node.value)
        else:
            _forget(run, node)
    return True


def _branch(run: _Run, node: ast.If) -> bool:
    if _raises(node.body) and not node.orelse:
        _test(run, node.test, False)
        return True
    holds = _holds(run, node.test)
    if holds is None:
        _forget(run, node)
        return True
    return _execute(run, node.body if holds else node.orelse)


def _raises(body: Sequence[ast.stmt]) -> bool:
    return bool(body) and isinstance(body[-1], ast.Raise)


def _assign(run: _Run, target: ast.expr, expression: ast.expr) -> None:
    known = _value(run, expression)
    is_unpacked = isinstance(target, (ast.Tuple, ast.List))
    targets: List[ast.expr] = target.elts if is_unpacked else [target]
    value = None if known is None else known[0]
    parts: Sequence[Any] = [value] if known is not None and not is_unpacked else ()
    if is_unpacked and isinstance(value, (list, tuple)):
        parts = cast("Sequence[Any]", value)
    origins = _origins(run, expression)
    for position, name in enumerate(targets):
        if not isinstance(name, ast.Name):
            continue
        run.origins[name.id] = origins
        run.names.pop(name.id, None)
        if position < len(parts):
            run.names[name.id] = parts[position]


def _forget(run: _Run, node: ast.stmt) -> None:
    """Forget the names that a statement binds which is not evaluated."""
    for part in ast.walk(node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            run.names.pop(part.id, None)
            run.origins[part.id] = frozenset()
        elif isinstance(part, (ast.FunctionDef, ast.ClassDef)):
            run.origins[part.name] = frozenset()


def _test(run: _Run, test: ast.expr, wanted: bool) -> None:
    names = _origins(run, test)
    holds = _holds(run, test) if names else None
    if holds is not None and holds is not wanted:
        run.broken.append(Broken(test.lineno, names, frozenset(_numbers(run, test))))


def _numbers(run: _Run, test: ast.expr) -> Iterator[int]:
    for part in ast.walk(test):
        if isinstance(part, ast.expr) and not isinstance(part, (ast.Compare, ast.BoolOp)):
            known = _value(run, part)
            if known is not None and type(known[0]) is int and 0 < known[0] < _BEYOND_SIZES:
                yield known[0]


def _origins(run: _Run, node: ast.expr) -> FrozenSet[str]:
    found: Set[str] = set()
    for name in _code_of(node).names:
        found |= run.origins.get(name, frozenset())
    return frozenset(found)


def _holds(run: _Run, test: ast.expr) -> Optional[bool]:
    """Whether a condition holds; None if that is not known."""
    known = _value(run, test)
    try:
        return None if known is None else bool(known[0])
    except Exception:
        # A condition on a symbolic variable.
        return None


def _value(run: _Run, node: ast.expr) -> Optional[Tuple[Any]]:
    """The value of an expression; None if it is not known."""
    code, names = _code_of(node)
    if code is None or any(name in run.origins and name not in run.names for name in names):
        return None
    try:
        return (eval(code, run.namespace, run.names),)
    except Exception:
        return None


class _Code(NamedTuple):
    """The code of an expression, None if it may do more than compute, and its names."""

    code: Optional[CodeType]
    names: Tuple[str, ...]


@functools.lru_cache(maxsize=4096)
def _code_of(node: ast.expr) -> _Code:
    parts = list(ast.walk(node))
    names = tuple({part.id for part in parts if isinstance(part, ast.Name)})
    if not all(map(_is_pure, parts)):
        return _Code(None, names)
    code = compile(ast.Expression(node), "<condition>", "eval", dont_inherit=True)
    return _Code(code, names)


def _is_pure(node: ast.AST) -> bool:
    if isinstance(node, ast.Call):
        if isinstance(node.func, ast.Name):
            return node.func.id in _FUNCTIONS
        name = getattr(node.func, "attr", "")
        return name in _OF_LIBRARIES or (
            name in _FUNCTIONS and getattr(getattr(node.func, "value", None), "id", "") == "math"
        )
    return not isinstance(node, (ast.Await, ast.Yield, ast.YieldFrom, ast.NamedExpr))
