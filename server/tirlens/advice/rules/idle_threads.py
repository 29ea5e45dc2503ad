"""idle-threads: a few threads of a block execute a loop that all of them could share.

What it finds
-------------
A GPU kernel with a condition on the thread, `if t == 0`, `if t < 2` or `if t % 32 == 0`, around a
loop whose iterations do not depend on each other, or only add to a sum. At most half of the threads
satisfy the condition.

Why it costs time
-----------------
The other threads wait. The loop has as few loads in flight as threads that execute it, and the
execution units of the SM are as idle as the threads are.

Evidence
--------
The message has the number of threads that execute the loop. The saving is the difference between
two predictions. In the second, all threads of the block share the iterations, neighbouring threads
at neighbouring iterations, and sums are combined by shuffles.

How to change it
----------------
Let the loop run over `k * threads + t` outside of the condition. Combine sums with
`T.warp_reduce_sum` or through shared memory, and leave only the store of the result inside.

Example
-------
```diff
 from tvm.script import tirx as T

 N = 1 << 24


 # tirlens: device=h100-sxm
 @T.prim_func(s_tir=True)
 def scale(x: T.Buffer((N,), "float32"), y: T.Buffer((N,), "float32")):
     for b in T.thread_binding(N // 4096, thread="blockIdx.x"):
         for t in T.thread_binding(256, thread="threadIdx.x"):
-            if t == 0:
-                for k in range(4096):
-                    y[b * 4096 + k] = x[b * 4096 + k] * T.float32(2)
+            for k in range(16):
+                y[b * 4096 + k * 256 + t] = x[b * 4096 + k * 256 + t] * T.float32(2)
```

Source
------
NVIDIA, Nsight Compute, "Kernel Profiling Guide", rule "Thread Divergence" (threads that are active
and not predicated off).
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.rule import Question
from tirlens.advice.sharing import Part, chain, free_iterations, with_shared_iterations
from tirlens.advice.threads import threads_of, with_names_replaced
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens.model.report import Advice
from tirlens_worker.facts import Branch, Loop

#: A larger part of the threads than this is not idle.
MOST_ACTIVE = 0.5


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "gpu" or question.report.schedule != "gpu":
        return
    branches = [node for node in walk_nodes(question.facts.body) if isinstance(node, Branch)]
    threads = threads_of(question.facts, question.device.limits.warp_size)
    if not branches or threads is None:
        return
    facts = with_names_replaced(question.facts)
    for branch in walk_nodes(facts.body):
        if not isinstance(branch, Branch) or branch.kind != "if":
            continue
        group = threads.where(branch.condition)
        if not group or len(group) > MOST_ACTIVE * threads.count:
            continue
        for nest in branch.then:
            if not isinstance(nest, Loop) or not question.can_save(nest):
                continue
            options = [
                (saving_s, loop.var)
                for loop in chain(nest)
                if (found := free_iterations(loop, facts)) is not None
                and (
                    changed := with_shared_iterations(
                        facts, Part(nest, found, tuple(group), branch), threads
                    )
                )
                is not None
                and (saving_s := question.saving_s(changed, nest)) is not None
            ]
            saving_s, name = max(options, default=(None, ""))
            if question.is_noticeable(saving_s):
                sites = nest.sites or branch.sites
                yield Advice(
                    rule="idle-threads",
                    span=sites[0] if sites else facts.span,
                    severity="hint",
                    action=f"{threads.count} threads in loop {name}",
                    message=(
                        f"{len(group)} of {threads.count} threads execute{'s' * (len(group) == 1)} "
                        f"the loop over {name}: let all threads share its iterations"
                    ),
                    saving_s=saving_s,
                )
