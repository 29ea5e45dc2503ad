"""What a block of TVMScript does around its body, and how much of a function runs at least."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from equality import language as ir
from equality.points import Points
from equality.threads import Threads

_REDUCTION = 2


class Blocks(Threads):
    """What a block does around its body."""

    reducers: dict[str, str]
    layout: Callable[[Any, Points], tuple[list, Any]]

    def _asked(self, at: Points, *nodes: Any) -> Iterator[tuple[Points, Any]]:
        raise NotImplementedError

    def _run_SBlockRealize(self, node: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        block = node.block
        inner = at.child()
        for axis, bound in zip(block.iter_vars, node.iter_values, strict=True):
            variable = ir.key(axis.var)
            if self.asks(bound, inner):
                self.derived.add(variable)
                inner.columns[variable] = bound
            else:
                inner.columns[variable], data = self.value(bound, inner, self.times(inner))
                self.derive(variable, bound, data, inner)
        if ir.constant(node.predicate) in (True, 1):
            return self._run_SBlock(block, inner)
        for part, _ in self._asked(inner, node.predicate):
            yes, _ = self.holds(node.predicate, part, self.times(part))
            with self.chosen_by((node.predicate,), part):
                self._run_SBlock(block, part.take(yes))
        return None

    _run_BlockRealize = _run_SBlockRealize  # noqa: N815

    def _run_SBlock(self, block: Any, at: Points) -> np.ndarray | None:  # noqa: N802
        for buffer in block.alloc_buffers:
            self.view(buffer)
            self.allocate(buffer, at)
        for match in block.match_buffers:
            self.owners[ir.key(match.buffer)] = match.source
            self._bind_layout(match, at)
        annotations = dict(block.annotations.items())
        if "cluster_dims" in annotations:
            self.cluster = [int(size) for size in annotations["cluster_dims"]]
        for data, about in dict(annotations.get("reducer_info_v2", {}).items()).items():
            operation = str(about["op"])
            self.reducers[str(data.name)] = "add" if operation == "sum" else operation
        threads = annotations.get("tl.launch_threads")
        if threads is None and self.tiles and block.name_hint == "tilelang_root":
            # What the pipelines of GPUs launch if the source does not say (default_threads).
            threads = [128] if "blockIdx.x" in at.columns else None
        if threads is not None:
            return self.launched([int(extent) for extent in threads], block, at)
        if block.init is not None:
            self._init(block, at)
        return self.statement(block.body, at)

    def _bind_layout(self, match: Any, at: Points) -> None:
        """Binds the variables in the layout of a window, as TVM's LowerMatchBuffer does."""
        strides, start = self.layout(ir.buffer_of(match.source), at)
        corner = zip(match.source.region, strides, strict=True)
        start += sum(self.known(side.min, at) * stride for side, stride in corner)
        symbols = reversed(match.buffer.strides)
        pairs = [(match.buffer.elem_offset, start)]
        pairs += zip(symbols, reversed(strides), strict=False)
        for symbol, value in pairs:
            if ir.kind(symbol) in ("Var", "SizeVar"):
                at.columns[ir.key(symbol)] = value

    def _init(self, block: Any, at: Points) -> None:
        axes = [axis for axis in block.iter_vars if int(axis.iter_type) == _REDUCTION]
        for part, _ in self._asked(at, *(axis.var for axis in axes)):
            first = np.ones(part.size, dtype=bool)
            for axis in axes:
                first &= part.full(self.known(axis.var, part) == self.known(axis.dom.min, part))
            self.statement(block.init, part.take(first))


def least_points(node: Any, points: int = 1) -> int:
    """How often the innermost of those loops runs at least that stand under no condition.

    Threads are left out, for they need not be told apart.
    """
    name = ir.kind(node)
    if name == "SeqStmt":
        return max((least_points(part, points) for part in node.seq), default=points)
    if name == "For":
        binding = node.thread_binding
        tag = "" if binding is None else str(binding.thread_tag)
        extent = 1 if tag.startswith("threadIdx") else ir.constant(node.extent)
        return points if extent is None else least_points(node.body, points * int(extent))
    if name == "AttrStmt" and str(node.attr_key) == "thread_extent":
        threads = str(node.node.thread_tag).startswith("threadIdx")
        extent = 1 if threads else ir.constant(node.value)
        return points if extent is None else least_points(node.body, points * int(extent))
    if name in ("SBlockRealize", "BlockRealize"):
        always = ir.constant(node.predicate) in (True, 1)
        return least_points(node.block.body, points) if always else points
    body = getattr(node, "body", None)
    return points if body is None or name == "While" else least_points(body, points)
