"""Attention: a tile of queries stays, tiles of keys and values pass by, and sums are rescaled.

Source: T. Dao, "FlashAttention-2: Faster Attention with Better Parallelism and Work Partitioning",
2023, algorithm 1. The tiles are those of its kernels. Queries of several heads that share keys and
values are rows of one matrix.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens.headroom.job import Attention
from tirlens.headroom.kernels import (
    SITES,
    Candidate,
    copy,
    fill,
    kernel_facts,
    load,
    product,
    store_by_shared,
    tile_access,
)
from tirlens.model.tree.context import dtype_bytes
from tirlens_worker.facts import Access, Arith, Buffer, Loop, Reduce, Store

_SUM = "float32"


@dataclass(frozen=True)
class _Tile:
    queries: int
    keys: int
    threads: int


_TILES = (_Tile(128, 128, 256), _Tile(128, 64, 256), _Tile(64, 128, 128), _Tile(64, 64, 128))
_STAGES = (2, 1)


def candidates(job: Attention, device: Device) -> Iterator[Candidate]:
    """Tiles with as many stages as fit beside the tile of queries."""
    row_bytes = job.dim * dtype_bytes(job.dtype)
    for tile in _TILES:
        room = device.limits.shared_bytes_per_block - tile.queries * row_bytes
        stages = next((one for one in _STAGES if one * 2 * tile.keys * row_bytes <= room), None)
        if stages is not None:
            yield _candidate(job, tile, stages)


def _candidate(job: Attention, tile: _Tile, stages: int) -> Candidate:
    m, n, d = tile.queries, tile.keys, job.dim
    kinds = (job.dtype, _SUM)
    scores, row, sums = (m, n), (m,), (m, d)
    step = ("by", ("*", "k", n), 0)
    body = (
        load("K", step, "Ks", (n, d)),
        fill("S", scores),
        product("Qs", "Ks", "S", (m, n, d), kinds, is_transposed=True),
        copy(tile_access("most", "read", row), tile_access("before", "write", row)),
        _reduce("max", "S", "most", scores),
        _for_each("scale", ("before", "most"), row, sub=1, mul=2, exp2=1),
        _for_each("S", ("S", "most"), scores, sub=1, mul=2, exp2=1),
        _reduce("add", "S", "sum", scores),
        _for_each("total", ("total", "scale", "sum"), row, fma=1),
        copy(
            tile_access("S", "read", scores),
            tile_access("P", "write", scores),
            Arith("cast", _SUM, m * n),
        ),
        _for_each("O", ("O", "scale"), sums, mul=1),
        load("V", step, "Vs", (n, d)),
        product("P", "Vs", "O", (m, d, n), kinds),
    )
    steps = math.ceil(job.seen_keys / n)
    place = ("by", ("*", "bx", m), 0)
    nodes = (
        load("Q", place, "Qs", (m, d)),
        *(fill(name, box) for name, box in (("O", sums), ("total", row), ("most", row))),
        Loop("pipelined", "k", 0, steps, body, sites=SITES, annotations={"num_stages": stages}),
        _for_each("O", ("O", "total"), sums, div=1),
        *store_by_shared("O", "Qs", "out", place, (m, d)),
    )
    grid = (math.ceil(job.rows / m), job.heads, 1)
    text = f"tiles of {m} queries x {n} keys, {stages} stages, {tile.threads} threads"
    return Candidate(kernel_facts(nodes, _buffers(job, tile), grid, tile.threads), text)


def _buffers(job: Attention, tile: _Tile) -> tuple[Buffer, ...]:
    m, n, d = tile.queries, tile.keys, job.dim
    outer = {"Q": job.rows, "K": job.keys, "V": job.keys, "out": job.rows}
    shared = {"Qs": m, "Ks": n, "Vs": n}
    local = {"S": (m, n), "O": (m, d), **dict.fromkeys(("most", "before", "scale", "sum"), (m,))}
    local["total"] = (m,)
    return (
        *(
            Buffer(name, name, job.dtype, (job.heads, rows, d), is_parameter=True)
            for name, rows in outer.items()
        ),
        *(
            Buffer(name, name, job.dtype, (rows, d), scope="shared.dyn")
            for name, rows in shared.items()
        ),
        *(Buffer(name, name, _SUM, box, scope="local.fragment") for name, box in local.items()),
        Buffer("P", "P", job.dtype, (m, n), scope="local.fragment"),
    )


def _reduce(operation: str, tile: str, result: str, box: tuple[int, int]) -> Reduce:
    """The rows of a tile in registers, combined within the threads that hold them."""
    return Reduce(
        label=f"T.reduce_{operation}",
        arith=(Arith(operation, _SUM, math.prod(box)),),
        accesses=(tile_access(tile, "read", box), tile_access(result, "write", box[:1])),
        per="block",
        sites=SITES,
        dim=1,
    )


def _for_each(
    target: str, sources: tuple[str, ...], box: tuple[int, ...], **operations: int
) -> Loop:
    """For each element of a tile in registers so many operations by their name."""
    names = ("i", "j")[: len(box)]
    sizes = {"S": 2, "O": 2}
    body = Store(
        label=target,
        arith=tuple(Arith(name, _SUM, count) for name, count in operations.items()),
        accesses=(
            *(Access(one, "read", names[: sizes.get(one, 1)]) for one in sources),
            Access(target, "write", names),
        ),
        per="block",
        sites=SITES,
    )
    loop: Store | Loop = body
    for name, extent in reversed(tuple(zip(names, box, strict=True))):
        loop = Loop("parallel", name, 0, extent, (loop,), sites=SITES)
    assert isinstance(loop, Loop)
    return loop
