"""Calls with the rows of a table in the file: ``get_kernel(**CONFIGS[0])``.

Libraries of kernels keep their problem sizes in module-level tables, which a test or benchmark
runner of its own passes to one function of each file.  No call in the text says so.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import cast

from tirlens.evaluation.evaluator import Evaluator
from tirlens.evaluation.values import ModuleScope, is_literal
from tirlens.source.find import Found, returned_names
from tirlens.source.parse import Text
from tirlens.syntax_trees import FunctionNode, definitions, parameter_defaults, parameters
from tirlens_worker.protocol import CallCandidate

# Names of tables whose rows only the execution shows.
_TABLE_NAME = re.compile(
    r"(.*_)?(bench\w*|configs?|configurations?|cases?|shapes?|settings?|problems?|workloads?|"
    r"problem_sizes|sizes|params|parameters)(_.*)?",
    re.IGNORECASE,
)
_MAX_ROWS = 4
_MAX_DEPTH = 3
_MAX_CALLS = 8


@dataclass(frozen=True)
class _Row:
    """A row of a table: the expression that gives it, and its node.

    `keys` are the names of its arguments and `values` their expressions, None where only the
    execution shows them.
    """

    code: str
    node: ast.expr
    keys: frozenset[str] | None
    values: Mapping[str, str] | None = None


class Tables:
    """The tables of one file."""

    def __init__(self, text: Text, evaluator: Evaluator, scope: ModuleScope) -> None:
        self._text = text
        self._evaluator = evaluator
        self._scope = scope
        self._functions = {
            node.name: node
            for node in definitions(text.tree.body)
            if isinstance(node, ast.FunctionDef)
        }
        self._rows: list[list[_Row]] | None = None
        self._returned: dict[str, set[str]] = {}

    def calls(self, found: Found) -> Iterator[CallCandidate]:
        """The calls with rows of tables that yield a kernel, those of benchmarks first."""
        name = (found.scope[0] if found.scope else found.owner).name
        if self._rows is None:
            self._rows = [rows for rows in map(list, self._tables()) if rows]
        count = 0
        for function in self._makers(name) if self._rows else ():
            for rows in self._rows:
                for row in rows:
                    for expression in _calls(function, row):
                        yield CallCandidate(expression, "call-site", self._text.span(row.node))
                        count += 1
                        if count == _MAX_CALLS:
                            return

    def _makers(self, name: str) -> list[ast.FunctionDef]:
        """The functions of the file whose result comes from `name`, the nearest first."""
        reached, nearest = {name}, [name]
        out = [self._functions[name]] if name in self._functions else []
        for _ in range(_MAX_DEPTH):
            nearest = [
                function.name
                for function in self._functions.values()
                if function.name not in reached and self._names_in_result(function) & set(nearest)
            ]
            reached.update(nearest)
            out += [self._functions[one] for one in nearest]
        return [function for function in out if parameters(function) or function.args.kwarg]

    def _names_in_result(self, function: FunctionNode) -> set[str]:
        """The names on which the result of a function depends, computed once."""
        if function.name not in self._returned:
            self._returned[function.name] = returned_names(function)
        return self._returned[function.name]

    def _tables(self) -> Iterator[Iterator[_Row]]:
        """The tables of the file, those of benchmarks first."""
        tables: list[tuple[str, ast.expr]] = []
        for statement in self._text.tree.body:
            if not isinstance(statement, (ast.Assign, ast.AnnAssign)) or statement.value is None:
                continue
            is_plain = isinstance(statement, ast.Assign)
            target = statement.targets[0] if is_plain else statement.target
            if isinstance(target, ast.Name):
                tables.append((target.id, statement.value))
        for name, value in sorted(tables, key=lambda pair: "bench" not in pair[0].lower()):
            yield self._table(name, value)

    def _table(self, name: str, value: ast.expr) -> Iterator[_Row]:
        if isinstance(value, (ast.List, ast.Tuple)):
            for index, item in enumerate(value.elts[:_MAX_ROWS]):
                yield from self._row(f"{name}[{index}]", item, name)
        elif isinstance(value, ast.Dict):
            for key, item in list(zip(value.keys, value.values, strict=True))[:_MAX_ROWS]:
                if isinstance(key, ast.Constant) and isinstance(item, (ast.Dict, ast.Call)):
                    yield from self._row(f"{name}[{key.value!r}]", item, name)
        elif name.isupper() and _TABLE_NAME.fullmatch(name) and _is_made(value):
            yield _Row(f"{name}[0]", value, self._keys_of_first(value, 0))

    def _row(self, code: str, item: ast.expr, table: str) -> Iterator[_Row]:
        values = self._values(item)
        keys = self._keys(item) if values is None else frozenset(values)
        if keys or (_is_made(item) and _TABLE_NAME.fullmatch(table)):
            yield _Row(code, item, keys, values)

    def _values(self, node: ast.expr) -> dict[str, str] | None:
        """The arguments in a row by name, as expressions."""
        if not isinstance(node, (ast.Dict, ast.Call)):
            return None
        found = self._evaluator.try_value(node, self._scope.frame)
        row = cast("dict[object, object]", found)
        if type(found) is not dict or not row or not is_literal(found):
            return None
        if not all(isinstance(key, str) and key.isidentifier() for key in row):
            return None
        return {str(key): repr(item) for key, item in row.items()}

    def _keys(self, node: ast.expr) -> frozenset[str] | None:
        """The names of the arguments in a row: a dict, or a call of a function that returns one."""
        if isinstance(node, ast.Dict):
            keys = [key.value for key in node.keys if isinstance(key, ast.Constant)]
            is_known = len(keys) == len(node.keys) and all(isinstance(key, str) for key in keys)
            return frozenset(map(str, keys)) if is_known else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            if node.func.id == "dict":
                return self._keyword_names(node) if node.keywords and not node.args else None
            function = self._functions.get(node.func.id)
            last = function.body[-1] if function else None
            if isinstance(last, ast.Return) and last.value is not None:
                return self._keys(last.value) if isinstance(last.value, ast.Dict) else None
        return None

    def _keyword_names(self, node: ast.Call) -> frozenset[str] | None:
        names = [keyword.arg for keyword in node.keywords]
        return frozenset(name for name in names if name) if None not in names else None

    def _keys_of_first(self, node: ast.expr, depth: int) -> frozenset[str] | None:
        """The names of the arguments in the first row of a table that is made."""
        if isinstance(node, ast.ListComp):
            return self._keys(node.elt)
        if isinstance(node, ast.BinOp):
            return self._keys_of_first(node.left, depth)
        if isinstance(node, (ast.List, ast.Tuple)) and node.elts:
            return self._keys(node.elts[0])
        if isinstance(node, ast.Name) and depth < _MAX_DEPTH:
            for statement in reversed(self._scope.bindings.get(node.id, ())):
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    return self._keys_of_first(statement.value, depth + 1)
        return None


def _calls(function: FunctionNode, row: _Row) -> Iterator[str]:
    """The calls of `function` with the arguments of `row`, if it takes them."""
    names = [item.arg for item in parameters(function)]
    required = set(names) - set(parameter_defaults(function))
    takes_all = function.args.kwarg is not None
    if row.keys is not None and (not required <= row.keys or not (required or takes_all)):
        return
    if row.values is not None:
        pairs = row.values.items()
        given = [f"{name}={text}" for name, text in pairs if takes_all or name in names]
        yield f"{function.name}({', '.join(given)})"
    elif takes_all or (row.keys is not None and row.keys <= set(names)):
        yield f"{function.name}(**{row.code})"
    else:
        taken = ", ".join(map(repr, names)) + ("," if len(names) == 1 else "")
        yield f"{function.name}(**{{k: v for k, v in {row.code}.items() if k in ({taken})}})"


def _is_made(node: ast.expr) -> bool:
    """Whether the execution of `node` may make a table or a row of one."""
    return isinstance(node, (ast.Call, ast.ListComp, ast.BinOp, ast.Name, ast.Subscript))
