"""The indices that a function of apache-tvm names for its blocks and threads, all at its start.

``tirx/exec_scope.h`` and what ``LowerTIRx`` makes of them: a block's index among all is that of its
cluster times the blocks of one and its own index in it; threads are numbered through, and groups of
them follow from the number.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from equality import language as ir
from equality.calls import Calls
from equality.language import RefusedError
from equality.points import Points

_BLOCKS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
_CLUSTER, _ALL, _IN_CLUSTER, _IN_PAIR = _OF_BLOCKS = (0, 1, 2, 9)


class Scopes(Calls):
    """Indices by name."""

    def exec_scopes(self, start: Points) -> Iterator[Points]:
        """The points of all blocks, for functions that name their indices (`T.cta_id`)."""
        defined = [node for node in self.nodes if ir.kind(node) == "ScopeIdDefStmt"]
        if not defined:
            yield start
            return
        extents: dict[int, list[int]] = {}
        variables: dict[int, list[int]] = {}
        for node in defined:
            definition = getattr(node, "def")
            scope = int(definition.scope)
            if scope in extents:
                raise RefusedError("an index that is defined twice")
            if definition.extents is None and scope != _IN_PAIR:
                raise RefusedError("an index without an extent")
            sizes = [2] if definition.extents is None else definition.extents
            extents[scope] = [int(self.known(size, start)) for size in sizes]
            variables[scope] = [ir.key(variable) for variable in definition.def_ids]
        parts = [start]
        for axis, size in enumerate(_grid(extents)):
            parts = [inner for part in parts for inner in part.expanded(_BLOCKS[axis], 0, size, 1)]
        threads = _threads(extents)
        for part in parts:
            _name_blocks(part, extents, variables)
            yield self._in_block(part, extents, variables, threads)

    def _in_block(self, at: Points, extents: dict, variables: dict, threads: int) -> Points:
        inner = at.child()
        if threads == 1 and not set(extents) - set(_OF_BLOCKS):
            return inner
        self.threads = threads
        self.requests.threads = {ir.THREADS[0]: threads}
        (inner,) = list(
            Points(at.size, at.columns, ((ir.THREADS[0], threads),), at.threads).with_threads()
        )
        thread = inner.columns[ir.THREADS[0]]
        views = {3: thread // 128, 4: thread // 32, 5: thread // 32 % 4, 6: thread % 32,
                 7: thread, 8: thread % 128}  # fmt: skip
        for scope, names in variables.items():
            if scope in _OF_BLOCKS:
                continue
            rest = views[scope]
            for name, size in zip(names, extents[scope], strict=True):
                inner.columns[name] = rest % size if len(names) > 1 else rest
                rest = rest // size
                inner.threads |= {name}
        return inner

    def _run_ScopeIdDefStmt(self, node: Any, at: Points) -> None:  # noqa: N802
        """Its variables have their values from the start."""


def _grid(extents: dict[int, list[int]]) -> list[int]:
    """The blocks along each axis."""
    if _ALL in extents:
        return extents[_ALL]
    clusters, parts = extents.get(_CLUSTER, [1]), extents.get(_IN_CLUSTER, [1])
    if _CLUSTER in extents and _IN_CLUSTER in extents and len(clusters) != len(parts):
        raise RefusedError("clusters of another rank")
    longest = max(len(clusters), len(parts))
    clusters, parts = (some + [1] * (longest - len(some)) for some in (clusters, parts))
    return [one * other for one, other in zip(clusters, parts, strict=True)]


def _name_blocks(at: Points, extents: dict[int, list[int]], variables: dict) -> None:
    sizes = extents.get(_IN_CLUSTER, [])
    rank: Any = 0
    for axis in reversed(range(len(sizes))):
        rank = rank * sizes[axis] + at.columns.get(_BLOCKS[axis], 0) % sizes[axis]
    for scope in set(variables) & set(_OF_BLOCKS):
        for axis, name in enumerate(variables[scope]):
            index = at.columns.get(_BLOCKS[axis], 0)
            size = sizes[axis] if axis < len(sizes) else 1
            of = {_CLUSTER: index // size, _ALL: index, _IN_CLUSTER: index % size}
            at.columns[name] = of.get(scope, rank % 2)


def _threads(extents: dict[int, list[int]]) -> int:
    def size(scope: int, otherwise: int) -> int:
        return int(np.prod(extents[scope])) if scope in extents else otherwise

    lanes = size(6, 32)
    group = size(8, size(5, 4) * lanes)
    for scope, each in ((7, 1), (4, lanes), (3, group), (8, 1), (5, lanes)):
        if scope in extents:
            return size(scope, 1) * each
    return size(6, 1)
