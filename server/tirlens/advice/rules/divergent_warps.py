"""divergent-warps: the lanes of a warp take both sides of a condition.

What it finds
-------------
A condition of a GPU kernel that depends on the thread, or on the iteration of a `T.Parallel` loop,
and holds for some lanes of a warp but not for all, such as `t % 2 == 0`. Conditions that hold for
one lane of each warp or fewer are left out: see idle-threads.

Why it costs time
-----------------
A warp executes one instruction for all of its lanes. If they take both sides of a condition, the
warp executes one side after the other, each with a part of its lanes.

Evidence
--------
The saving is the difference between two predictions. In the second, the condition holds for as many
threads of the block, but for whole warps of them.

How to change it
----------------
Divide the work by warps: `t // 32 % 2 == 0` in place of `t % 2 == 0`, with the elements of each
side next to each other.

Example
-------
```diff
 import tilelang.language as T

 N = 1 << 22


 # tirlens: device=h100-sxm
 @T.prim_func
 def waves(X: T.Tensor((N,), "float32"), Y: T.Tensor((N,), "float32")):
     with T.Kernel(N // 256, threads=256) as block:
         t = T.get_thread_binding()
         x = T.alloc_local((1,), "float32")
         x[0] = X[block * 256 + t]
-        if t % 2 == 0:
+        if t // 32 % 2 == 0:
             for _ in T.serial(256):
                 x[0] = T.sin(x[0])
         else:
             for _ in T.serial(256):
                 x[0] = T.exp(x[0])
         Y[block * 256 + t] = x[0]
```

Source
------
NVIDIA, CUDA C++ Best Practices Guide, "Branching and Divergence".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.advice.threads import Threads, threads_of, with_names_replaced
from tirlens.model.report import Advice
from tirlens_counting.expressions import free_variables, negate, simplify, to_text
from tirlens_worker.facts import (
    Access,
    Branch,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Span,
    Statement,
    While,
)


@dataclass(frozen=True)
class _Condition:
    """A condition and the lanes for which it is evaluated, neighbours of a warp next to each other.

    `count` of them satisfy it.
    """

    expr: Expr
    lanes: Threads
    count: int
    sites: tuple[Span, ...]


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "gpu" or question.report.schedule != "gpu":
        return
    facts = with_names_replaced(question.facts)
    threads = threads_of(facts, question.device.limits.warp_size)
    if threads is None:
        return
    found: dict[Expr, _Condition] = {}
    for one in _conditions(facts.body, (), threads):
        if negate(one.expr) not in found:
            found.setdefault(one.expr, one)
    for one in found.values():
        if not _has_same_elements(facts, one):
            continue
        saving_s = question.saving_s(_with_whole_warps(facts, one))
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="divergent-warps",
                span=one.sites[0] if one.sites else facts.span,
                severity="hint",
                action="conditions for whole warps",
                message=(
                    f"{to_text(one.expr)} holds for a part of the lanes of a warp, which executes "
                    "both sides: divide the work by warps"
                ),
                saving_s=saving_s,
            )


def _has_same_elements(facts: KernelFacts, condition: _Condition) -> bool:
    """Whether the lanes access the same elements of global arrays on both sides.

    Elsewhere other lanes on a side have other elements, and do other work.
    """
    arrays = {buffer.id for buffer in facts.buffers if buffer.scope == "global"}
    sides: dict[bool, set[tuple[object, ...]]] = {True: set(), False: set()}
    for holds, access in _accesses(facts.body, condition.expr, None):
        names = frozenset[str]().union(*map(free_variables, access.indices))
        if holds is not None and access.buffer in arrays and names & condition.lanes.names:
            sides[holds].add((access.buffer, *map(simplify, access.indices)))
    return sides[True] == sides[False]


def _accesses(
    body: Sequence[Node], condition: Expr, holds: bool | None
) -> Iterator[tuple[bool | None, Access]]:
    """All accesses, each with whether the condition holds where it is; None on both sides."""
    for node in body:
        if isinstance(node, Branch):
            inside = _holds(node.condition, condition)
            yield from _accesses(node.then, condition, holds if inside is None else inside)
            outside = holds if inside is None else not inside
            yield from _accesses(node.orelse, condition, outside)
        elif isinstance(node, Loop | While):
            yield from _accesses(node.body, condition, holds)
        elif isinstance(node, Statement):
            for access in node.accesses:
                own = None if access.guard is None else _holds(access.guard, condition)
                yield (holds if own is None else own), access


def _holds(expr: Expr, condition: Expr) -> bool | None:
    """Whether `condition` holds where `expr` does; None where they are different conditions."""
    expr = simplify(expr)
    return True if expr == condition else False if expr == negate(condition) else None


def _conditions(
    body: Sequence[Node], parallel: tuple[Loop, ...], threads: Threads
) -> Iterator[_Condition]:
    """The conditions that divide a warp."""
    for node in body:
        exprs: list[Expr] = []
        inner: Sequence[Node] = ()
        around = parallel
        if isinstance(node, Branch):
            exprs = [node.condition] if node.kind == "if" else []
            inner = (*node.then, *node.orelse)
        elif isinstance(node, Loop):
            inner = node.body
            around = (*parallel, node) if node.kind == "parallel" else parallel
        elif isinstance(node, While):
            inner = node.body
        elif isinstance(node, Statement):
            exprs = [one.guard for one in node.arith if one.guard is not None]
        lanes = _lanes(parallel, threads.warp_size) if parallel else threads
        for expr in exprs:
            where = lanes.where(simplify(expr)) if lanes is not None else None
            if where and lanes is not None and _divides_warps(where, lanes.count, lanes.warp_size):
                yield _Condition(simplify(expr), lanes, len(where), node.sites)  # type: ignore
        yield from _conditions(inner, around, threads)


def _lanes(parallel: tuple[Loop, ...], warp_size: int) -> Threads | None:
    """The iterations of parallel loops as lanes; None where their number is not known."""
    axes = [(loop.var, loop.extent) for loop in reversed(parallel) if loop.start == 0]
    if len(axes) < len(parallel) or not all(type(extent) is int for _, extent in axes):
        return None
    return Threads(tuple(axes), warp_size)  # type: ignore[arg-type]


def _divides_warps(where: Sequence[int], count: int, warp: int) -> bool:
    """Whether more than a lane of some warp satisfies the condition, and another one does not."""
    by_warp: dict[int, int] = {}
    for number in where:
        by_warp[number // warp] = by_warp.get(number // warp, 0) + 1
    divided = [
        lanes for number, lanes in by_warp.items() if lanes < min(warp, count - number * warp)
    ]
    # Whole warps leave at most one that is divided.
    return len(divided) > 1 and max(divided) > 1


def _with_whole_warps(facts: KernelFacts, condition: _Condition) -> KernelFacts:
    """`facts` in which the condition holds for the first lanes, as many as before."""
    whole: Expr = ("<", condition.lanes.number, condition.count)
    replaced = {condition.expr: whole, negate(condition.expr): negate(whole)}

    def edit(expr: Expr) -> Expr:
        return replaced.get(simplify(expr), expr)

    return rewrite.change(facts, lambda node: rewrite.with_expressions(node, edit))
