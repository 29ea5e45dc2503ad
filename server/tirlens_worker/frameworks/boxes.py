"""What copies move whose tensor maps keep their boxes to themselves, once all of them are known."""

from __future__ import annotations

from dataclasses import replace
from typing import Mapping, Tuple

from ..facts import Access, Branch, Expr, Loop, Node, Statement, While
from ..ops.intrinsics.tensor_map import as_row

Boxes = Mapping[str, Tuple[Expr, ...]]


def boxed(nodes: Tuple[Node, ...], boxes: Boxes) -> Tuple[Node, ...]:
    """`nodes` with the copies of these arrays as large as the least of each array's."""
    return tuple(_boxed(node, boxes) for node in nodes) if boxes else nodes


def _boxed(node: Node, boxes: Boxes) -> Node:
    if isinstance(node, (Loop, While)):
        return replace(node, body=boxed(node.body, boxes))
    if isinstance(node, Branch):
        return replace(node, then=boxed(node.then, boxes), orelse=boxed(node.orelse, boxes))
    if not isinstance(node, Statement):
        return node
    box = next((boxes[one.buffer] for one in node.accesses if one.buffer in boxes), None)
    if box is None:
        return node
    return replace(node, accesses=tuple(_resized(one, box, boxes) for one in node.accesses))


def _resized(access: Access, box: Tuple[Expr, ...], boxes: Boxes) -> Access:
    extents = box if access.buffer in boxes else as_row(box, len(access.extents))
    return replace(access, extents=extents)
