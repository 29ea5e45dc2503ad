"""Facts of a kernel that no text has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tirlens_worker.facts import Buffer, KernelFacts, Launch, Loop, Node, Span

_NOWHERE = Span(1, 0, 1, 0)
SITES = (_NOWHERE,)
"""The place of a statement that is in no text."""


@dataclass(frozen=True)
class Candidate:
    """A kernel that does a job, and how it does it, in words."""

    facts: KernelFacts
    description: str


def kernel_facts(
    body: Sequence[Node],
    buffers: Sequence[Buffer],
    grid: tuple[int, int, int],
    threads: int,
    panel: int | None = None,
) -> KernelFacts:
    """A kernel of tilelang whose blocks (`bx`, `by`, `bz`) of `threads` (`tx`) execute `body`.

    `panel` as in `Launch`.
    """
    axes = [("block", "tx", threads, "threadIdx.x")]
    axes += [
        ("grid", f"b{axis}", extent, f"blockIdx.{axis}")
        for axis, extent in zip("zyx", reversed(grid), strict=True)
    ]
    nodes = tuple(body)
    for kind, name, extent, tag in axes:
        nodes = (Loop(kind, name, 0, extent, nodes, tag=tag, sites=SITES),)  # pyright: ignore[reportArgumentType]
    return KernelFacts(
        name="structure",
        definition="structure",
        span=_NOWHERE,
        framework="tilelang",
        framework_version="",
        call="structure()",
        call_source="module-level",
        variables=(),
        buffers=tuple(buffers),
        launch=Launch(grid, (threads, 1, 1), panel=panel),
        body=nodes,
    )
