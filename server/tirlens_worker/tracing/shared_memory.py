"""Shared memory of a block of a kernel with assumed arguments, which shows sizes that do not fit.

As in ``tirlens.model``: arrays that are never live at the same time share memory, and an array that
a pipelined loop loads from global memory exists once a stage.  Source: tilelang,
``src/transform/merge_shared_memory_allocations.cc`` and ``src/transform/inject_pipeline.cc``.
"""

from __future__ import annotations

import math
from typing import Dict, Iterator, List, Tuple

from ..facts import Branch, Buffer, KernelFacts, Let, Loop, Node, Statement, While
from .plausible_work import bits

_AROUND_A_BLOCK = frozenset(["grid", "cluster", "block"])
_OTHER_SCOPES = frozenset(["shared.barrier", "shared.cluster_barrier", "shared.tmem"])


def shared_bytes(facts: KernelFacts) -> int:
    """The most bytes of shared memory that are in use at the same time.

    Arrays of unknown size are left out.
    """
    buffers = {buffer.id: buffer for buffer in facts.buffers}
    live: Dict[str, List[int]] = {}
    copies: Dict[str, int] = {}
    parts = _code_of_a_block(facts.body)
    for number, part in enumerate(parts):
        for statement, stages in _statements((part,), 1):
            shared = [access for access in statement.accesses if _is_shared(buffers, access.buffer)]
            loads = any(
                access.mode == "read" and buffers[access.buffer].scope == "global"
                for access in statement.accesses
            )
            for access in shared:
                name = buffers[access.buffer].alias_of or access.buffer
                live.setdefault(name, []).append(number)
                if loads and access.mode == "write":
                    copies[name] = max(copies.get(name, 1), stages)
    sizes = {name: _bytes(buffers[name]) * copies.get(name, 1) for name in live}
    return max(
        (
            sum(sizes[name] for name, used in live.items() if used[0] <= number <= used[-1])
            for number in range(len(parts))
        ),
        default=0,
    )


def _code_of_a_block(nodes: Tuple[Node, ...]) -> Tuple[Node, ...]:
    while len(nodes) == 1 and isinstance(nodes[0], Loop) and nodes[0].kind in _AROUND_A_BLOCK:
        nodes = nodes[0].body
    return nodes


def _statements(nodes: Tuple[Node, ...], stages: int) -> Iterator[Tuple[Statement, int]]:
    """The statements, each with the stages of the pipelined loops around it."""
    for node in nodes:
        if isinstance(node, Loop):
            written = node.annotations.get("num_stages") if node.kind == "pipelined" else None
            inner = max(stages, written) if isinstance(written, int) else stages
            yield from _statements(node.body, inner)
        elif isinstance(node, Branch):
            yield from _statements(node.then + node.orelse, stages)
        elif isinstance(node, While):
            yield from _statements(node.body, stages)
        elif not isinstance(node, Let):
            yield node, stages


def _is_shared(buffers: Dict[str, Buffer], name: str) -> bool:
    scope = buffers[name].scope
    return scope.startswith("shared") and scope not in _OTHER_SCOPES


def _bytes(buffer: Buffer) -> int:
    extents = [extent for extent in buffer.shape if isinstance(extent, int)]
    if len(extents) < len(buffer.shape):
        return 0
    return math.prod(extents) * bits(buffer.dtype) // 8
