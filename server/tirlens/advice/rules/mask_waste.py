"""mask-waste: a loop computes tile products that a mask discards.

What it finds
-------------
A loop over tiles in which a mask discards at least 10 % of the kernel's operations, and where the
mask itself says from which iteration on nothing is kept.

Why it costs time
-----------------
A causal attention kernel that visits every block of keys multiplies tiles that lie wholly above the
diagonal. Half of its matrix products are thrown away.

Evidence
--------
The hover's row "useful" has the share of the operations that the mask discards (`masked_flop` in
the JSON). The saving is the difference between two predictions: the rule derives the first masked
iteration from the condition and ends the loop there.

How to change it
----------------
Replace the extent of the loop by the expression of the message.

Example
-------
```diff
 import tilelang.language as T

 B, S, D = 16, 4096, 128


 # tirlens: device=h100-sxm
 @T.prim_func
 def attention(
     Q: T.Tensor((B, S, D), "float16"),
     K: T.Tensor((B, S, D), "float16"),
     Out: T.Tensor((B, S, D), "float32"),
 ):
     with T.Kernel(S // 128, B, threads=256) as (bx, by):
         Q_shared = T.alloc_shared((128, D), "float16")
         K_shared = T.alloc_shared((128, D), "float16")
         P_shared = T.alloc_shared((128, 128), "float16")
         P = T.alloc_fragment((128, 128), "float32")
         acc = T.alloc_fragment((128, D), "float32")
         T.clear(acc)
         T.copy(Q[by, bx * 128, 0], Q_shared)
-        for k in T.Pipelined(S // 128, num_stages=2):
+        for k in T.Pipelined(bx + 1, num_stages=2):
             T.copy(K[by, k * 128, 0], K_shared)
             for i, j in T.Parallel(128, 128):
                 P[i, j] = T.if_then_else(bx * 128 + i >= k * 128 + j, 0, -T.infinity("float32"))
             T.gemm(Q_shared, K_shared, P, transpose_B=True)
             T.copy(P, P_shared)
             T.gemm(P_shared, K_shared, acc)
         T.copy(acc, Out[by, bx * 128, 0])
```

Source
------
T. Dao, "FlashAttention-2", 2023, section 3.1 (causal masking).
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_counting.expressions import conjuncts, from_linear, linear, simplify, to_text
from tirlens_worker.facts import Arith, Expr, Loop

#: The share of masked products from which a bound is worth its while.
LEAST = 0.1


def check(question: Question) -> Iterator[Advice]:
    masked, flop = question.report.masked_flop, question.report.flop
    if not masked or not flop or masked < LEAST * flop:
        return
    for loop, _ in rewrite.loops(question.facts):
        if loop.kind not in ("pipelined", "serial") or not loop.sites:
            continue
        if not question.can_save(loop):
            continue
        needed = _needed_trips(loop)
        if needed is None:
            continue
        trips = simplify(("max", 0, ("min", loop.extent, needed)))
        saving_s = question.saving_s(rewrite.with_extent(question.facts, loop, trips), loop)
        if question.is_noticeable(saving_s):
            yield Advice(
                rule="mask-waste",
                span=loop.sites[0],
                severity="hint",
                action="shorter loops up to the mask",
                message=(
                    f"{masked / flop:.0%} of the work is masked off: "
                    f"{to_text(needed)} iterations in place of {to_text(loop.extent)} suffice"
                ),
                saving_s=saving_s,
            )


def _needed_trips(loop: Loop) -> Expr | None:
    """How many iterations of `loop` its mask leaves; None where that does not tell."""
    products = [
        item
        for statement in rewrite.statements_in(loop)
        for item in statement.arith
        if item.op == "mma" and item.useful is not None
    ]
    bounds = {_first_masked(item, loop.var) for item in products}
    if len(bounds) != 1 or loop.step != 1:
        return None
    (bound,) = bounds
    if bound is None:
        return None
    return simplify(("-", bound, loop.start))


def _first_masked(product: Arith, variable: str) -> Expr | None:
    """The value of `variable` from which on no point of the product's tile is behind its mask."""
    assert product.useful is not None
    if product.useful.guard is None:
        return None
    reach = dict(product.useful.loops)
    for condition in conjuncts(product.useful.guard):
        if not isinstance(condition, tuple) or condition[0] not in (">=", ">", "<=", "<"):
            continue
        op, first, second = condition
        low, high = (second, first) if op[0] == ">" else (first, second)
        # low <= high + slack, that is: factor * variable <= rest.
        everything, rest = linear(simplify(("-", high, low)))
        factor = -everything.get(variable, 0)
        if factor <= 0:
            continue
        terms = {atom: times for atom, times in everything.items() if atom != variable}
        most = _largest(terms, rest - (len(op) == 1), reach)
        if most is not None:
            return simplify(("+", ("//", most, factor), 1))
    return None


def _largest(terms: dict[Expr, int], constant: int, reach: dict[str, Expr]) -> Expr | None:
    """The most that the sum is over the points of a tile."""
    outer: dict[Expr, int] = {}
    for atom, factor in terms.items():
        extent = reach.get(atom) if isinstance(atom, str) else None
        if extent is None:
            outer[atom] = factor
        elif isinstance(extent, int):
            constant += max(factor, 0) * (extent - 1)
        else:
            return None
    return from_linear(outer, constant)
