"""contended-atomics: many threads of a block update the same elements with atomics.

What it finds
-------------
Atomic additions, minima or maxima in an array of global memory whose index is the same for all
threads of a block, or for all iterations of a parallel loop.

Why it costs time
-----------------
The L2 cache executes the updates of one address one after the other, a clock or more each, however
many SMs issue them. A block can combine its values in registers, with shuffles of a few clocks.

Evidence
--------
The breakdown shows the statement bound by `atomics`. The saving is the difference between two
predictions. In the second, each thread combines its values in a register, the threads combine
theirs by shuffles, and one thread of each warp, or of each block of tile operations, updates the
array.

How to change it
----------------
Combine the values of a block first: `T.reduce_sum` over a fragment, `T.warp_reduce_sum` over a
variable of a thread. Then let one thread update the array.

Example
-------
```diff
 import tilelang.language as T

 N = 1 << 24


 # tirlens: device=h100-sxm
 @T.prim_func
 def total(X: T.Tensor((N,), "float32"), S: T.Tensor((1,), "float32")):
     with T.Kernel(N // 4096, threads=256) as block:
-        for i in T.Parallel(4096):
-            T.atomic_add(S[0], X[block * 4096 + i])
+        part = T.alloc_fragment((4096,), "float32")
+        sums = T.alloc_fragment((1,), "float32")
+        T.copy(X[block * 4096], part)
+        T.reduce_sum(part, sums, dim=0)
+        if T.get_thread_binding() == 0:
+            T.atomic_add(S[0], sums[0])
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Atomic Functions"; M. Harris, "Optimizing Parallel Reduction
in CUDA", NVIDIA, 2007.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.advice.sharing import COMBINED, sum_of_threads, with_part_replaced
from tirlens.advice.threads import Threads, threads_of, with_names_replaced
from tirlens.model.report import Advice
from tirlens_counting.expressions import free_variables, is_data_dependent
from tirlens_worker.facts import (
    Access,
    Branch,
    Buffer,
    KernelFacts,
    Loop,
    Node,
    Statement,
    Store,
    While,
)

_PARTIAL = "partial_value"


@dataclass(frozen=True)
class _Update:
    """An atomic update inside of the nodes `path`, the outermost of which is combined over.

    `elements` are the parallel loops whose iterations update different elements.
    """

    statement: Statement
    access: Access
    outermost: Node
    elements: tuple[Loop, ...]


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "gpu" or question.report.schedule != "gpu":
        return
    facts = with_names_replaced(question.facts)
    threads = threads_of(facts, question.device.limits.warp_size)
    if threads is None or threads.count < 2:
        return
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    for update in _updates(facts.body, (), threads):
        buffer = next(one for one in facts.buffers if one.id == update.access.buffer)
        if scopes[buffer.id] != "global" or not question.can_save(update.statement):
            continue
        changed = _with_combined_values(facts, update, threads, buffer)
        saving_s = question.saving_s(changed, update.statement)
        if question.is_noticeable(saving_s):
            sites = update.statement.sites
            yield Advice(
                rule="contended-atomics",
                span=sites[0] if sites else facts.span,
                severity="hint",
                action=f"one update of {buffer.name} a block",
                message=(
                    f"the threads of a block update the same element of {buffer.name}: combine "
                    "their values first, and update it once"
                ),
                saving_s=saving_s,
            )


def _updates(body: Sequence[Node], path: tuple[Node, ...], threads: Threads) -> Iterator[_Update]:
    for node in body:
        if isinstance(node, Loop | While):
            yield from _updates(node.body, (*path, node), threads)
        elif isinstance(node, Branch):
            yield from _updates((*node.then, *node.orelse), (*path, node), threads)
        else:
            found = _update(node, path, threads) if isinstance(node, Statement) else None
            if found is not None:
                yield found


def _update(statement: Statement, path: tuple[Node, ...], threads: Threads) -> _Update | None:
    """The update of a statement, if it combines what the threads of a block have; else None."""
    atomics = [access for access in statement.accesses if access.mode == "atomic"]
    operations = [one.op for one in statement.arith if not one.index]
    if len(atomics) != 1 or operations[-1:] == [] or operations[-1] not in COMBINED:
        return None
    (access,) = atomics
    if access.extents or access.lanes > 1 or any(map(is_data_dependent, access.indices)):
        return None
    names = frozenset[str]().union(*map(free_variables, access.indices))
    if names & threads.names:
        return None
    outermost: Node = statement
    elements: list[Loop] = []
    combined = 1
    for node in reversed(path):
        if isinstance(node, Loop):
            if node.kind in ("grid", "block", "cluster", "persistent"):
                break
            if node.var in names and node.kind != "parallel":
                break
            if node.kind == "parallel":
                if node.var in names:
                    elements.insert(0, node)
                elif isinstance(node.extent, int):
                    combined *= node.extent
        outermost = node
    # Each thread of a program for single threads has a value.
    count = threads.count if statement.per == "thread" else combined
    if count < 2 or any(isinstance(node, Branch) and _is_of_few(node, threads) for node in path):
        return None
    return _Update(statement, access, outermost, tuple(elements))


def _is_of_few(branch: Branch, threads: Threads) -> bool:
    """Whether at most one thread of each warp satisfies a condition."""
    group = threads.where(branch.condition)
    return group is not None and len({number // threads.warp_size for number in group}) == len(
        group
    )


def _with_combined_values(
    facts: KernelFacts, update: _Update, threads: Threads, buffer: Buffer
) -> KernelFacts:
    """`facts` with a value for each thread in a register, and one update of the array."""
    statement = update.statement
    partial = Access(_PARTIAL, "read", (0,))
    kept = tuple(access for access in statement.accesses if access is not update.access)
    adding = Store(
        label="combine",
        arith=statement.arith,
        accesses=(*kept, partial, replace(partial, mode="write")),
        per=statement.per,
        sites=statement.sites,
    )
    is_of_threads = statement.per == "thread"
    final: Node = replace(
        statement,
        arith=statement.arith[-1:],
        accesses=(partial, update.access),
        per="block" if update.elements else "thread",
    )
    for loop in reversed(update.elements):
        final = replace(loop, body=(final,))
    if not update.elements:
        # One thread of each warp, or of the block whose threads T.reduce_sum combines.
        number = ("%", threads.number, threads.warp_size) if is_of_threads else threads.number
        final = Branch(("==", number, 0), (final,), sites=statement.sites)
    shuffles = sum_of_threads(buffer.dtype, min(threads.count, threads.warp_size), statement.sites)

    def edit(node: Node) -> Node:
        return adding if node is statement else node

    combined = rewrite.changed_nodes((update.outermost,), edit)
    body = with_part_replaced(facts.body, update.outermost, (*combined, shuffles, final))
    register = Buffer(_PARTIAL, _PARTIAL, buffer.dtype, (1,), scope="local")
    return replace(facts, body=body, buffers=(*facts.buffers, register))
