"""Arrays of offsets, which split the rows of others: taken to split them evenly.

``rows[offsets[i]:offsets[i + 1]]`` are the rows of sequence i of a batch of different lengths.
What the lengths are is data, but together they are all the rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tirlens_counting.expressions import linear, loads, simplify, substitute, to_text
from tirlens_worker.facts import (
    Branch,
    Caveat,
    Expr,
    KernelFacts,
    Let,
    Node,
    Statement,
)

from .facts_walk import node_expressions, replace_loads, walk_nodes


def split_rows_evenly(facts: KernelFacts) -> KernelFacts:
    """`facts` with every offset at its even place, and a caveat for each such array."""
    shapes = {item.id: item.shape for item in facts.buffers if item.scope == "global"}
    integers = {
        item.id
        for item in facts.buffers
        if item.id in shapes and len(item.shape) == 1 and item.dtype.startswith("int")
    }
    if not integers:
        return facts
    loaded = set(_loads_in(facts.body))
    candidates = {
        name
        for _, name, *index in loaded
        if name in integers and ("load", name, ("+", index[0], 1)) in loaded
    }
    rows = _split_dimensions(facts.body, {}, candidates, shapes) if candidates else {}
    if not rows:
        return facts
    steps: dict[str, Expr] = {
        name: simplify(("//", size, ("-", shapes[name][0], 1))) for name, size in rows.items()
    }
    notes = tuple(
        Caveat(f"{name} is data: taken to split {to_text(rows[name])} rows evenly")
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
    """The size of the dimension in which each array's values are the start of something."""
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
            inside = node.then + node.orelse if isinstance(node, Branch) else node.body
            found = {**_split_dimensions(inside, lets, candidates, shapes), **found}
    return found


def _loaded_array(expr: Expr) -> Any:
    """The array of which `expr` is an element, else None."""
    return expr[1] if isinstance(expr, tuple) and expr[0] == "load" else None
