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
saving is the difference between two predictions: the second counts the statement as a matrix
multiply-accumulate and keeps the data movement as it is.

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

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Arith, KernelFacts, Node, Statement, Store

NARROW = frozenset({"float16", "bfloat16", "int8", "uint8", "float8_e4m3fn", "float8_e5m2"})

#: What a framework calls the use of matrix units.
MATRIX_UNITS = {"tilelang": "T.gemm", "tvm": "tensorize"}


def check(question: Question) -> Iterator[Advice]:
    narrow = {buffer.id: buffer.dtype for buffer in question.facts.buffers}
    for statement, path in rewrite.statements(question.facts):
        dtype = _product_dtype(statement, narrow)
        if dtype is None or not statement.sites or not _is_matrix_product(statement, path):
            continue
        if f"tensor.{_peak_name(dtype)}" not in question.device.peaks:
            continue
        if not question.can_save(statement):
            continue
        changed = _with_matrix_units(question, statement, dtype)
        saving_s = question.saving_s(changed, statement)
        how = MATRIX_UNITS[question.facts.framework]
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="no-tensor-core",
                span=statement.sites[0],
                severity="hint",
                action=f"matrix units ({how})",
                message=f"{dtype} products run on the scalar cores; {how} uses the matrix units",
                saving_s=saving_s,
            )


def _peak_name(dtype: str) -> str:
    if dtype.startswith("float8"):
        return "float8"
    return "int8" if dtype.endswith("int8") else dtype


def _product_dtype(statement: Statement, dtypes: dict[str, str]) -> str | None:
    """The operands' dtype if the statement is ``c += a * b`` over two narrow buffers."""
    if not isinstance(statement, Store) or not {"mul", "add"} <= {
        one.op for one in statement.arith
    }:
        return None
    written = {access.buffer for access in statement.accesses if access.mode == "write"}
    read = {access.buffer for access in statement.accesses if access.mode == "read"}
    operands = {dtypes[buffer] for buffer in read - written if buffer in dtypes}
    if not written & read or len(read - written) != 2 or len(operands) != 1:
        return None
    dtype = operands.pop()
    return dtype if dtype in NARROW else None


def _is_matrix_product(statement: Statement, path: rewrite.Path) -> bool:
    """Whether each operand is used again along a loop that the other one and the result go with."""
    written = {access.buffer for access in statement.accesses if access.mode == "write"}
    moves: dict[str, frozenset[str]] = {}
    for access in statement.accesses:
        names = frozenset[str]().union(*map(free_variables, access.indices))
        moves[access.buffer] = moves.get(access.buffer, frozenset()) | names
    around = {loop.var for loop in path}
    result = frozenset[str]().union(*(moves[buffer] & around for buffer in written))
    first, second = (names & around for buffer, names in moves.items() if buffer not in written)
    return bool((first - second) & result and (second - first) & result and first & second - result)


def _with_matrix_units(question: Question, statement: Statement, dtype: str) -> KernelFacts:
    product = Arith(op="mma", dtype=dtype, accumulator="float32", count=1)

    def edit(node: Node) -> Node:
        return replace(node, arith=(product,)) if node == statement else node

    return rewrite.change(question.facts, edit)
