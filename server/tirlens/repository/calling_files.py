"""The files of a repository whose execution may lead to a call of a function."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tirlens.evaluation.modules import Modules
from tirlens.evaluation.search_result import Target
from tirlens.evaluation.syntax import changed_names
from tirlens.evaluation.values import KINDS, ModuleScope
from tirlens.repository.registries import tables_of
from tirlens.repository.word_index import WordIndex
from tirlens.syntax_trees import DEFINITIONS

_MAX_DEPTH = 5
_MAX_FILES_OF_A_NAME = 40
_MAX_FILES, _FILES_OF_ANOTHER = 60, 5
_MAX_DIRECT = 4


@dataclass(frozen=True)
class CallingFiles:
    """The files whose execution may lead to a call, the first to execute first.

    Attributes
    ----------
    names
        For each file its names on the way to the call, with their distances to the target: 0 for
        its own name, 1 for what depends on it.
    registered
        The names, each with its file, whose statements register a function on the way in a table.
    """

    names: dict[str, dict[str, int]]
    registered: tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class _Users:
    """The names of a module that depend on a name of the same or another module.

    `tables` are those in which its statements register what depends on it, each with its file,
    `registered` what they register.
    """

    names: set[str] = field(default_factory=set[str])
    tables: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    registered: set[str] = field(default_factory=set[str])


def calling_files(
    index: WordIndex, modules: Modules, targets: Sequence[Target], end: float
) -> CallingFiles:
    """The files whose execution may lead to a call.

    A file that uses a name of another imports the module that it is from, or its package. What is
    found before the work is `end` has to do.
    """
    target = targets[0]
    most = _MAX_FILES + _FILES_OF_ANOTHER * (len(targets) - 1)
    # Callers of a method name its class, or something that depends on it.
    pending = {(target.name.split(".")[0], target.path) for target in targets}
    seen: set[tuple[str, str]] = set()
    files: dict[str, int] = {}
    names: dict[str, dict[str, int]] = {}
    registered: dict[tuple[str, str], None] = {}
    for depth in range(_MAX_DEPTH):
        following: set[tuple[str, str]] = set()
        for name, origin in sorted(pending - seen):
            seen.add((name, origin))
            for path in _files_with(index, name, origin, target):
                if modules.work > end:
                    break
                scope = modules.scope(path)
                users = None if scope is None else _users(modules, scope, name)
                if users is not None:
                    files.setdefault(path, depth)
                    names.setdefault(path, {}).setdefault(name, depth)
                    following |= {(user, path) for user in users.names if user[:2] != "__"}
                    following |= users.tables
                    registered |= {(path, user): None for user in sorted(users.registered)}
        if len(files) >= most:
            # What is on longer ways gives fewer arguments.
            break
        pending = following
    ordered = sorted(files, key=lambda path: (*_order(path, target)[:2], files[path], path))
    # Files on long ways may take all the time: some that call the target themselves come first.
    direct = [path for path in ordered if files[path] == 0 and path != target.path][:_MAX_DIRECT]
    ordered = [*direct, *(path for path in ordered if path not in direct)]
    return CallingFiles({path: names[path] for path in ordered[:most]}, tuple(registered))


def _files_with(index: WordIndex, name: str, origin: str, target: Target) -> list[str]:
    """The files that contain `name` and may know it from the file `origin`."""
    found = sorted(
        index.files_that_know(name, origin).intersection(index.files_with(name)),
        key=lambda path: _order(path, target),
    )
    return found[:_MAX_FILES_OF_A_NAME]


def _users(modules: Modules, scope: ModuleScope, name: str) -> _Users | None:
    """What depends on `name` in a module, also where it is imported; None if nothing does."""
    found = _Users()
    is_used = False
    syntax = scope.syntax
    for statement, words, in_texts, imported in zip(
        syntax.tree.body, syntax.words, syntax.text_words, syntax.imported_names, strict=True
    ):
        if name not in words:
            continue
        is_used = True
        found.names.update(imported.get(name, ()))
        if name in in_texts and scope.is_package:
            # The package imports it when it is asked for.
            found.names.add(name)
        changed = set(changed_names(statement))
        if isinstance(statement, DEFINITIONS):
            changed = {statement.name}
            if statement.name != name and not statement.name.startswith("test"):
                found.names.add(statement.name)
        elif isinstance(statement, ast.Assign):
            found.names.update(item.id for item in statement.targets if isinstance(item, ast.Name))
        tables = tables_of(modules, scope, statement)
        if tables:
            found.tables.update(tables)
            found.registered.update(changed)
    return found if is_used else None


def _order(path: str, target: Target) -> tuple[int, int, str]:
    shared = sum(
        1
        for _ in itertools.takewhile(
            lambda pair: pair[0] == pair[1],
            zip(path.split("/"), target.path.split("/"), strict=False),
        )
    )
    return KINDS.index(kind_of(path)), -shared, path


def by_nearness(paths: Iterable[str], target: Target) -> list[str]:
    """Files by their kinds, those of a kind that are near a target first."""
    return sorted(paths, key=lambda path: _order(path, target))


def kind_of(path: str) -> str:
    """One of `KINDS`, by the names of the file and its folders."""
    parts = path.lower().split("/")
    if any("bench" in part or "perf" in part for part in parts):
        return "benchmark"
    if any(part.startswith("test") or part.endswith("_test.py") for part in parts):
        return "test"
    return "program" if any(part.startswith(("example", "demo")) for part in parts) else "code"
