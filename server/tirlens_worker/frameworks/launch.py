"""How a function is spread over blocks and threads: the bindings that its walk meets."""

from __future__ import annotations

import re
from typing import Dict, List, Optional, Tuple

from ..facts import Expr, Launch, Loop, Node, Span
from . import dialect
from .text import text

#: ``ScopeIdDef.scope`` of apache-tvm's exec scopes (``ScopeBinding`` in tvm/tirx/exec_scope.h);
#: every other value is an index of threads within a block.
_CTA_SCOPES = {0: "cluster", 1: "grid", 2: "cluster"}
_SCOPE_TAGS = {"grid": "blockIdx", "cluster": "clusterCtaIdx"}

#: ``("rasterization2DRow", 10)`` of T.use_swizzle (tilelang/language/annotations.py).
_PANEL = re.compile(r"(Row|Column)\D+(\d+)")


class Bindings:
    """Extents by thread tag, and which loop variable holds an index at the moment."""

    def __init__(self) -> None:
        self.active: Dict[str, str] = {}
        self.thread_names: Dict[int, str] = {}
        self._extents: Dict[str, Expr] = {}
        self._scopes: List[Tuple[str, str, Expr, str]] = []
        self._panel: Tuple[Optional[int], str] = (None, "row")

    def bind(self, tag: str, extent: Expr) -> None:
        """`tag` runs over `extent`; of several loops over one tag the largest counts."""
        self._extents[tag] = _larger(self._extents.get(tag), extent)

    def rasterise(self, pattern: str) -> bool:
        """Notes a block rasterisation; whether `pattern` was understood."""
        found = _PANEL.search(pattern)
        if found is not None:
            self._panel = (int(found.group(2)), found.group(1).lower())
        return found is not None

    def open_scope(self, name: str, scope: int, axis: int, extent: Expr) -> None:
        """An exec-scope index, which holds for all of the function that follows."""
        kind = _CTA_SCOPES.get(scope, "block")
        tag = "{}.{}".format(_SCOPE_TAGS.get(kind, "scope%d" % scope), "xyz"[axis % 3])
        self._scopes.append((name, tag, extent, kind))

    def close_scopes(self, nodes: Tuple[Node, ...]) -> Tuple[Node, ...]:
        """The function's nodes inside the loops of its exec-scope indices."""
        threads: Expr = 1
        for name, tag, extent, kind in reversed(self._scopes):
            if kind == "block":
                threads = _product(threads, extent)
            elif kind == "grid":
                self.bind(tag, extent)
            nodes = (bound_loop(name, tag, extent, nodes, ()),)
        if threads != 1:
            self.bind(dialect.THREAD_TAGS[0], threads)
        return nodes

    def threads_per_block(self) -> Expr:
        total: Expr = 1
        for tag in dialect.THREAD_TAGS:
            total = _product(total, self._extents.get(tag, 1))
        return total

    def launch(self) -> Launch:
        grid, threads = self._axes(dialect.BLOCK_TAGS), self._axes(dialect.THREAD_TAGS)
        if threads and not grid:
            grid = (1, 1, 1)
        if grid and not threads:
            threads = (1, 1, 1)
        panel, order = self._panel
        return Launch(grid=grid, threads=threads, panel=panel, panel_order=order)

    def _axes(self, tags: Tuple[str, ...]) -> Tuple[Expr, ...]:
        if not any(tag in self._extents for tag in tags):
            return ()
        return tuple(self._extents.get(tag, 1) for tag in tags)


def bound_loop(
    name: str, tag: str, extent: Expr, body: Tuple[Node, ...], sites: Tuple[Span, ...]
) -> Loop:
    """The loop over a grid's, cluster's or block's index."""
    if tag.startswith("blockIdx"):
        kind = "grid"
    elif tag.startswith("cluster"):
        kind = "cluster"
    else:
        kind = "unroll" if tag.startswith("vthread") else "block"
    label = "{} = {}({})".format(name, tag, text(extent))
    return Loop(kind, name, 0, extent, body, tag=tag, label=label, sites=sites)


def _product(left: Expr, right: Expr) -> Expr:
    if isinstance(left, int) and isinstance(right, int):
        return left * right
    if left == 1:
        return right
    return left if right == 1 else ("*", left, right)


def _larger(left: Optional[Expr], right: Expr) -> Expr:
    if left is None or left == right:
        return right
    if isinstance(left, int) and isinstance(right, int):
        return max(left, right)
    return ("max", left, right)
