"""The calls of a kernel that an evaluation has recorded, as source text, the most typical first."""

from __future__ import annotations

import contextlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence

from tirlens.evaluation.definitions import returned_parameters
from tirlens.evaluation.dynamic_sizes import (
    Parameter,
    dynamic_dimensions,
    sizes_of,
    typical_sizes,
)
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.operations import UnknownValueError
from tirlens.evaluation.rendering import Renderer
from tirlens.evaluation.search_result import KnownValue, RepositoryCall, Search
from tirlens.evaluation.values import KINDS, GoalCall, Value
from tirlens.syntax_trees import FunctionNode
from tirlens_worker.facts import Span

_MAX_CALLS = 8
_MAX_VALUES = 4
# The logarithm (base 2) of how many times less work than the largest call one does that checks
# shapes.
_SHAPE_CHECK = 8


def typical_calls(
    found: Sequence[tuple[str, GoalCall]],
    factory: FunctionNode,
    renderer: Renderer,
    text_of: Callable[[GoalCall], str],
) -> Search:
    """The calls of `factory`, each with its kind, one of `KINDS`, in the order of these.

    Of a kind, the call with the median size is the most typical; of tests, of those with real
    sizes (`_without_shape_checks`). A call whose arguments are not all known gives values for the
    parameters alone, those of the call with the most of them first.

    Parameters
    ----------
    found
        The recorded calls and their kinds.
    factory
        The definition that they call.
    renderer
        Writes the values.
    text_of
        Writes a call; raises `UnknownValueError` where an argument is not known.
    """
    # Only calls of the compiled kernel need these, which are found by walks over the factory.
    is_compiled_called = any(call.inner for _, call in found)
    has_sizes = is_compiled_called or any(call.record_sizes for _, call in found)
    dimensions = dynamic_dimensions(factory) if has_sizes else ()
    inner = returned_parameters(factory) if is_compiled_called else ()
    sizes: dict[str, list[dict[str, int]]] = {}
    by_kind: dict[str, dict[str, GoalCall]] = {}
    values: dict[str, Counter[str]] = {}
    fullest = min(found, key=lambda pair: len(pair[1].missing), default=None)
    for kind, call in found:
        is_alike = fullest is None or _has_modes_of(call, fullest[1])
        for name, value in _values(call, inner, dimensions):
            if not is_alike and fullest is not None and name in fullest[1].missing:
                continue
            with contextlib.suppress(UnknownValueError):
                values.setdefault(name, Counter())[renderer.text(value)] += 1
        with contextlib.suppress(UnknownValueError):
            expression = text_of(call)
            by_kind.setdefault(kind, {}).setdefault(expression, call)
            sizes.setdefault(expression, []).append(sizes_of(call, dimensions))
    calls: dict[str, RepositoryCall] = {}
    for kind in KINDS:
        kept = _without_unfinished(by_kind.get(kind, {}))
        real = _without_shape_checks(kept) if kind == "test" else kept
        checks = {text: call for text, call in kept.items() if text not in real}
        for expression in (*_typical_first(real), *_typical_first(checks)):
            span = _span(kept[expression])
            bindings = typical_sizes(sizes[expression])
            calls.setdefault(expression, RepositoryCall(expression, span, kind, bindings))
    together: dict[str, str] = {}
    if fullest is not None:
        together = renderer.texts(dict(_values(fullest[1], inner, dimensions)))
    hints = {
        name: _first(together.get(name), [text for text, _ in one.most_common(_MAX_VALUES)])
        for name, one in values.items()
        if one
    }
    relations = () if fullest is None else fullest[1].relations
    known = () if fullest is None else _known_values(fullest[1], together)
    missing = Counter(name for _, call in found for name in call.missing)
    return Search(tuple(calls.values())[:_MAX_CALLS], hints, missing, relations, known)


def _span(call: GoalCall) -> Span:
    """The place of a call; its columns are those of `ast`, in bytes."""
    if call.site is None:
        return Span(0, 0, 0, 0, call.goal.path)
    node = call.site.node
    return Span(
        node.lineno,
        node.col_offset,
        node.end_lineno or node.lineno,
        node.end_col_offset or node.col_offset,
        call.site.path,
    )


def _known_values(call: GoalCall, texts: Mapping[str, str]) -> tuple[KnownValue, ...]:
    """The values of a call with its place; none if that is not known."""
    if call.site is None:
        return ()
    span = _span(call)
    return tuple(KnownValue(name, text, span) for name, text in texts.items())


def _first(text: str | None, texts: Sequence[str]) -> tuple[str, ...]:
    """`texts`, behind `text` if there is one."""
    return tuple(dict.fromkeys(texts if text is None else (text, *texts)))


def _values(
    call: GoalCall, inner: Sequence[str], dimensions: Sequence[Sequence[Parameter]]
) -> Iterator[tuple[str, Value]]:
    """What a call gives to parameters and, if some of them have no value, to dimensions."""
    yield from call.arguments.items()
    yield from _inner_arguments(call, inner)
    if call.missing:
        yield from sizes_of(call, dimensions).items()


def _has_modes_of(call: GoalCall, other: GoalCall) -> bool:
    """Whether the texts and flags among the arguments of two calls agree.

    A call in another mode may give a size that has no meaning there: no expert, one row.
    """
    return all(
        value == other.arguments.get(name, value)
        for name, value in call.arguments.items()
        if isinstance(value, (str, bool))
    )


def _inner_arguments(call: GoalCall, names: Sequence[str]) -> Iterator[tuple[str, Value]]:
    """The arguments of the call of what a factory of factories returns."""
    positional, named = call.inner or ([], {})
    if names and not any(isinstance(item, Tensor) for item in (*positional, *named.values())):
        yield from zip(names, positional, strict=False)
        yield from named.items()


def _without_unfinished(calls: Mapping[str, GoalCall]) -> dict[str, GoalCall]:
    """Those calls whose result is called, or that have no equal one whose result is."""
    finished = [expression for expression, call in calls.items() if call.inner is not None]
    return {
        expression: call
        for expression, call in calls.items()
        if not any(item.startswith(f"{expression}(") for item in finished)
    }


def _typical_first(calls: Mapping[str, GoalCall]) -> list[str]:
    """The expressions with the median size first, then by size; equal ones stay in order."""
    by_size = sorted(calls, key=lambda expression: _size(calls[expression]))
    if not by_size:
        return []
    median = _size(calls[by_size[len(by_size) // 2]])
    return sorted(by_size, key=lambda expression: _size(calls[expression]) != median)


def _without_shape_checks(calls: Mapping[str, GoalCall]) -> dict[str, GoalCall]:
    """The calls of tests without those that only check shapes, such as 2 x 8 x 4.

    These are the ones that do less than a part `_SHAPE_CHECK` of the work of the largest.
    """
    sizes = {expression: _size(call) for expression, call in calls.items()}
    least = max(sizes.values(), default=0.0) - _SHAPE_CHECK
    return {expression: call for expression, call in calls.items() if sizes[expression] >= least}


def _size(call: GoalCall) -> float:
    """The logarithm of the product of the sizes among the arguments, also of arrays.

    With them are those of the arrays that the compiled kernel is called with.
    """
    positional, named = call.inner or ([], {})
    values = (*call.arguments.values(), *positional, *named.values())
    shapes = [value.shape for value in values if isinstance(value, Tensor)]
    sizes = (*call.arguments.values(), *itertools.chain.from_iterable(shapes))
    return sum(math.log2(size) for size in sizes if type(size) is int and size > 1)
