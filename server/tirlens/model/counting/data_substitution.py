"""Data that is replaced by known or assumed values before anything is counted.

A binding of a loop over ``ceil(length / 64)`` also resolves the branches on that length.  Arrays
of offsets are assumed to split the rows of other arrays evenly: ``rows[offsets[i]:offsets[i + 1]]``
are the rows of sequence i of a batch, and together they are all the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tirlens_counting.expressions import (
    is_data_dependent,
    linear,
    loads,
    operands,
    simplify,
    substitute,
    to_text,
)
from tirlens_worker.facts import (
    Branch,
    Caveat,
    Expr,
    KernelFacts,
    Let,
    Loop,
    Node,
    Statement,
    While,
)

from .facts_walk import node_expressions, replace_loads, walk_nodes


def bind_data_extents(facts: KernelFacts, bindings: Mapping[str, int]) -> KernelFacts:
    """`facts` with the data in the extents of bound loops resolved in all branches.

    Binding the trip count of a loop over ``ceil(length / 64)`` resolves a branch on
    ``i + 4 < ceil(length / 64)`` inside or before the loop.
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
    """Solve ``factor * data + constant == bound`` for the data in each bound extent."""
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


def split_rows_evenly(facts: KernelFacts) -> KernelFacts:
    """`facts` with offsets that split rows evenly, and a caveat for each array of offsets."""
    shapes = {item.id: item.shape for item in facts.buffers if item.scope == "global"}
    integers = {
        item.id
        for item in facts.buffers
        if item.id in shapes and len(item.shape) == 1 and item.dtype.startswith("int")
    }
    if not integers:
        return facts
    loaded = {
        (name, frozenset(terms.items()), constant)
        for _, name, *index in _loads_in(facts.body)
        if name in integers
        for terms, constant in (linear(simplify(index[0])),)
    }
    candidates = {name for name, terms, constant in loaded if (name, terms, constant + 1) in loaded}
    rows = _split_dimensions(facts.body, {}, candidates, shapes) if candidates else {}
    if not rows:
        return facts
    steps: dict[str, Expr] = {
        name: simplify(("//", size, ("-", shapes[name][0], 1))) for name, size in rows.items()
    }
    notes = tuple(
        Caveat(f"{name} is data: assumed to split {to_text(rows[name])} rows evenly")
        for name in sorted(rows)
    )
    places: dict[str, tuple[Expr, Expr]] = {name: (step, 0) for name, step in steps.items()}
    body = replace_loads(facts.body, places)
    return replace(facts, body=body, caveats=(*facts.caveats, *notes))


def _loads_in(body: Sequence[Node]) -> Iterator[tuple[Any, ...]]:
    for node in walk_nodes(body):
        for expr in node_expressions(node):
            yield from loads(expr)


def _split_dimensions(
    nodes: Sequence[Node],
    lets: Mapping[str, Expr],
    candidates: set[str],
    shapes: Mapping[str, Sequence[Expr]],
) -> dict[str, Expr]:
    """The size of the dimension that each array of offsets splits."""
    found: dict[str, Expr] = {}
    for node in nodes:
        if isinstance(node, Let):
            lets = {**lets, node.var: substitute(node.value, lets)}
        elif isinstance(node, Statement):
            for access in node.accesses:
                for index, size in zip(access.indices, shapes.get(access.buffer, ()), strict=False):
                    terms, _ = linear(simplify(substitute(index, lets)))
                    for atom, factor in terms.items():
                        if factor == 1 and _loaded_array(atom) in candidates:
                            found.setdefault(str(_loaded_array(atom)), size)
        else:
            start = substitute(node.start, lets) if isinstance(node, Loop) else 0
            if isinstance(node, Loop) and is_data_dependent(start):
                # The rows of ``for j in range(offsets[i], offsets[i + 1])``.
                lets = {**lets, node.var: ("+", start, ("*", node.step, node.var))}
            inside = node.then + node.orelse if isinstance(node, Branch) else node.body
            found = {**_split_dimensions(inside, lets, candidates, shapes), **found}
    return found


def _loaded_array(expr: Expr) -> Any:
    """The array that `expr` loads from, else None."""
    return expr[1] if isinstance(expr, tuple) and expr[0] == "load" else None
