"""Statements that all threads of an axis execute, because no loop over its index encloses them.

The index of a thread is that of the whole kernel: a statement outside of the loops over it, such as
a product by a warp beside copies by its lanes, is executed by every thread of the axis.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Dict, Iterator, List, Mapping, Tuple

from ...facts import Branch, Expr, Let, Loop, Node, While
from ..ir import dialect
from ..state.bound_loops import bound_loop

Nodes = Tuple[Node, ...]


def thread_extents(body: Any) -> Mapping[str, int]:
    """The largest constant extent of each index of threads that loops in `body` bind."""
    found: Dict[str, int] = {}
    for tag, extent in _bindings(body):
        size = getattr(extent, "value", None)
        if tag in dialect.THREAD_TAGS and isinstance(size, int):
            found[tag] = max(found.get(tag, 1), size)
    return found


def _bindings(body: Any) -> Iterator[Tuple[str, Any]]:
    for stmt in dialect.statements(body):
        if dialect.kind(stmt) == "For" and stmt.thread_binding is not None:
            yield str(stmt.thread_binding.thread_tag), stmt.extent
        elif dialect.kind(stmt) == "AttrStmt" and str(stmt.attr_key) == "thread_extent":
            yield str(stmt.node.thread_tag), stmt.value


def add_implied_loops(nodes: Nodes, tag: str, name: str, extent: Expr) -> Nodes:
    """`nodes` with those outside of the loops over `tag` in loops over all its values."""
    found: List[Node] = []
    outside: List[Node] = []

    def close() -> None:
        if outside:
            sites = next((node.sites for node in outside if node.sites), ())
            found.append(bound_loop(name, tag, extent, tuple(outside), sites))
            outside.clear()

    for node in nodes:
        if _has_loop(node, tag):
            close()
            found.append(_inside(node, tag, name, extent))
        elif isinstance(node, Let):
            # A name is that of the nodes behind it.
            close()
            found.append(node)
        else:
            outside.append(node)
    close()
    return tuple(found)


def _inside(node: Node, tag: str, name: str, extent: Expr) -> Node:
    if isinstance(node, Branch):
        return replace(
            node,
            then=add_implied_loops(node.then, tag, name, extent),
            orelse=add_implied_loops(node.orelse, tag, name, extent),
        )
    if isinstance(node, While) or (isinstance(node, Loop) and node.tag != tag):
        return replace(node, body=add_implied_loops(node.body, tag, name, extent))
    return node


def _has_loop(node: Node, tag: str) -> bool:
    if isinstance(node, Branch):
        return any(_has_loop(one, tag) for one in (*node.then, *node.orelse))
    if isinstance(node, (Loop, While)):
        is_one = isinstance(node, Loop) and node.tag == tag
        return is_one or any(_has_loop(one, tag) for one in node.body)
    return False
