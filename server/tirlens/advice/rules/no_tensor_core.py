"""no-tensor-core: a matrix product of narrow types runs on the scalar cores.

What it finds
-------------
A statement `c += a * b` over two 16-bit or 8-bit operands where each operand is used again along a
loop of the other one, on a device with a matrix rate for the type. A matrix-vector product and a
product of two rows read each value once, gain nothing from matrix units and are left out.

Why it costs time
-----------------
An H100 computes 16-bit products at 989 TFLOP/s on its matrix units, at 134 on its scalar cores, and
at 67 where the sums are float32.

Evidence
--------
`flop_by_class` shows the operations as `fp16`, `bf16` or `fp32` and none of them as `tensor`. The
saving is the difference between two predictions. Where the operands are tiles in shared memory or
registers, the second has one product of the tiles in place of the loops, which also reads them for
the matrix units. Otherwise it counts the statement as a matrix multiply-accumulate and keeps the
data movement as it is.

How to change it
----------------
In tilelang, load the operands into shared memory and call `T.gemm`. In TVMScript, tensorise the
block with a matrix intrinsic.

Example
-------
```diff
 import tilelang.language as T

 N = 2048


 # tirlens: device=h100-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((N, N), "float16"),
     B: T.Tensor((N, N), "float16"),
     C: T.Tensor((N, N), "float32"),
 ):
     with T.Kernel(N // 128, N // 128, threads=256) as (bx, by):
         A_shared = T.alloc_shared((128, 32), "float16")
         B_shared = T.alloc_shared((32, 128), "float16")
         C_local = T.alloc_fragment((128, 128), "float32")
         T.clear(C_local)
         for k in T.Pipelined(N // 32, num_stages=3):
             T.copy(A[by * 128, k * 32], A_shared)
             T.copy(B[k * 32, bx * 128], B_shared)
-            for i, j in T.Parallel(128, 128):
-                for kk in T.serial(32):
-                    C_local[i, j] += A_shared[i, kk] * B_shared[kk, j]
+            T.gemm(A_shared, B_shared, C_local)
         T.copy(C_local, C[by * 128, bx * 128])
```

Source
------
NVIDIA, H100 Tensor Core GPU Architecture white paper (rates of the units).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from tirlens.advice import rewrite
from tirlens.advice.product_tiling import with_tiles_of_operands
from tirlens.advice.rule import Question
from tirlens.advice.tile_product import (
    Product,
    TileProduct,
    products,
    tile_product,
    with_tile_product,
)
from tirlens.advice.tile_sizes import tiled_loops, with_tile
from tirlens.model.report import Advice
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Arith, Gemm, KernelFacts, MatrixInstruction, Node

NARROW = frozenset({"float16", "bfloat16", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"})

#: Rows, columns and depth of the smallest matrix instructions (PTX ISA: m16n8k8, m8n8k16).
LEAST_SIZE = 8
#: Tiles with fewer rows than this are doubled, as long as that is faster.
SMALL_TILE = 64
#: What a framework calls the use of matrix units.
MATRIX_UNITS = {"tilelang": "T.gemm", "tvm": "tensorize", "tvm_tirx": "the tile operation gemm"}


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    dtypes = {buffer.id: buffer.dtype for buffer in facts.buffers}
    how = MATRIX_UNITS[facts.framework]
    for product in products(facts):
        operands = {dtypes[access.buffer] for access in product.operands}
        dtype = operands.pop()
        if operands or dtype not in NARROW or not product.statement.sites:
            continue
        if f"tensor.{_peak_name(dtype)}" not in question.device.peaks:
            continue
        saving_s = _saving_s(question, product, dtype, dtypes[product.result.buffer])
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="no-tensor-core",
                span=product.statement.sites[0],
                severity="hint",
                action=f"matrix units ({how})",
                message=f"{dtype} products run on the scalar cores; {how} uses the matrix units",
                saving_s=saving_s,
            )


def _peak_name(dtype: str) -> str:
    if dtype.startswith("float8"):
        return "float8"
    return "int8" if dtype.endswith("int8") else dtype


def _saving_s(question: Question, product: Product, dtype: str, sum_dtype: str) -> float | None:
    """What matrix units save: one operation on the tiles, or else on each element."""
    facts = question.facts
    tiles = tile_product(product, facts, _instruction(question))
    if tiles is not None:
        if not question.can_save(tiles.nest) or not _fills_instruction(tiles):
            return None
        return question.saving_s(with_tile_product(facts, tiles), tiles.nest)
    if not question.can_save(product.statement) or not _is_matrix_product(product, facts):
        return None
    tiled = with_tiles_of_operands(product, facts, _instruction(question))
    if tiled is not None:
        return _saving_of_tiles_s(question, tiled)
    arith = Arith(op="mma", dtype=dtype, accumulator=sum_dtype, count=1)

    def edit(node: Node) -> Node:
        return replace(node, arith=(arith,)) if node == product.statement else node

    return question.saving_s(rewrite.change(facts, edit), product.statement)


def _saving_of_tiles_s(question: Question, tiled: KernelFacts) -> float | None:
    """What tiles of the operands save: those of a block as it is, or larger ones if these are
    small.
    """
    options: list[float] = []
    changed: KernelFacts | None = tiled
    while changed is not None:
        saving_s = question.saving_s(changed)
        if saving_s is not None:
            options.append(saving_s)
        changed = _with_larger_tiles(changed)
    return max(options, default=None)


def _with_larger_tiles(facts: KernelFacts) -> KernelFacts | None:
    """`facts` with tiles that are larger along both loops over blocks, up to `SMALL_TILE`."""
    sizes = [
        statement.m_n_k
        for statement, _ in rewrite.statements(facts)
        if isinstance(statement, Gemm) and statement.m_n_k is not None
    ]
    if not sizes or not all(isinstance(m, int) and m < SMALL_TILE for m, _, _ in sizes):
        return None
    changed = facts
    for loop in tiled_loops(facts):
        if loop.kind == "grid":
            changed = with_tile(changed, loop, Fraction(2)) or changed
    return None if changed is facts else changed


def _instruction(question: Question) -> MatrixInstruction | None:
    """The instruction of TVM's intrinsics for NVIDIA's devices; tilelang chooses by itself."""
    is_written = question.facts.framework == "tvm" and question.device.arch.startswith("sm_")
    return "mma" if is_written else None


def _fills_instruction(tiles: TileProduct) -> bool:
    """Whether the tiles are not smaller than one matrix instruction."""
    sizes = tiles.operation.m_n_k or ()
    return all(isinstance(size, int) and size >= LEAST_SIZE for size in sizes)


def _is_matrix_product(product: Product, facts: KernelFacts) -> bool:
    """Whether each operand is used again along a loop that the other one and the result go with."""
    first, second, result = (
        frozenset[str]().union(*map(free_variables, access.indices))
        & {loop.var for loop in product.loops}
        for access in (*product.operands, product.result)
    )
    scope = next(one.scope for one in facts.buffers if one.id == product.result.buffer)
    if scope.startswith("local"):
        # Each thread of each block has a result of its own, for each of its elements of a tile.
        result |= {loop.var for loop in product.loops if loop.kind in ("grid", "block", "parallel")}
    return bool((first - second) & result and (second - first) & result and first & second - result)
