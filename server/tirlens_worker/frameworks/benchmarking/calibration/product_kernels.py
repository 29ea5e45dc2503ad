"""The matrix product of the calibration in tilelang."""

# A type checker cannot analyse TVMScript.
# pyright: reportInvalidTypeForm=false, reportUnknownParameterType=false
# pyright: reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false, reportAttributeAccessIssue=false
# pyright: reportUntypedFunctionDecorator=false, reportMissingImports=false

# Annotations are evaluated: tilelang reads the types of the arguments.

from typing import Any, Tuple

import tilelang.language as T


def product(
    size: int, tile: Tuple[int, int, int, int], row: int, dtype: str, accumulator: str
) -> Any:
    """C = A B^T of `size` squared, in tiles of `row` elements of the inner dimension."""
    block_m, block_n, stages, threads = tile

    @T.prim_func
    def product(
        A: T.Tensor((size, size), dtype),
        B: T.Tensor((size, size), dtype),
        C: T.Tensor((size, size), accumulator),
    ):
        with T.Kernel(size // block_n, size // block_m, threads=threads) as (bx, by):
            A_shared = T.alloc_shared((block_m, row), dtype)
            B_shared = T.alloc_shared((block_n, row), dtype)
            C_local = T.alloc_fragment((block_m, block_n), accumulator)
            T.use_swizzle(10)
            T.clear(C_local)
            for k in T.Pipelined(size // row, num_stages=stages):
                T.copy(A[by * block_m, k * row], A_shared)
                T.copy(B[bx * block_n, k * row], B_shared)
                T.gemm(A_shared, B_shared, C_local, transpose_B=True)
            T.copy(C_local, C[by * block_m, bx * block_n])

    return product
