"""The threads of a block: which of them satisfy a condition, and programs without names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tirlens.advice import rewrite
from tirlens.model.tree.context import THREADS
from tirlens_counting.expressions import (
    UnknownValueError,
    evaluate,
    free_variables,
    is_data_dependent,
    simplify,
    substitute,
)
from tirlens_worker.facts import Branch, Expr, KernelFacts, Let, Loop, Node, While


@dataclass(frozen=True)
class Threads:
    """The axes of a block's threads with their extents, threadIdx.x first.

    A warp of the device has `warp_size` of them.
    """

    axes: tuple[tuple[str, int], ...]
    warp_size: int

    @property
    def count(self) -> int:
        """The threads of a block."""
        total = 1
        for _, extent in self.axes:
            total *= extent
        return total

    @property
    def names(self) -> frozenset[str]:
        """The variables of the axes."""
        return frozenset(name for name, _ in self.axes)

    @property
    def number(self) -> Expr:
        """The number of a thread in its block, by which warps are formed."""
        terms: list[Expr] = []
        below = 1
        for name, extent in self.axes:
            terms.append(("*", name, below))
            below *= extent
        return simplify(("+", *terms, 0))

    @cached_property
    def _values(self) -> list[dict[str, int]]:
        found: list[dict[str, int]] = [{}]
        for name, extent in reversed(self.axes):
            found = [{**outer, name: value} for outer in found for value in range(extent)]
        return found

    def where(self, condition: Expr) -> list[int] | None:
        """The numbers of the threads for which `condition` holds.

        None where it depends on anything but the thread.
        """
        if not free_variables(condition) or not free_variables(condition) <= self.names:
            return None
        try:
            return [
                number for number, values in enumerate(self._values) if evaluate(condition, values)
            ]
        except UnknownValueError:
            return None


def threads_of(facts: KernelFacts, warp_size: int) -> Threads | None:
    """The threads of a block; None where a loop over them is repeated or of unknown extent."""
    found: dict[str, tuple[str, int]] = {}
    for loop, _ in rewrite.loops(facts):
        if loop.kind == "block":
            if loop.tag not in THREADS or loop.tag in found or type(loop.extent) is not int:
                return None
            found[loop.tag] = (loop.var, loop.extent)
    axes = tuple(found[tag] for tag in THREADS if tag in found)
    return Threads(axes, warp_size) if axes else None


def with_names_replaced(facts: KernelFacts) -> KernelFacts:
    """`facts` with the values of names in place of the names, but for loaded values."""
    return replace(facts, body=_replace_names(facts.body, {}))


def _replace_names(body: Sequence[Node], names: Mapping[str, Expr]) -> tuple[Node, ...]:
    known = dict(names)
    found: list[Node] = []
    for node in body:
        if isinstance(node, Let):
            value = simplify(substitute(node.value, known))
            if is_data_dependent(value):
                found.append(replace(node, value=value))
            else:
                known[node.var] = value
            continue
        if known:
            node = rewrite.with_expressions(node, lambda one: simplify(substitute(one, known)))
        if isinstance(node, Loop | While):
            node = replace(node, body=_replace_names(node.body, known))
        elif isinstance(node, Branch):
            then, orelse = _replace_names(node.then, known), _replace_names(node.orelse, known)
            node = replace(node, then=then, orelse=orelse)
        found.append(node)
    return tuple(found)
