"""What warps wait for, where it is not what bounds the kernel by the prediction."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question
from tirlens.quantity_text import percent

_COUNTER = re.compile(
    r"smsp__(?:average_warps|average_warp_latency|pcsamp_warps)_issue_stalled_"
    r"(?P<reason>[a-z0-9_]+?)(?:_per_issue_active|_not_issued)*(?:\.[a-z_.]+)?"
)
#: What a warp waits for, and the bounds of the prediction that are the same; by Nsight Compute's
#: names of stall reasons (Kernel Profiling Guide, "Warp Stall Reasons").
_REASONS: dict[str, tuple[str, frozenset[str]]] = {
    "barrier": ("for other warps at barriers", frozenset({"latency"})),
    "membar": ("at memory fences", frozenset()),
    "long_scoreboard": (
        "for loads of global or local memory", frozenset({"dram", "l2", "latency", "llc"}),
    ),
    "short_scoreboard": (
        "for shared memory or special functions", frozenset({"shared", "sfu", "latency"}),
    ),
    "mio_throttle": (
        "for the queue of shared memory and special functions", frozenset({"shared", "sfu"}),
    ),
    "lg_throttle": ("for the queue of global memory", frozenset({"dram", "l2"})),
    "tex_throttle": ("for the queue of the texture unit", frozenset()),
    "math_pipe_throttle": (
        "for arithmetic units", frozenset({"fp64", "fp32", "fp16", "int", "tensor", "sfu", "cvt"}),
    ),
    "wait": ("for results of arithmetic", frozenset({"latency", "issue"})),
    "no_instruction": ("for instructions: the cache of instructions misses", frozenset()),
    "imc_miss": ("for constants: their cache misses", frozenset()),
    "branch_resolving": ("for branches", frozenset()),
    "drain": ("for stores at their end", frozenset({"dram", "l2"})),
    "gmma": ("for products of matrix units", frozenset({"tensor"})),
    "sleeping": ("because they sleep", frozenset()),
    "dispatch_stall": ("for the dispatcher", frozenset({"issue"})),
}  # fmt: skip
#: A reason below this part of all waiting is none.
LEAST_PART = 0.3


def check(question: Question) -> Iterator[Mechanism]:
    """The main reason of a slower kernel, unless it is that of the predicted bound."""
    if not question.is_slower:
        return
    found: dict[str, float] = {}
    names: dict[str, str] = {}
    for name in question.counters:
        match = _COUNTER.fullmatch(name)
        value = question.counter(name)
        if match is None or value is None or match["reason"] not in _REASONS:
            continue
        # A trace may have several counters of one reason.
        if match["reason"] not in names:
            found[match["reason"]] = value[1]
            names[match["reason"]] = name
    total = sum(found.values())
    if len(found) < 3 or not total:
        return
    reason = max(found, key=lambda item: found[item])
    part = found[reason] / total
    words, bounds = _REASONS[reason]
    if part >= LEAST_PART and question.report.bound not in bounds:
        yield Mechanism(
            f"stall-{reason.replace('_', '-')}",
            f"warps wait {words} ({percent(part)} of their waiting), bound by "
            f"{question.report.bound or 'nothing known'} by the prediction",
            part,
            None,
            "fraction",
            (names[reason],),
            part / 2,
        )
