"""What the text of a module says before anything of it is evaluated."""

from __future__ import annotations

import ast
import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from tirlens.syntax_trees import DEFINITIONS, bound_names, walk

Conditions: TypeAlias = "tuple[tuple[ast.expr, bool], ...]"
"""Expressions, and whether each must be true or false."""
_DOTTED_NAME, _NAME, _MAX_NAME = re.compile(r"\.*\w+([.:]\w+)*"), re.compile(r"\w+"), 100


@dataclass(frozen=True)
class Syntax:
    """The tree of a module. Evaluations change nothing of it, so that they share it.

    `characters` is the length of the text.
    """

    tree: ast.Module
    characters: int = 0

    @cached_property
    def words(self) -> list[frozenset[str]]:
        """The names, attributes and imported names in each top-level statement, also in texts."""
        return [
            frozenset((*words_of(statement), *text_words))
            for statement, text_words in zip(self.tree.body, self.text_words, strict=True)
        ]

    @cached_property
    def text_words(self) -> list[frozenset[str]]:
        """The names in the texts of each top-level statement: those by which it may look one up."""
        return [frozenset(_words_of_texts(statement)) for statement in self.tree.body]

    @cached_property
    def imported_names(self) -> list[dict[str, set[str]]]:
        """The names under which each top-level statement imports a name into the module."""
        found: list[dict[str, set[str]]] = []
        for statement in self.tree.body:
            names: dict[str, set[str]] = {}
            for node in () if isinstance(statement, DEFINITIONS) else walk(statement):
                if isinstance(node, ast.alias):
                    name = node.name.rpartition(".")[2]
                    names.setdefault(name, set()).add(node.asname or name)
            found.append(names)
        return found

    @cached_property
    def bindings(self) -> dict[str, list[ast.stmt]]:
        """The top-level statements that bind or change each name; ``*`` for what imports all."""
        found: dict[str, list[ast.stmt]] = {}
        for statement, _ in _statements(self.tree.body):
            for name in {*bound_names([statement]), *changed_names(statement)}:
                found.setdefault(name, []).append(statement)
            if isinstance(statement, ast.ImportFrom) and statement.names[0].name == "*":
                found.setdefault("*", []).append(statement)
        return found

    @cached_property
    def conditions(self) -> dict[ast.stmt, Conditions]:
        """The conditions under which top-level statements are executed, of those that have any."""
        return {
            statement: required for statement, required in _statements(self.tree.body) if required
        }


class SyntaxCache:
    """The syntax of the files that were read last, for all evaluations of a process.

    Parameters
    ----------
    most_characters
        The sum of the lengths of the texts of which trees are kept.
    """

    def __init__(self, most_characters: int = 0) -> None:
        self._most_characters = most_characters
        self._characters = 0
        self._known: OrderedDict[str, Syntax] = OrderedDict()

    def get(self, path: str, parse: Callable[[], Syntax]) -> Syntax:
        """The syntax of the file `path`, by `parse` where it is not known."""
        found = self._known.pop(path, None)
        if found is None:
            found = parse()
            self._characters += found.characters
        self._known[path] = found
        while self._characters > self._most_characters:
            self._characters -= self._known.popitem(last=False)[1].characters
        return found

    def forget(self, paths: Iterable[str]) -> None:
        """Forget files that have changed."""
        for path in paths:
            known = self._known.pop(path, None)
            self._characters -= 0 if known is None else known.characters


def words_of(statement: ast.AST) -> Iterator[str]:
    """The names, attributes and imported names in a statement or an expression."""
    for node in walk(statement):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.alias):
            yield node.name.rpartition(".")[2]


def _words_of_texts(statement: ast.stmt) -> Iterator[str]:
    """``package``, ``kernel`` and ``f`` for ``"package.kernel:f"``."""
    for node in walk(statement):
        text = node.value if isinstance(node, ast.Constant) else None
        if isinstance(text, str) and len(text) <= _MAX_NAME and _DOTTED_NAME.fullmatch(text):
            yield from _NAME.findall(text)


def _statements(
    body: list[ast.stmt], conditions: Conditions = ()
) -> Iterator[tuple[ast.stmt, Conditions]]:
    """The top-level statements, with those of `if` and `try` in place of these."""
    for statement in body:
        if isinstance(statement, ast.If) and not _is_main_guard(statement):
            yield from _statements(statement.body, (*conditions, (statement.test, True)))
            yield from _statements(statement.orelse, (*conditions, (statement.test, False)))
        elif isinstance(statement, ast.Try):
            # The names of a handler are those of a module that is not installed.
            for handler in statement.handlers:
                yield from _statements(handler.body, conditions)
            inside = [*statement.body, *statement.orelse, *statement.finalbody]
            yield from _statements(inside, conditions)
        elif not isinstance(statement, ast.If):
            yield statement, conditions


def _is_main_guard(statement: ast.If) -> bool:
    return any(
        isinstance(node, ast.Name) and node.id == "__name__" for node in ast.walk(statement.test)
    )


def changed_names(statement: ast.stmt) -> Iterator[str]:
    """``a`` for ``a.append(1)``, ``a["key"] = 1``, ``a += [1]`` and ``register(a)``."""
    target: ast.expr | None = None
    if isinstance(statement, ast.For) and not isinstance(statement.iter, ast.Call):
        # A loop that registers each of several classes.
        yield from (node.id for node in ast.walk(statement.iter) if isinstance(node, ast.Name))
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        target = statement.value.func
        yield from (item.id for item in statement.value.args if isinstance(item, ast.Name))
    elif isinstance(statement, ast.Assign):
        target = statement.targets[0]
    elif isinstance(statement, ast.AugAssign):
        target = statement.target
    while isinstance(target, (ast.Attribute, ast.Subscript)):
        target = target.value
        if isinstance(target, ast.Name):
            yield target.id
