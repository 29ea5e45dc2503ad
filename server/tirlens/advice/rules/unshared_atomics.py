"""unshared-atomics: atomic updates of elements that nothing else updates.

What it finds
-------------
Atomic updates of an array of global memory in a GPU kernel that update each element once: a split
of a reduction into one part, for example.

Why it costs time
-----------------
An atomic update reads and writes its sector in L2, and takes a pass for each word that the lanes
share. A store writes alone. The array must also be cleared before, by a launch of its own.

Evidence
--------
The number of updates is that of the distinct elements. The saving is the difference between two
predictions: the second stores the values. It has no part of what clears the array.

How to change it
----------------
Store the values in place of the updates, where the array is zero before, or add what is there.

Example
-------
```diff
 import tilelang.language as T

 M, N, K = 2048, 2048, 256


 # tirlens: device=h100-sxm
 @T.prim_func
 def matmul(
     A: T.Tensor((M, K), "float16"),
     B: T.Tensor((K, N), "float16"),
     C: T.Tensor((M, N), "float32"),
 ):
     with T.Kernel(N // 128, M // 128, threads=256) as (bx, by):
         A_shared = T.alloc_shared((128, 64), "float16")
         B_shared = T.alloc_shared((64, 128), "float16")
         C_local = T.alloc_fragment((128, 128), "float32")
         T.clear(C_local)
         for k in T.Pipelined(K // 64, num_stages=3):
             T.copy(A[by * 128, k * 64], A_shared)
             T.copy(B[k * 64, bx * 128], B_shared)
             T.gemm(A_shared, B_shared, C_local)
         for i, j in T.Parallel(128, 128):
-            T.atomic_add(C[by * 128 + i, bx * 128 + j], C_local[i, j])
+            C[by * 128 + i, bx * 128 + j] = C_local[i, j]
```

Source
------
CUDA C++ Programming Guide, "Atomic Functions"; NVIDIA, CUTLASS, "Split-K", whose slices of one are
a plain product.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_worker.facts import KernelFacts, Node, Statement, Store


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "gpu" or question.report.schedule != "gpu":
        return
    buffers = {buffer.id: buffer for buffer in question.facts.buffers}
    for statement, array in _lone_updates(question):
        changed = _with_stores(question.facts, statement, array)
        saving_s = question.saving_s(changed)
        if question.is_noticeable(saving_s):
            buffer, sites = buffers[array], statement.sites
            yield Advice(
                rule="unshared-atomics",
                span=sites[0] if sites else question.facts.span,
                severity="hint",
                action=f"stores to {buffer.name}",
                message=(
                    f"each element of {buffer.name} is updated once: stores in place of atomic "
                    f"updates do the same where {buffer.name} is zero before"
                ),
                saving_s=saving_s,
            )


def _lone_updates(question: Question) -> Iterator[tuple[Statement, str]]:
    """The additions to arrays of which each element is updated once, and by nothing else."""
    changing = Counter(
        access.buffer
        for statement, _ in rewrite.statements(question.facts)
        for access in statement.accesses
        if access.mode != "read"
    )
    for entry in question.global_accesses:
        is_known = entry.address is not None and not entry.has_data_offset
        is_known = is_known and not entry.offset_loads and entry.buffer.alias_of is None
        if entry.access.mode != "atomic" or not is_known or changing[entry.buffer.id] > 1:
            continue
        operations = [one.op for one in entry.node.source.arith if not one.index]
        if operations[-1:] == ["add"] and entry.issued_bytes == entry.compulsory_bytes:
            yield entry.node.source, entry.buffer.id


def _with_stores(facts: KernelFacts, statement: Statement, array: str) -> KernelFacts:
    """`facts` with the updates of `array` by a statement as stores."""

    def edit(node: Node) -> Node:
        if not isinstance(node, Statement) or node.sites != statement.sites:
            return node
        if not any(one.mode == "atomic" and one.buffer == array for one in node.accesses):
            return node
        accesses = tuple(
            replace(one, mode="write") if one.mode == "atomic" and one.buffer == array else one
            for one in node.accesses
        )
        return Store(label="store", accesses=accesses, per=node.per, sites=node.sites)

    return rewrite.change(facts, edit)
