"""Loops over blocks and threads."""

from __future__ import annotations

from typing import Tuple

from ...facts import Expr, Loop, LoopKind, Node, Span
from ..symbolic.expression_text import text


def bound_loop(
    name: str, tag: str, extent: Expr, body: Tuple[Node, ...], sites: Tuple[Span, ...]
) -> Loop:
    """The loop over a grid's, cluster's or block's index."""
    kind: LoopKind
    if tag.startswith("blockIdx"):
        kind = "grid"
    elif tag.startswith("cluster"):
        kind = "cluster"
    else:
        kind = "unroll" if tag.startswith("vthread") else "block"
    label = "{} = {}({})".format(name, tag, text(extent))
    return Loop(kind, name, 0, extent, body, tag=tag, label=label, sites=sites)


def product(left: Expr, right: Expr) -> Expr:
    """The product, without multiplications by one."""
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 1:
        return right
    return left if right == 1 else ("*", left, right)
