"""Trip counts of ``while`` loops that depend on data, assumed by the form of their condition.

They are the bindings ``while_1``, ``while_2`` ... of a kernel, by the order of its loops.
"""

from __future__ import annotations

from typing import Iterable, Iterator, Mapping, NamedTuple, Optional, Set, Tuple, cast

from ..facts import Branch, Expr, KernelFacts, Loop, Node, While

_COMPARISONS = ("<", "<=", ">", ">=", "!=")
# A binary search in a table of 4096 entries, and one between floating-point bounds.
_SEARCH, _BISECTION = 12, 16
# A scan that ends at a number ends there, if that is small.
_MOST_OF_A_SCAN = 64
_OTHER = 8


class AssumedLoop(NamedTuple):
    """The assumed trip count of a loop: `name` is that of its binding."""

    name: str
    loop: While
    trips: int


def assumed_trips(facts: KernelFacts, sizes: Mapping[str, int]) -> Tuple[AssumedLoop, ...]:
    """The loops whose trip counts no fact gives, in the order of the kernel."""
    found = enumerate(_loops(facts.body, frozenset()), 1)
    known = {**facts.sizes, **sizes}
    return tuple(
        AssumedLoop("while_{}".format(number), loop, _trips(loop.condition, shared, known))
        for number, (loop, shared) in found
    )


def _loops(nodes: Iterable[Node], outer: "frozenset[str]") -> Iterator[Tuple[While, bool]]:
    """The loops, and whether each tests what the condition of a loop around it tests."""
    for node in nodes:
        if isinstance(node, While):
            tested = frozenset(_arrays(node.condition))
            yield node, bool(tested & outer)
            yield from _loops(node.body, outer | tested)
        elif isinstance(node, Loop):
            yield from _loops(node.body, outer)
        elif isinstance(node, Branch):
            yield from _loops((*node.then, *node.orelse), outer)


def _trips(condition: Expr, is_shared: bool, sizes: Mapping[str, int]) -> int:
    if is_shared:
        # The loop around it counts these iterations already.
        return 1
    bounds = [
        bound
        for part in _conjuncts(condition)
        for bound in (_trips_of_comparison(part, sizes),)
        if bound is not None
    ]
    return min(bounds, default=_OTHER)


def _trips_of_comparison(part: Expr, sizes: Mapping[str, int]) -> Optional[int]:
    if not isinstance(part, tuple) or part[0] not in _COMPARISONS:
        return None
    left, right = part[1], part[2]
    if _has_float(left) or _has_float(right):
        return _BISECTION
    if _is_load(left) and _is_load(right):
        return _SEARCH
    bound = sizes.get(right) if isinstance(right, str) else right
    if type(bound) is int and 0 < bound <= _MOST_OF_A_SCAN:
        return bound
    return None


def _conjuncts(condition: Expr) -> Iterator[Expr]:
    if isinstance(condition, tuple) and condition[0] == "and":
        for part in condition[1:]:
            yield from _conjuncts(part)
    else:
        yield condition


def _is_load(expr: Expr) -> bool:
    return isinstance(expr, tuple) and expr[0] == "load"


def _has_float(expr: Expr) -> bool:
    if isinstance(expr, tuple):
        return any(map(_has_float, cast("Tuple[Expr, ...]", expr[1:])))
    return isinstance(expr, float)


def _arrays(expr: Expr) -> Set[str]:
    """The arrays of which the value of an expression depends."""
    if not isinstance(expr, tuple):
        return set()
    found: Set[str] = {str(expr[1])} if expr[0] == "load" else set()
    for part in cast("Tuple[Expr, ...]", expr[1:]):
        found |= _arrays(part)
    return found
