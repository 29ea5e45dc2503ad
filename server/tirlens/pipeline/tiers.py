"""The tiers of an analysis: the source as it is written, as it is lowered, and as it is compiled.

Each tier is a request of its own about the kernels of the one before. Until it is answered the
figures of the tier before stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from tirlens.pipeline.compilation_request import (
    complete_compilation,
    merge_compilations,
    plan_compilation,
)
from tirlens.pipeline.lowering_request import complete_lowering, merge_lowerings, plan_lowering
from tirlens.pipeline.options import Options
from tirlens.pipeline.plan import Part, Plan
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Analyze, Compiler, Result

#: The tiers after that of the source.
FURTHER_TIERS = 2


class Tiers(NamedTuple):
    """A result with all tiers that are known, and the plan of the next tier; None after the last.

    `before` are the same results without the last tiers, the most refined first.
    """

    result: Result
    before: tuple[Result, ...]
    next: Plan | None


def merge_tiers(
    first: Plan, result: Result, options: Options, compiler: Compiler, cache: Mapping[bytes, Part]
) -> Tiers:
    """`result`, a result of the plan `first`, with what is in `cache` of the further tiers."""
    before: tuple[Result, ...] = ()
    lowering = plan_lowering(first, result, options, cache)
    if lowering is not None:
        before = (result, *before)
        result = merge_lowerings(result, lowering.result())
        if lowering.request is not None:
            return Tiers(result, before, lowering)
    compilation = plan_compilation(first, result, options, compiler, cache)
    if compilation is not None:
        before = (result, *before)
        result = merge_compilations(result, compilation.result())
        if compilation.request is not None:
            return Tiers(result, before, compilation)
    return Tiers(result, before, None)


def complete_tier(request: Analyze, answer: Result, kernels: Sequence[KernelFacts]) -> Result:
    """`answer` to a request of a tier, completed by an outcome for each of its kernels.

    `kernels` are the facts of the tier before.
    """
    if any(kernel.emit for kernel in request.kernels):
        return complete_compilation(request, answer, kernels)
    return complete_lowering(request, answer)


def without_compilation(facts: KernelFacts) -> KernelFacts:
    """`facts` without what the compiler made of the kernel."""
    return replace(facts, compiled=(), assembly=())


def as_written(facts: KernelFacts) -> KernelFacts:
    """`facts` of the source alone."""
    return replace(facts, lowered=(), refused={}, compiled=(), assembly=())
