"""bank-conflict: the threads of a warp access different words of one shared-memory bank.

What it finds
-------------
An array of shared memory with rows whose length maps several threads of a warp to the same bank.
The rule looks at arrays that single threads index (`T.alloc_buffer(..., scope="shared")` in
TVMScript), and at tilelang's arrays (`T.alloc_shared`) except for the operands of products, which
tilelang swizzles, in kernels whose shared memory is busy for at least 10 % of the time.

Why it costs time
-----------------
Shared memory has 32 banks of 4 bytes, and each bank delivers one word a clock. A request in which n
threads want different words of one bank takes n passes instead of one.

Evidence
--------
`shared` is among the busiest units of the kernel. The saving is the difference between the
predicted times of the kernel as written and of the same kernel with padded rows. The rule tries
paddings of 1, 2, 4, 8 and 16 words (or vectors, where vectors are moved) and reports the best.

How to change it
----------------
Make each row longer by the number of elements in the message. Nothing reads or writes the added
elements. A code action makes this change where the shape is written in place.

Example
-------
```diff
 from tvm.script import tirx as T


 # tirlens: device=h100-sxm
 @T.prim_func(s_tir=True)
 def transpose(x: T.Buffer((8192, 8192), "float32"), y: T.Buffer((8192, 8192), "float32")):
     for by in T.thread_binding(256, thread="blockIdx.y"):
         for bx in T.thread_binding(256, thread="blockIdx.x"):
             for ty in T.thread_binding(32, thread="threadIdx.y"):
                 for tx in T.thread_binding(32, thread="threadIdx.x"):
-                    tile = T.alloc_buffer((32, 32), "float32", scope="shared")
+                    tile = T.alloc_buffer((32, 33), "float32", scope="shared")
                     tile[ty, tx] = x[by * 32 + ty, bx * 32 + tx]
                     T.tvm_storage_sync("shared")
                     y[bx * 32 + ty, by * 32 + tx] = tile[tx, ty]
```

Source
------
NVIDIA, CUDA C++ Programming Guide, "Shared Memory".
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.dtypes import byte_count
from tirlens.model.gpu.mapping.array_mappings import have_no_more_wavefronts
from tirlens.model.report import Advice
from tirlens.source.edits import LongerRows
from tirlens_worker.facts import Buffer, Gemm

BANK_BYTES = 4
#: Shared memory that is busy for less of the time cannot hold the kernel up noticeably.
LEAST_BUSY = 0.1
#: Paddings to try, in words or vectors.
PADDINGS = (1, 2, 4, 8, 16)


def check(question: Question) -> Iterator[Advice]:
    facts = question.facts
    busy = question.report.utilisation.get("shared", 0.0)
    if busy < LEAST_BUSY:
        return
    is_tilelang = facts.framework == "tilelang"
    routes = {"thread", "tile", "async"} if is_tilelang else {"thread"}
    for buffer in facts.buffers:
        shared = buffer.scope in ("shared", "shared.dyn") and buffer.alias_of is None
        if not shared or len(buffer.shape) < 2 or buffer.strides:
            continue
        touching = [
            (statement, access)
            for statement, _ in rewrite.statements(facts)
            for access in statement.accesses
            if access.buffer == buffer.id
        ]
        if not touching or any(access.route not in routes for _, access in touching):
            continue
        if is_tilelang and any(isinstance(statement, Gemm) for statement, _ in touching):
            continue
        size = byte_count(1, buffer.dtype) or BANK_BYTES
        word = max(max(access.lanes for _, access in touching), BANK_BYTES // size, 1)
        options = [
            (saving_s, -padding)
            for padding in _effective_paddings(question, buffer, word)
            if (saving_s := question.saving_s(rewrite.with_padding(facts, buffer, padding)))
            is not None
        ]
        saving_s, less = max(options, default=(None, 0))
        if question.is_noticeable(saving_s):
            sites = touching[0][0].sites
            yield Advice(
                rule="bank-conflict",
                span=sites[0] if sites else facts.span,
                severity="hint",
                action=f"rows of {buffer.shape[-1]} + {-less}",
                message=(
                    f"{buffer.name} has bank conflicts: rows of {buffer.shape[-1]} + {-less} "
                    f"{buffer.dtype} in place of {buffer.shape[-1]} have none, or fewer"
                ),
                saving_s=saving_s,
                change=LongerRows(facts.span, buffer.name, -less),
            )


def _effective_paddings(question: Question, buffer: Buffer, word: int) -> list[int]:
    """The paddings, in elements, that leave fewer conflicts than any smaller one, and than none.

    The others need no evaluation: they take more shared memory, and save no more.
    """
    paddings = [words * word for words in PADDINGS]
    found: list[int] = []
    known = [question.mappings_of(buffer)]
    for padding in paddings:
        mappings = question.mappings_of(rewrite.longer_rows(buffer, padding))
        if mappings is None:
            return paddings
        if not any(one and have_no_more_wavefronts(one, mappings) for one in known):
            found.append(padding)
            known.append(mappings)
    return found
