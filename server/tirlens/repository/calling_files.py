"""The files of a repository whose execution may lead to a call of a function."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Sequence

from tirlens.evaluation.modules import Modules
from tirlens.evaluation.search_result import Target
from tirlens.evaluation.values import KINDS, ModuleScope
from tirlens.repository.word_index import WordIndex
from tirlens.syntax_trees import DEFINITIONS

_MAX_DEPTH = 5
_MAX_FILES_OF_A_NAME = 40
_MAX_FILES, _FILES_OF_ANOTHER = 60, 5
_MAX_DIRECT = 4


def calling_files(
    index: WordIndex, modules: Modules, targets: Sequence[Target], end: float
) -> dict[str, dict[str, int]]:
    """The files whose execution may lead to a call, with their names on the way to it.

    The names have their distances to the target: 0 for its own name, 1 for what depends on it.

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
    for depth in range(_MAX_DEPTH):
        following: set[tuple[str, str]] = set()
        for name, origin in sorted(pending - seen):
            seen.add((name, origin))
            for path in _files_with(index, name, origin, target):
                if modules.work > end:
                    break
                scope = modules.scope(path)
                users = None if scope is None else _users(scope, name)
                if users is not None:
                    files.setdefault(path, depth)
                    names.setdefault(path, {}).setdefault(name, depth)
                    following |= {(user, path) for user in users if not user.startswith("__")}
        if len(files) >= most:
            # What is on longer ways gives fewer arguments.
            break
        pending = following
    ordered = sorted(files, key=lambda path: (*_order(path, target)[:2], files[path], path))
    # Files on long ways may take all the time: some that call the target themselves come first.
    direct = [path for path in ordered if files[path] == 0 and path != target.path][:_MAX_DIRECT]
    ordered = [*direct, *(path for path in ordered if path not in direct)]
    return {path: names[path] for path in ordered[:most]}


def _files_with(index: WordIndex, name: str, origin: str, target: Target) -> list[str]:
    """The files that contain `name` and may know it from the file `origin`."""
    found = sorted(
        index.files_that_know(name, origin).intersection(index.files_with(name)),
        key=lambda path: _order(path, target),
    )
    return found[:_MAX_FILES_OF_A_NAME]


def _users(scope: ModuleScope, name: str) -> set[str] | None:
    """The names of a module that depend on `name`, also where it is imported; None if none do."""
    users: set[str] = set()
    is_used = False
    syntax = scope.syntax
    for statement, words, imported in zip(
        syntax.tree.body, syntax.words, syntax.imported_names, strict=True
    ):
        if name not in words:
            continue
        is_used = True
        users |= imported.get(name, set())
        if isinstance(statement, DEFINITIONS):
            if statement.name != name and not statement.name.startswith("test"):
                users.add(statement.name)
        elif isinstance(statement, ast.Assign):
            users |= {item.id for item in statement.targets if isinstance(item, ast.Name)}
    return users if is_used else None


def _order(path: str, target: Target) -> tuple[int, int, str]:
    shared = sum(
        1
        for _ in itertools.takewhile(
            lambda pair: pair[0] == pair[1],
            zip(path.split("/"), target.path.split("/"), strict=False),
        )
    )
    return KINDS.index(kind_of(path)), -shared, path


def kind_of(path: str) -> str:
    """One of `KINDS`, by the names of the file and its folders."""
    parts = path.lower().split("/")
    if any("bench" in part or "perf" in part for part in parts):
        return "benchmark"
    if any(part.startswith("test") or part.endswith("_test.py") for part in parts):
        return "test"
    return "program" if any(part.startswith(("example", "demo")) for part in parts) else "code"
