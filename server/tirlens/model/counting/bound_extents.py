"""Sizes that data decide and that somebody has told by binding a loop over them to a number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens_counting.expressions import is_data_dependent, linear, operands, simplify, substitute
from tirlens_worker.facts import Branch, Expr, KernelFacts, Let, Loop, Node, While

from .facts_walk import walk_nodes


def bind_data_extents(facts: KernelFacts, bindings: Mapping[str, int]) -> KernelFacts:
    """`facts` whose branches know what is in the extents of the loops that `bindings` names.

    A loop over ``ceil(length / 64)`` whose turns are told leaves no doubt about a branch on
    ``turn + 4 < ceil(length / 64)`` in it, or before it.
    """
    hand_bound = any(
        isinstance(node, Loop) and node.var in bindings for node in walk_nodes(facts.body)
    )
    if not hand_bound:
        return facts
    values: dict[Expr, int] = {}
    _collect_values(facts.body, {}, bindings, values)
    return replace(facts, body=_substitute_in_nodes(facts.body, {}, values)) if values else facts


def _collect_values(
    nodes: Sequence[Node],
    lets: Mapping[str, Expr],
    bindings: Mapping[str, int],
    values: dict[Expr, int],
) -> None:
    """The value of what stands in extents, without a factor and a summand."""
    for node in nodes:
        if isinstance(node, Let):
            lets = {**lets, node.var: substitute(node.value, lets)}
            continue
        if isinstance(node, Loop) and node.var in bindings:
            terms, constant = linear(simplify(substitute(node.extent, lets)))
            if len(terms) == 1:
                ((atom, factor),) = terms.items()
                value, rest = divmod(bindings[node.var] - constant, factor)
                if is_data_dependent(atom) and not rest:
                    values.setdefault(atom, value)
        for body in _bodies(node):
            _collect_values(body, lets, bindings, values)


def _bodies(node: Node) -> tuple[Sequence[Node], ...]:
    if isinstance(node, Branch):
        return node.then, node.orelse
    return (node.body,) if isinstance(node, (Loop, While)) else ()


def _substitute_in_nodes(
    nodes: Sequence[Node], lets: Mapping[str, Expr], values: Mapping[Expr, int]
) -> tuple[Node, ...]:
    found: list[Node] = []
    for node in nodes:
        if isinstance(node, Let):
            lets = {**lets, node.var: substitute(node.value, lets)}
        elif isinstance(node, Branch):
            condition = simplify(substitute(node.condition, lets))
            known = _substitute_values(condition, values)
            node = replace(
                node,
                condition=node.condition if known == condition else simplify(known),
                then=_substitute_in_nodes(node.then, lets, values),
                orelse=_substitute_in_nodes(node.orelse, lets, values),
            )
        elif isinstance(node, (Loop, While)):
            node = replace(node, body=_substitute_in_nodes(node.body, lets, values))
        found.append(node)
    return tuple(found)


def _substitute_values(expr: Expr, values: Mapping[Expr, int]) -> Expr:
    if not isinstance(expr, tuple):
        return expr
    if expr in values:
        return values[expr]
    parts = operands(expr)
    head = expr[: len(expr) - len(parts)]
    return head + tuple(_substitute_values(part, values) for part in parts)
