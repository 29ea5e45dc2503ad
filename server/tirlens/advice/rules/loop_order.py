"""loop-order: the innermost loop of a CPU kernel goes from line to line of an array.

A core loads whole lines of its cache and computes with vectors of neighbours, so the loop that goes
along the last dimension belongs innermost; a sum over the innermost loop is also a chain of
additions that wait for each other (K. Goto, R. van de Geijn, "Anatomy of High-Performance Matrix
Multiplication", 2008).  The rule puts each loop innermost that goes from element to element of an
array, with the ``T.init`` of a reduction in loops of its own, and reports the best.
"""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.advice.independence import Nest, nests, with_innermost
from tirlens.advice.rule import Question
from tirlens.model.report import Advice
from tirlens_counting.expressions import linear
from tirlens_worker.facts import Loop


def check(question: Question) -> Iterator[Advice]:
    if question.device.kind != "cpu":
        return
    for nest in nests(question.facts):
        outer = nest.loops[0]
        if not outer.sites:
            continue
        options = [
            (saving_s, -place)
            for place, loop in enumerate(nest.loops[:-1])
            if _goes_along(nest, loop)
            and (saving_s := question.saving_s(with_innermost(question.facts, nest, place)))
            is not None
        ]
        saving_s, place = max(options, default=(None, 0))
        if question.is_noticeable(saving_s):
            inner = nest.loops[-place].var
            order = [loop.var for loop in nest.loops if loop.var != inner]
            apart = ", T.init in loops of its own" if nest.init is not None else ""
            yield Advice(
                rule="loop-order",
                span=outer.sites[0],
                severity="hint",
                message=(
                    f"{inner} innermost goes along rows: loops in the order "
                    f"{', '.join((*order, inner))}{apart}"
                ),
                saving_s=saving_s,
            )


def _goes_along(nest: Nest, loop: Loop) -> bool:
    """Whether some array's elements are taken one after the other along `loop`."""
    return any(
        linear(access.indices[-1])[0].get(loop.var) == 1
        for access in nest.statement.accesses
        if access.indices
    )
