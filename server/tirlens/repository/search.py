"""The search for the calls of a kernel in a repository."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast
import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tirlens.collector import collecting_cycles
from tirlens.evaluation.control_flow import LimitError
from tirlens.evaluation.definitions import definitions_of
from tirlens.evaluation.devices import Gpu, gpus_for
from tirlens.evaluation.evaluator import Evaluator
from tirlens.evaluation.modules import Modules
from tirlens.evaluation.rendering import Renderer
from tirlens.evaluation.roots import run_programs
from tirlens.evaluation.search_result import Search, Target
from tirlens.evaluation.syntax import SyntaxCache
from tirlens.evaluation.typical_calls import typical_calls
from tirlens.evaluation.values import Goal, GoalCall, ModuleScope
from tirlens.repository.batch_sizes import batch_sizes
from tirlens.repository.calling_files import calling_files, kind_of
from tirlens.repository.word_index import WordIndex
from tirlens.syntax_trees import FunctionNode

# The work on each further GPU.
_LIMIT_OF_GPU = 400_000
# Work (`Modules.work`) for the calls of one kernel, for those of another of its file, and at most.
# A million is about four seconds.  A limit of time would find other calls on a busy machine.
_LIMIT, _LIMIT_OF_ANOTHER, _MAX_LIMIT = 1_000_000, 125_000, 3_000_000


def find_calls(
    index: WordIndex,
    targets: Sequence[Target],
    texts: Mapping[str, str] | None = None,
    beat: Callable[[], None] = lambda: None,
    syntaxes: SyntaxCache | None = None,
) -> dict[Target, Search]:
    """The calls of functions of one file in the other files, the most typical first.

    Parameters
    ----------
    index
        The words of the repository.
    targets
        The functions, all of one file.
    texts
        Texts that replace those on disk, by path relative to the root.
    beat
        Called at each step, so that a watch sees that there are steps.
    syntaxes
        The syntax of files that were parsed before; None for none.
    """
    if not targets:
        return {}
    # Functions, classes and frames refer to each other: tens of megabytes in a large repository.
    with collecting_cycles():
        return _find_calls(
            index, lambda gpu: Modules(index.root, index.files, texts, beat, gpu, syntaxes), targets
        )


def _find_calls(
    index: WordIndex, modules_with: Callable[[Gpu], Modules], targets: Sequence[Target]
) -> dict[Target, Search]:
    first, *other_gpus = gpus_for(targets[0].path)
    modules = modules_with(first)
    found, is_complete = _calls(index, modules, targets)
    without = [target for target, calls in found.items() if not calls]
    if not is_complete and 0 < len(without) < len(targets):
        # The others have taken the time.
        found |= _calls(index, modules, without)[0]
    read_files = modules.read_files
    for gpu in other_gpus:
        without = [target for target, calls in found.items() if not calls]
        if not without or not modules.gpu_was_asked_for:
            break
        # The program may select them on another GPU.
        others = modules_with(gpu)
        found |= _calls(index, others, without, _LIMIT_OF_GPU)[0]
        read_files |= others.read_files
    scope = modules.scope(targets[0].path)
    if scope is None:
        return dict.fromkeys(targets, Search(files=read_files))
    renderer = Renderer(scope, Evaluator(modules, {}, _MAX_LIMIT))
    data_files = dict(modules.data_files.read)
    searches = {
        target: _search(index, modules, target, calls, renderer) for target, calls in found.items()
    }
    read_files |= modules.read_files
    return {
        target: replace(search, files=read_files, data_files=data_files)
        for target, search in searches.items()
    }


def _calls(
    index: WordIndex, modules: Modules, targets: Sequence[Target], most: int = _MAX_LIMIT
) -> tuple[dict[Target, list[tuple[str, GoalCall]]], bool]:
    """The calls of each target, with the kinds of the files whose execution leads to them.

    And whether all files were executed.
    """
    found: dict[Target, list[tuple[str, GoalCall]]] = {target: [] for target in targets}
    limit = min(_LIMIT + _LIMIT_OF_ANOTHER * (len(targets) - 1), _MAX_LIMIT, most)
    end = modules.work + limit
    files = calling_files(index, modules, targets, end - limit / 2)
    for path, names in files.names.items():
        left = end - modules.work
        if left <= 0:
            return found, False
        scope = modules.scope(path)
        if scope is None:
            continue
        kind = kind_of(path)
        root = _Root(scope, names, files.registered)
        for call in _calls_of_root(modules, root, targets, min(left, limit / 4)):
            target = Target(call.goal.path, call.goal.name)
            found[target].append((_kind(kind, call.root), call))
    return found, True


def _kind(of_path: str, root: str) -> str:
    """The kind of a call in a file of the kind `of_path` to which a program of kind `root` leads.

    The main program of model code is a program, a test in it a test; a benchmark in a test is one.
    """
    if root in ("code", "benchmark") or of_path == "code":
        return root
    return "test" if root == "test" else of_path


class _Root(NamedTuple):
    """A module that is executed, with its names on the way to the goals.

    `registered` are what modules register in tables when they are imported (`CallingFiles`).
    """

    scope: ModuleScope
    names: Mapping[str, int]
    registered: tuple[tuple[str, str], ...]


def _calls_of_root(
    modules: Modules, root: _Root, targets: Sequence[Target], limit: float
) -> list[GoalCall]:
    """The calls that the programs of a module lead to."""
    goals: dict[ast.AST, Goal] = {
        node: Goal(target.path, target.name)
        for target in targets
        for node in _definitions(modules, target)
    }
    evaluator = Evaluator(modules, goals, limit)
    for path, name in root.registered:
        scope = modules.scope(path)
        if scope is not None:
            with contextlib.suppress(LimitError):
                evaluator.module_value(scope, name)
    run_programs(evaluator, root.scope, root.names)
    return evaluator.calls


def _definitions(modules: Modules, target: Target) -> list[FunctionNode]:
    scope = modules.scope(target.path)
    return [] if scope is None else definitions_of(scope.tree, target.name)


def _search(
    index: WordIndex,
    modules: Modules,
    target: Target,
    found: Sequence[tuple[str, GoalCall]],
    renderer: Renderer,
) -> Search:
    definitions = _definitions(modules, target)
    if not definitions:
        return Search()
    search = typical_calls(
        found, definitions[0], renderer, lambda call: renderer.call(target.name, call)
    )
    if search.calls:
        return search
    others = batch_sizes(index, modules, target, definitions[0], search.values)
    return replace(search, values={**others, **search.values})
