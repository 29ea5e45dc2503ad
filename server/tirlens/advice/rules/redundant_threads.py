"""redundant-threads: all threads of a block execute the same iterations of a loop.

What it finds
-------------
A loop of a GPU kernel for single threads in which nothing depends on the thread, and whose
iterations do not depend on each other, or only add to a sum.

Why it costs time
-----------------
Each thread loads and stores the same elements. The instructions take as many times longer as there
are threads, although a request of a warp to one address moves a single sector.

Evidence
--------
The message has the number of threads. The saving is the difference between two predictions. In the
second, the threads share the iterations, neighbouring threads at neighbouring iterations, and sums
are combined by shuffles.

How to change it
----------------
Let the loop run over `k * threads + t`. In tilelang, `T.Parallel`, `T.copy` and `T.reduce_sum`
divide the elements among the threads by themselves.

Example
-------
```diff
 import tilelang.language as T

 N = 1 << 24


 # tirlens: device=h100-sxm
 @T.prim_func
 def scale(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
     with T.Kernel(N // 4096, threads=256) as block:
-        for k in T.serial(4096):
+        for k in T.Parallel(4096):
             Y[block * 4096 + k] = X[block * 4096 + k] * 2.0
```

Source
------
NVIDIA, CUDA C++ Programming Guide, "Thread Hierarchy". tilelang, `T.Parallel`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tirlens.advice.rule import Question
from tirlens.advice.sharing import (
    Part,
    chain,
    depends_on,
    free_iterations,
    with_shared_iterations,
)
from tirlens.advice.threads import Threads, threads_of, with_names_replaced
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens.model.report import Advice
from tirlens_worker.facts import Branch, KernelFacts, Loop, Node, Statement


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "gpu" or question.report.schedule != "gpu":
        return
    threads = threads_of(question.facts, question.device.limits.warp_size)
    if threads is None or threads.count < 2:
        return
    facts = with_names_replaced(question.facts)
    private = _private_arrays(facts, threads)
    for nest in _executed_by_all(facts.body, threads):
        if not question.can_save(nest) or not _is_the_same(nest, facts, threads, private):
            continue
        options = [
            (saving_s, loop.var)
            for loop in chain(nest)
            if (found := free_iterations(loop, facts)) is not None
            and (changed := with_shared_iterations(facts, Part(nest, found, (0,)), threads))
            is not None
            and (saving_s := question.saving_s(changed, nest)) is not None
        ]
        saving_s, name = max(options, default=(None, ""))
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="redundant-threads",
                span=nest.sites[0] if nest.sites else facts.span,
                severity="hint",
                action=f"shared iterations of loop {name}",
                message=(
                    f"each of {threads.count} threads executes all iterations of {name} on the "
                    "same elements: let the threads share them"
                ),
                saving_s=saving_s,
            )


def _executed_by_all(body: Sequence[Node], threads: Threads) -> Iterator[Loop]:
    """The outermost sequential loops that no condition on the thread encloses."""
    for node in body:
        if isinstance(node, Branch):
            if not depends_on((Branch(node.condition, ()),), threads.names):
                yield from _executed_by_all((*node.then, *node.orelse), threads)
        elif isinstance(node, Loop):
            if node.kind in ("serial", "unroll", "vectorized"):
                yield node
            elif node.kind != "parallel":
                yield from _executed_by_all(node.body, threads)


def _private_arrays(facts: KernelFacts, threads: Threads) -> frozenset[str]:
    """The variables of single threads whose values depend on the thread."""
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    found: set[str] = set()
    size = -1
    while size < len(found):
        size = len(found)
        for node in walk_nodes(facts.body):
            if not isinstance(node, Statement):
                continue
            read = {one.buffer for one in node.accesses if one.mode == "read"}
            if depends_on((node,), threads.names) or read & found:
                found |= {one.buffer for one in node.accesses if one.mode != "read"}
    return frozenset(name for name in found if scopes[name].startswith("local"))


def _is_the_same(nest: Loop, facts: KernelFacts, threads: Threads, private: frozenset[str]) -> bool:
    """Whether all threads do the same in a nest, and read or write arrays that they share."""
    if depends_on((nest,), threads.names):
        return False
    scopes = {buffer.id: buffer.scope for buffer in facts.buffers}
    accesses = [
        access
        for node in walk_nodes((nest,))
        if isinstance(node, Statement)
        for access in node.accesses
    ]
    return any(not scopes[one.buffer].startswith("local") for one in accesses) and not any(
        one.buffer in private for one in accesses
    )
