"""The nodes of a kernel's body and the expressions in them, without what is inside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirlens_worker.facts import Branch, Expr, Let, Loop, Node, Statement, While


def every_node(body: Sequence[Node]) -> Iterator[Node]:
    """All nodes, each before those inside of it."""
    for node in body:
        yield node
        if isinstance(node, Loop | While):
            yield from every_node(node.body)
        elif isinstance(node, Branch):
            yield from every_node(node.then)
            yield from every_node(node.orelse)


def expressions(node: Node) -> Iterator[Expr]:
    """The expressions of a node itself; how much of its work is useful is not among them."""
    if isinstance(node, Loop):
        yield from (node.start, node.extent, node.step)
    elif isinstance(node, Branch | While):
        yield node.condition
    elif isinstance(node, Let):
        yield node.value
    else:
        yield from _of_statement(node)


def _of_statement(node: Statement) -> Iterator[Expr]:
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
