"""The nodes of a kernel's body and the expressions in them, without what is inside."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, cast

from tirlens_worker.facts import Branch, Expr, Let, Loop, Node, Statement, While


def walk_nodes(body: Sequence[Node]) -> Iterator[Node]:
    """All nodes, each before those inside of it."""
    for node in body:
        yield node
        if isinstance(node, Loop | While):
            yield from walk_nodes(node.body)
        elif isinstance(node, Branch):
            yield from walk_nodes(node.then)
            yield from walk_nodes(node.orelse)


def node_expressions(node: Node) -> Iterator[Expr]:
    """The expressions of a node itself; how much of its work is useful is not among them."""
    if isinstance(node, Loop):
        yield from (node.start, node.extent, node.step)
    elif isinstance(node, Branch | While):
        yield node.condition
    elif isinstance(node, Let):
        yield node.value
    else:
        yield from _statement_expressions(node)


def _statement_expressions(node: Statement) -> Iterator[Expr]:
    for access in node.accesses:
        yield from access.indices
        yield from access.extents
        if access.guard is not None:
            yield access.guard
    for item in node.arith:
        yield item.count
        yield from item.shape
        if item.guard is not None:
            yield item.guard


def replace_loads(value: Any, places: Mapping[str, tuple[Expr, Expr]]) -> Any:
    """`value`, nodes or an expression, with the loads of some arrays of one dimension replaced.

    `places` has two expressions for each of them: the element at an index is the first times the
    index plus the second.
    """
    if isinstance(value, tuple):
        parts = cast("tuple[Any, ...]", value)
        if len(parts) == 3 and parts[0] == "load" and parts[1] in places:
            step, start = places[parts[1]]
            return ("+", ("*", replace_loads(parts[2], places), step), start) if step else start
        return tuple(replace_loads(part, places) for part in parts)
    if is_dataclass(value) and not isinstance(value, type):
        changed = {
            item.name: new
            for item in fields(value)
            if (new := replace_loads(old := getattr(value, item.name), places)) is not old
            and new != old
        }
        return replace(value, **changed) if changed else value
    return value
