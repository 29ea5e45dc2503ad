"""A search of the kernels next to a kernel: other tiles, threads and stages."""

from __future__ import annotations

import math
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tirlens.advice import rewrite
from tirlens.advice.rule import Question
from tirlens.advice.tile_sizes import tiled_loops, with_tile
from tirlens_worker.facts import Gemm, KernelFacts

#: A step that saves less than this share of the time is not taken.
LEAST_GAIN = 0.03
#: The most evaluations of the model in one search.
MOST_EVALUATIONS = 32
LARGER, SMALLER = Fraction(2), Fraction(1, 2)
#: With more waves of blocks than this, smaller tiles do not fill more SMs.
FEW_WAVES = 2.0
STAGES = range(1, 5)
#: The name of what changes, and its change.
_Step = tuple[str, Fraction | int]
#: A product of tiles has at least so many rows, columns and depth for each instruction.
LEAST_PRODUCT = 16
LEAST_THREADS = 32


@dataclass(frozen=True)
class Found:
    """A kernel of the neighbourhood, its predicted time and what it saves."""

    facts: KernelFacts
    time_s: float
    saving_s: float = 0.0


def search(question: Question, facts: KernelFacts) -> Found | None:
    """The fastest kernel that is found by steps which each make it faster.

    `facts` are those of the question without names. A step is repeated as long as it makes the
    kernel faster, and then not tried again. Smaller tiles are tried only where they can help, which
    is with fewer than two waves of blocks, or where registers spill. None where no step is faster.
    """
    report = question.report
    if report.time_s is None:
        return None
    waves = report.waves.count if report.waves else 0.0
    is_scarce = waves < FEW_WAVES or any(caveat.is_spill for caveat in report.caveats)
    factors = (LARGER, SMALLER) if is_scarce else (LARGER,)
    best = start = Found(facts, report.time_s)
    seen = {_signature(facts)}
    slower: set[_Step] = set()
    steps = _neighbours(best.facts, factors, slower)
    while len(seen) < MOST_EVALUATIONS and (option := next(steps, None)) is not None:
        step, changed = option
        signature = _signature(changed)
        if signature in seen or not _is_allowed(changed, facts, question):
            continue
        seen.add(signature)
        found = _evaluate(question, changed)
        if found is None or found.time_s > (1 - LEAST_GAIN) * best.time_s:
            slower.add(step)
        else:
            best = found
            steps = _neighbours(best.facts, factors, slower)
    return None if best is start else best


def _evaluate(question: Question, facts: KernelFacts) -> Found | None:
    """A kernel with its predicted time; None where it cannot run, or where registers spill."""
    report = question.what_if(facts)
    is_spilled = any(caveat.is_spill for caveat in report.caveats)
    saving_s = question.saving_of_report_s(report)
    if report.time_s is None or is_spilled or saving_s is None:
        return None
    return Found(facts, report.time_s, saving_s)


def _signature(facts: KernelFacts) -> tuple[object, ...]:
    """What kernels of one neighbourhood differ in."""
    stages = tuple(loop.annotations.get("num_stages") for loop, _ in rewrite.loops(facts))
    shapes = tuple(buffer.shape for buffer in facts.buffers)
    return facts.launch.grid, facts.launch.threads, shapes, stages


def _neighbours(
    facts: KernelFacts, factors: Sequence[Fraction], without: Container[_Step]
) -> Iterator[tuple[_Step, KernelFacts]]:
    """Kernels in which one size is another one, each with the step to it, but for some steps."""
    for loop in tiled_loops(facts):
        for factor in factors:
            if (loop.var, factor) in without:
                continue
            changed = with_tile(facts, loop, factor)
            if changed is not None:
                yield (loop.var, factor), changed
    threads = rewrite.thread_loop(facts)
    if threads is not None and isinstance(threads.extent, int):
        for factor in (LARGER, SMALLER):
            if (threads.var, factor) in without:
                continue
            changed = rewrite.with_threads(facts, int(threads.extent * factor))
            if changed is not None:
                yield (threads.var, factor), changed
    for loop, _ in rewrite.loops(facts):
        now = loop.annotations.get("num_stages", 0)
        if loop.kind == "pipelined" and isinstance(now, int):
            for more in (1, -1):
                step = f"{loop.var} stages", more
                if now + more in STAGES and step not in without:
                    yield step, rewrite.with_stages(facts, loop, now + more)


def _is_allowed(changed: KernelFacts, facts: KernelFacts, question: Question) -> bool:
    """Whether a framework accepts the tiles and threads."""
    most = question.device.limits.threads_per_block
    if not LEAST_THREADS <= _thread_count(changed) <= most:
        return False
    warp = question.device.limits.warp_size
    least = min(LEAST_PRODUCT * LEAST_PRODUCT, _least_of_warp(facts, warp))
    return _least_of_warp(changed, warp) >= least and all(
        min(sizes) >= LEAST_PRODUCT for sizes in _products(changed)
    )


def _thread_count(facts: KernelFacts) -> int:
    return math.prod(extent for extent in facts.launch.threads if isinstance(extent, int))


def _least_of_warp(facts: KernelFacts, warp: int) -> float:
    """The fewest elements of a product's result for each warp; infinite without a product."""
    warps = max(_thread_count(facts) // warp, 1)
    return min((m * n / warps for m, n, _ in _products(facts)), default=math.inf)


def _products(facts: KernelFacts) -> Iterator[tuple[int, int, int]]:
    """The rows, columns and depth of the products of tiles."""
    for statement, _ in rewrite.statements(facts):
        if isinstance(statement, Gemm) and statement.m_n_k is not None:
            m, n, k = statement.m_n_k
            if isinstance(m, int) and isinstance(n, int) and isinstance(k, int):
                yield m, n, k
