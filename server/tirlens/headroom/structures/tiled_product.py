"""Products: tiles in shared memory, several stages of loads ahead of the matrix instructions.

Source: NVIDIA, CUTLASS documentation, "Efficient GEMM in CUDA", "Hierarchical Structure". The tiles
are those of its default configurations, of which each is tried.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens.headroom.job import Product
from tirlens.headroom.kernels import (
    SITES,
    Candidate,
    fill,
    kernel_facts,
    load,
    product,
    store_by_shared,
)
from tirlens.model.tree.context import dtype_bytes
from tirlens_worker.facts import Access, Arith, Atomic, Buffer, Expr, Loop


@dataclass(frozen=True)
class _Tile:
    rows: int
    columns: int
    threads: int


_TILES = (
    _Tile(128, 256, 256),
    _Tile(256, 128, 256),
    _Tile(128, 128, 128),
    _Tile(64, 128, 128),
    _Tile(64, 64, 128),
)
_FEW_ROWS = (_Tile(16, 64, 128), _Tile(16, 128, 128), _Tile(32, 128, 128))
_STAGES = (4, 3, 2)
#: The rows of blocks that run one after another share the tiles of B in L2 (T.use_swizzle).
_PANEL = 8
# Bytes of a row of a tile of the operands: a line of the swizzle.
_DEPTH_BYTES = 128


def candidates(job: Product, device: Device) -> Iterator[Candidate]:
    """Products of tiles that are not larger than the job, with as many stages as fit.

    Where the tiles are fewer than the SMs, blocks share the depth of a tile and add their parts.
    """
    depth = int(_DEPTH_BYTES // dtype_bytes(job.dtype))
    tiles = (*_TILES, *(_FEW_ROWS if job.m < _TILES[-1].rows else ()))
    for tile in tiles:
        if tile.rows >= 2 * max(job.m, 16) or tile.columns >= 2 * max(job.n, 64):
            continue
        stage_bytes = (tile.rows + tile.columns) * _DEPTH_BYTES
        most = device.limits.shared_bytes_per_block
        # More than steps would only keep other blocks from the SM.
        steps = max(_STAGES[-1], math.ceil(job.k / depth))
        fitting = (number for number in _STAGES if number * stage_bytes <= most)
        stages = next((number for number in fitting if number <= steps), None)
        if stages is None:
            continue
        yield _candidate(job, tile, depth, stages)
        blocks = job.batch * math.ceil(job.m / tile.rows) * math.ceil(job.n / tile.columns)
        parts = min(device.sm_count // blocks, job.k // depth // stages)
        if parts > 1 and job.batch == 1 and job.result == "float32":
            yield _candidate(job, tile, depth, stages, parts)


def _candidate(job: Product, tile: _Tile, depth: int, stages: int, parts: int = 1) -> Candidate:
    """A product of tiles; the blocks of several `parts` of the depth add their results to C."""
    total = "int32" if "int" in job.dtype else "float32"
    rows, columns = tile.rows, tile.columns
    # Matrix units of NVIDIA read 8-bit operands in rows of k only: PTX ISA, "wgmma.mma_async",
    # whose transposes are of .f16 and .bf16, and "mma", whose 8-bit shapes are .row.col.
    by_column = dtype_bytes(job.dtype) == 1
    shape_of_b = (job.n, job.k) if by_column else (job.k, job.n)
    box_of_b = (columns, depth) if by_column else (depth, columns)
    shared = [
        Buffer("As", "A_shared", job.dtype, (rows, depth), scope="shared.dyn"),
        Buffer("Bs", "B_shared", job.dtype, box_of_b, scope="shared.dyn"),
    ]
    if parts == 1:
        shared.append(Buffer("Cs", "C_shared", job.result, (rows, columns), scope="shared.dyn"))
    buffers = (
        Buffer("A", "A", job.dtype, (job.batch, job.m, job.k), is_parameter=True),
        Buffer("B", "B", job.dtype, (job.batch, *shape_of_b), is_parameter=True),
        Buffer("C", "C", job.result, (job.batch, job.m, job.n), is_parameter=True),
        *shared,
        Buffer("Cl", "C_local", total, (rows, columns), scope="local.fragment"),
    )
    steps = math.ceil(job.k / depth / parts)
    batch: Expr = 0 if parts > 1 else "bz"
    first: Expr = ("*", "bz", steps) if parts > 1 else 0
    row, column = ("*", "by", rows), ("*", "bx", columns)
    step = ("*", ("+", first, "k"), depth)
    corner_of_b = (batch, column, step) if by_column else (batch, step, column)
    multiply = product(
        "As", "Bs", "Cl", (rows, columns, depth), (job.dtype, total), is_transposed=by_column
    )
    loop = Loop(
        "pipelined",
        "k",
        0,
        steps,
        (
            load("A", (batch, row, step), "As", (rows, depth)),
            load("B", corner_of_b, "Bs", box_of_b),
            multiply,
        ),
        sites=SITES,
        annotations={"num_stages": stages},
    )
    end = (
        (_sum(tile, row, column),)
        if parts > 1
        else store_by_shared("Cl", "Cs", "C", (batch, row, column), (rows, columns))
    )
    clear = fill("Cl", (rows, columns))
    grid = (math.ceil(job.n / columns), math.ceil(job.m / rows), job.batch * parts)
    text = f"tiles of {rows} x {columns} x {depth}, {stages} stages, {tile.threads} threads"
    text += f", panels of {_PANEL}"
    if parts > 1:
        text += f", {parts} parts of the depth"
    return Candidate(kernel_facts((clear, loop, *end), buffers, grid, tile.threads, _PANEL), text)


def _sum(tile: _Tile, row: Expr, column: Expr) -> Loop:
    """The elements of a tile, added to those of C."""
    corner = (0, ("+", row, "i"), ("+", column, "j"))
    add = Atomic(
        label="T.atomic_add",
        arith=(Arith("add", "float32"),),
        accesses=(Access("Cl", "read", ("i", "j")), Access("C", "atomic", corner)),
        per="block",
        sites=SITES,
    )
    inner = Loop("parallel", "j", 0, tile.columns, (add,), sites=SITES)
    return Loop("parallel", "i", 0, tile.rows, (inner,), sites=SITES)
