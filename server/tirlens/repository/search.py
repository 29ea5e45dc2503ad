"""The search for the calls of a kernel in a repository."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from tirlens.collector import collecting_cycles
from tirlens.repository.calling_files import KINDS, calling_files, kind_of
from tirlens.repository.control_flow import LimitError
from tirlens.repository.definitions import definition, returned_parameters
from tirlens.repository.devices import Gpu, gpus_for
from tirlens.repository.dynamic_sizes import dynamic_dimensions, sizes_of, typical_sizes
from tirlens.repository.evaluator import Evaluator
from tirlens.repository.modules import Modules
from tirlens.repository.rendering import Renderer
from tirlens.repository.search_result import RepositoryCall, Search, Target
from tirlens.repository.tensor_shapes import Tensor
from tirlens.repository.test_cases import Test, cases, run_case, tests
from tirlens.repository.values import GoalCall, ModuleScope, Value, words_of
from tirlens.repository.word_index import WordIndex
from tirlens.source.values import UnknownValueError
from tirlens_worker.facts import Span

_MAX_CALLS = 8
_MAX_VALUES = 4
# The work on each further GPU.
_LIMIT_OF_GPU = 400_000
# A test gets this part of the work that its file has left.
_TESTS_OF_A_LIMIT = 2
# Work (`Modules.work`) for the calls of one kernel, for those of another of its file, and at most.
# A million is about four seconds.  A limit of time would find other calls on a busy machine.
_LIMIT, _LIMIT_OF_ANOTHER, _MAX_LIMIT = 1_000_000, 125_000, 3_000_000


def find_calls(
    index: WordIndex,
    targets: Sequence[Target],
    texts: Mapping[str, str] | None = None,
    beat: Callable[[], None] = lambda: None,
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
    """
    if not targets:
        return {}
    # Functions, classes and frames refer to each other: tens of megabytes in a large repository.
    with collecting_cycles():
        return _find_calls(
            index, lambda gpu: Modules(index.root, index.files, texts, beat, gpu), targets
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
    renderer = Renderer(scope, Evaluator(modules, (), _MAX_LIMIT))
    data_files = dict(modules.data_files.read)
    return {
        target: replace(
            _search(calls, target, scope, renderer), files=read_files, data_files=data_files
        )
        for target, calls in found.items()
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
    for path, names in calling_files(index, modules, targets, end - limit / 2).items():
        left = end - modules.work
        if left <= 0:
            return found, False
        scope = modules.scope(path)
        if scope is None:
            continue
        kind = kind_of(path)
        for call in _calls_of_root(modules, scope, targets, names, min(left, limit / 4)):
            found[Target(*call.goal)].append((kind, call))
    return found, True


def _calls_of_root(
    modules: Modules,
    scope: ModuleScope,
    targets: Sequence[Target],
    names: Mapping[str, int],
    limit: float,
) -> list[GoalCall]:
    """The calls that the execution of a module as a program, and of its tests, leads to.

    The tests that use one of `names` come first, those nearest to a target before others. None
    takes all that the file may.
    """
    goals = [(target.path, target.name) for target in targets]
    evaluator = Evaluator(modules, goals, limit)
    try:
        evaluator.run_module(scope)
        by_use = sorted(tests(scope), key=lambda test: _distance(test, names))
        for test in by_use:
            for case in cases(evaluator, scope, test):
                work = evaluator.work_left / _TESTS_OF_A_LIMIT
                evaluator.run_within(work, lambda: run_case(evaluator, scope, test, case))  # noqa: B023
    except LimitError:
        pass
    return evaluator.calls


def _distance(test: Test, names: Mapping[str, int]) -> int:
    """The least distance to a target among the names that a test uses."""
    used = (names[word] for word in words_of(test.function.node) if word in names)
    return min(used, default=max(names.values(), default=0) + 1)


# The result


def _search(
    found: Sequence[tuple[str, GoalCall]], target: Target, scope: ModuleScope, renderer: Renderer
) -> Search:
    dimensions = dynamic_dimensions(scope.tree, target.name)
    sizes: dict[str, list[dict[str, int]]] = {}
    by_kind: dict[str, dict[str, tuple[GoalCall, int]]] = {}
    values: dict[str, Counter[str]] = {}
    inner = returned_parameters(definition(scope.tree, target.name))
    for kind, call in found:
        for name, value in (*call.arguments.items(), *_inner_arguments(call, inner)):
            with contextlib.suppress(UnknownValueError):
                values.setdefault(name, Counter())[renderer.text(value)] += 1
        with contextlib.suppress(UnknownValueError):
            expression = renderer.call(target.name, call)
            kept, count = by_kind.setdefault(kind, {}).get(expression, (call, 0))
            by_kind[kind][expression] = kept, count + 1
            sizes.setdefault(expression, []).append(sizes_of(call, dimensions))
    for kept in by_kind.values():
        _drop_unfinished(kept)
    calls: dict[str, RepositoryCall] = {}
    for kind in KINDS:
        for expression in _typical_first(by_kind.get(kind, {})):
            call, _ = by_kind[kind][expression]
            span = Span(call.line, call.column, call.line, call.column + 1, call.path)
            bindings = typical_sizes(sizes[expression])
            calls.setdefault(expression, RepositoryCall(expression, span, kind, bindings))
    hints = {
        name: tuple(text for text, _ in one.most_common(_MAX_VALUES))
        for name, one in values.items()
        if one
    }
    missing = Counter(name for _, call in found for name in call.missing)
    return Search(tuple(calls.values())[:_MAX_CALLS], hints, missing)


def _inner_arguments(call: GoalCall, names: Sequence[str]) -> Iterator[tuple[str, Value]]:
    """The arguments of the call of what a factory of factories returns."""
    positional, named = call.inner or ([], {})
    if names and not any(isinstance(item, Tensor) for item in (*positional, *named.values())):
        yield from zip(names, positional, strict=False)
        yield from named.items()


def _drop_unfinished(calls: dict[str, tuple[GoalCall, int]]) -> None:
    """Remove the calls whose result is not called where that of an equal call is."""
    finished = {expression for expression, (call, _) in calls.items() if call.inner is not None}
    for expression in list(calls):
        if any(item.startswith(f"{expression}(") for item in finished):
            del calls[expression]


def _typical_first(calls: Mapping[str, tuple[GoalCall, int]]) -> list[str]:
    """The expressions with the median size first, then by size."""
    by_size = sorted(calls, key=lambda expression: _size(calls[expression][0]))
    if not by_size:
        return []
    middle = by_size.pop(len(by_size) // 2)
    return [middle, *by_size]


def _size(call: GoalCall) -> float:
    """The logarithm of the product of the sizes among the arguments, also of arrays."""
    shapes = [value.shape for value in call.arguments.values() if isinstance(value, Tensor)]
    sizes = (*call.arguments.values(), *itertools.chain.from_iterable(shapes))
    return sum(math.log2(size) for size in sizes if type(size) is int and size > 1)
