"""Facts of a kernel that no text has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tirlens_worker.facts import (
    Access,
    Arith,
    Buffer,
    Copy,
    Expr,
    Fill,
    Gemm,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Span,
)

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


def tile_access(name: str, mode: Literal["read", "write"], box: tuple[int, ...]) -> Access:
    """The whole of a tile in shared memory or registers."""
    return Access(name, mode, (0,) * len(box), box, route="tile")


def copy(source: Access, target: Access, *arith: Arith) -> Copy:
    """A copy of a tile by the threads of a block."""
    return Copy(label="T.copy", arith=arith, accesses=(source, target), per="block", sites=SITES)


def load(source: str, corner: tuple[Expr, Expr, Expr], target: str, box: tuple[int, int]) -> Copy:
    """A tile of a three-dimensional array in global memory, brought to shared memory."""
    read = Access(source, "read", corner, (1, *box), clipped=True, route="tile")
    return copy(read, tile_access(target, "write", box))


def store_by_shared(
    source: str, shared: str, target: str, corner: tuple[Expr, Expr, Expr], box: tuple[int, int]
) -> tuple[Copy, Copy]:
    """A tile in registers through shared memory to global memory, in whole rows."""
    written = Access(target, "write", corner, (1, *box), clipped=True, route="tile")
    return (
        copy(tile_access(source, "read", box), tile_access(shared, "write", box)),
        copy(tile_access(shared, "read", box), written),
    )


def fill(name: str, box: tuple[int, ...]) -> Fill:
    """A tile set to one value."""
    access = tile_access(name, "write", box)
    return Fill(label="T.fill", accesses=(access,), per="block", sites=SITES)


def product(
    left: str,
    right: str,
    result: str,
    sizes: tuple[int, int, int],
    dtypes: tuple[str, str],
    is_transposed: bool = False,
) -> Gemm:
    """``result += left * right`` of tiles with `sizes` m, n and k, on the matrix units.

    `dtypes` are those of the operands and of the sum. `is_transposed`: the right one is stored as
    n rows of k elements.
    """
    m, n, k = sizes
    operands, total = dtypes
    box = (n, k) if is_transposed else (k, n)
    return Gemm(
        label="T.gemm",
        arith=(Arith("mma", operands, m * n * k, accumulator=total, shape=sizes),),
        accesses=(
            Access(left, "read", (0, 0), (m, k), route="mma"),
            Access(right, "read", (0, 0), box, route="mma"),
            Access(result, "read", (0, 0), (m, n), route="mma"),
            Access(result, "write", (0, 0), (m, n), route="mma"),
        ),
        per="block",
        sites=SITES,
        m_n_k=sizes,
        transposes=(False, is_transposed),
    )
