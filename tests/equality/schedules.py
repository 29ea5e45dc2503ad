"""Functions as TVM's schedules make them: tiles cached, vectors cut, reductions by parts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

CASES: dict[str, tuple[Callable[[Any], Any], list[str]]] = {}


def case(build: Callable[[Any], Any]) -> Callable[[Any], Any]:
    CASES[build.__name__] = (build, [])
    return build


@dataclass(frozen=True)
class Tiles:
    """A block computes `rows` x `columns`, a thread `high` x `wide` of them, `deep` at a time."""

    rows: int = 16
    columns: int = 16
    high: int = 4
    wide: int = 4
    deep: int = 8
    vector: int = 2
    offset: int = 4


@case
def whole_tiles(T):
    return tiled_matmul(T, (32, 48, 16), "float32", Tiles())


@case
def odd_tiles(T):
    """No size is a multiple of its tile: conditions cut the vectors, which become scalars."""
    return tiled_matmul(T, (33, 45, 19), "float32", Tiles())


@case
def odd_tiles_of_scalars(T):
    return tiled_matmul(T, (21, 30, 13), "float32", Tiles(vector=1, offset=0))


@case
def tiles_of_halves(T):
    return tiled_matmul(T, (40, 32, 24), "float16", Tiles(8, 32, 2, 4))


def tiled_matmul(T, sizes, dtype, tiles):
    """C = A B in tiles that are cached in shared memory; sums in registers."""
    m, n, k = sizes

    @T.prim_func(s_tir=True)
    def main(
        A: T.Buffer((m, k), dtype), B: T.Buffer((k, n), dtype), C: T.Buffer((m, n), "float32")
    ):
        for i, j, d in T.grid(m, n, k):
            with T.sblock("C"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, d])
                with T.init():
                    C[vi, vj] = T.float32(0)
                C[vi, vj] = C[vi, vj] + T.cast(A[vi, vk], "float32") * T.cast(B[vk, vj], "float32")

    sch = schedule(main)
    block = sch.get_sblock("C")
    sums = sch.cache_write(block, 0, "local")
    i, j, k = sch.get_loops(block)
    threads = tiles.rows // tiles.high, tiles.columns // tiles.wide
    by, ty, yi = sch.split(i, [None, threads[0], tiles.high])
    bx, tx, xi = sch.split(j, [None, threads[1], tiles.wide])
    ko, ki = sch.split(k, [None, tiles.deep])
    sch.reorder(by, bx, ty, tx, ko, ki, yi, xi)
    bind(sch, {by: "blockIdx.y", bx: "blockIdx.x", ty: "threadIdx.y", tx: "threadIdx.x"})
    sch.reverse_compute_at(sums, tx)
    for operand in (0, 1):
        tile = sch.cache_read(block, operand, "shared")
        sch.compute_at(tile, ko)
        share_out(sch, tile, threads, tiles.vector)
        if tiles.offset:
            sch.storage_align(tile, 0, axis=-2, factor=16, offset=tiles.offset)
    sch.unroll(ki)
    sch.decompose_reduction(block, ko)
    return sch.mod["main"]


@case
def stencil(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((66, 66), "float32"), B: T.Buffer((64, 64), "float32")):
        for i, j in T.grid(64, 64):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] + A[vi + 1, vj + 1] * T.float32(2) + A[vi + 2, vj + 2]

    return cached(main, 8, 16)


@case
def transpose(T):
    """Columns of a tile of 32 rows: bank conflicts."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((48, 40), "float32"), B: T.Buffer((40, 48), "float32")):
        for i, j in T.grid(40, 48):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vj, vi]

    return cached(main, 8, 32)


def cached(main, rows, columns):
    """The block "B" in tiles, what it reads in shared memory."""
    sch = schedule(main)
    block = sch.get_sblock("B")
    i, j = sch.get_loops(block)
    by, ty = sch.split(i, [None, rows])
    bx, tx = sch.split(j, [None, columns])
    sch.reorder(by, bx, ty, tx)
    bind(sch, {by: "blockIdx.y", bx: "blockIdx.x", ty: "threadIdx.y", tx: "threadIdx.x"})
    tile = sch.cache_read(block, 0, "shared")
    sch.compute_at(tile, bx)
    share_out(sch, tile, (rows, columns), 1)
    return sch.mod["main"]


@case
def sum_by_parts(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((10, 100), "float32"), B: T.Buffer((10,), "float32")):
        for i, k in T.grid(10, 100):
            with T.sblock("B"):
                vi, vk = T.axis.remap("SR", [i, k])
                with T.init():
                    B[vi] = T.float32(0)
                B[vi] = B[vi] + A[vi, vk]

    sch = schedule(main)
    _, k = sch.get_loops(sch.get_sblock("B"))
    _, inner = sch.split(k, [None, 16])
    sch.rfactor(inner, 1)
    return sch.mod["main"]


@case
def two_kernels(T):
    """One stage is inlined, the others are a kernel each."""

    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((50, 30), "float32"), D: T.Buffer((50, 30), "float32")):
        B = T.sblock_alloc_buffer((50, 30), "float32")
        C = T.sblock_alloc_buffer((50, 30), "float32")
        for i, j in T.grid(50, 30):
            with T.sblock("B"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = T.exp(A[vi, vj])
        for i, j in T.grid(50, 30):
            with T.sblock("C"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = B[vi, vj] * T.float32(2)
        for i, j in T.grid(50, 30):
            with T.sblock("D"):
                vi, vj = T.axis.remap("SS", [i, j])
                D[vi, vj] = C[vi, vj] + T.float32(1)

    sch = schedule(main)
    sch.compute_inline(sch.get_sblock("C"))
    for name, vector in (("B", 1), ("D", 4)):
        fused = sch.fuse(*sch.get_loops(sch.get_sblock(name)))
        block, thread, lanes = sch.split(fused, [None, 32, vector])
        bind(sch, {block: "blockIdx.x", thread: "threadIdx.x"})
        sch.vectorize(lanes)
    return sch.mod["main"]


@case
def vector_around_a_sum(T):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((64, 6, 8), "float32"), B: T.Buffer((64, 8), "float32")):
        for i, j, k in T.grid(64, 8, 6):
            with T.sblock("B"):
                vi, vj, vk = T.axis.remap("SSR", [i, j, k])
                with T.init():
                    B[vi, vj] = T.float32(0)
                B[vi, vj] = B[vi, vj] + A[vi, vk, vj]

    sch = schedule(main)
    i, j, _ = sch.get_loops(sch.get_sblock("B"))
    _, lanes = sch.split(j, [None, 4])
    sch.bind(i, "threadIdx.x")
    sch.vectorize(lanes)
    return sch.mod["main"]


def schedule(main):
    from tvm import s_tir

    return s_tir.Schedule(main)


def bind(sch, tags):
    for loop, tag in tags.items():
        sch.bind(loop, tag)


def share_out(sch, tile, threads, vector):
    """The elements of a tile to the threads of a block, `vector` neighbours to each."""
    fused = sch.fuse(*sch.get_loops(tile)[-2:])
    _, ty, tx, lanes = sch.split(fused, [None, *threads, vector])
    bind(sch, {ty: "threadIdx.y", tx: "threadIdx.x"})
    if vector > 1:
        sch.vectorize(lanes)
