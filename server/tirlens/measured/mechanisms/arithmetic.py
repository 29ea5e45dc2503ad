"""Arithmetic that the kernel executes and the prediction does not count, and matrix units."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement, times
from tirlens.quantity_text import number

#: FLOP of one thread instruction by its name in the counters, for each class.
_CLASSES = {
    "fp32": {"fadd": 1, "fmul": 1, "ffma": 2},
    "fp16": {"hadd": 1, "hmul": 1, "hfma": 2},
    "fp64": {"dadd": 1, "dmul": 1, "dfma": 2},
}
_COUNTER = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
_PER_CYCLE = ".per_cycle_elapsed"
_CYCLES_PER_S, _DURATION = "smsp__cycles_elapsed.avg.per_second", "gpu__time_duration.sum"
#: Counters of all matrix instructions; on sm_90 those of warps and of warpgroups are apart.
_MATRIX_TOTALS = ("sm__pipe_tensor_cycles_active", "sm__inst_executed_pipe_tensor")
_MATRIX_PARTS = (
    "sm__inst_executed_pipe_tensor_op_hmma",
    "sm__inst_executed_pipe_tensor_op_imma",
    "sm__inst_executed_pipe_tensor_op_gmma",
)
LEAST_RATIO = 1.3
#: The least share of the measured time that the units need for it, to be its cause.
LEAST_SHARE = 0.25


def check(question: Question) -> Iterator[Mechanism]:
    """More FLOP of a slower kernel, fewer of a faster one; products without matrix units."""
    for name, operations in _CLASSES.items():
        yield from _flop(question, name, operations)
    yield from _matrix_units(question)


def _flop(question: Question, name: str, operations: dict[str, int]) -> Iterator[Mechanism]:
    counters = {_COUNTER.format(word): flop for word, flop in operations.items()}
    values = {counter: _thread_instructions(question, counter) for counter in counters}
    known = {counter: value for counter, value in values.items() if value is not None}
    peak, predicted = question.device.peaks.get(name), question.report.flop_by_class.get(name)
    if len(known) < len(counters) or peak is None or not predicted:
        return
    measured = math.fsum(counters[counter] * value for counter, value in known.items())
    longer_s = max(question.measured_s, question.report.time_s or 0.0)
    least_s = max(measured, predicted) / (peak.flop_per_s * peak.sustained_fraction)
    ratio = measured / predicted
    differs = ratio >= LEAST_RATIO if question.is_slower else ratio <= 1 / LEAST_RATIO
    if differs and measured and least_s >= LEAST_SHARE * longer_s:
        yield Mechanism(
            "flop",
            f"{name} FLOP {times(measured, predicted)}: {number(measured)}, not "
            f"{number(predicted)}",
            measured,
            predicted,
            "FLOP",
            tuple(known),
            disagreement(measured, predicted),
        )


def _thread_instructions(question: Question, counter: str) -> float | None:
    """The thread instructions of a counter, which may be by cycle."""
    found = question.counter(counter)
    if found is not None:
        return found[1]
    by_cycle, rate = question.counter(counter + _PER_CYCLE), question.counter(_CYCLES_PER_S)
    duration = question.counter(_DURATION)
    if by_cycle is None or rate is None or duration is None:
        return None
    return by_cycle[1] * rate[1] * duration[1]


def _matrix_units(question: Question) -> Iterator[Mechanism]:
    """Products that no matrix unit computes, where the counters are of all its instructions.

    tcgen05 has a pipe of its own, which these counters do not have.
    """
    predicted = sum(
        flop for name, flop in question.report.flop_by_class.items() if name.startswith("tensor.")
    )
    if not predicted or not question.is_slower or "tcgen05" in question.device.features:
        return
    found: dict[str, float] = {}
    for name, value in question.counters.items():
        found[name.partition(".")[0]] = max(found.get(name.partition(".")[0], 0.0), value)
    totals = [name for name in _MATRIX_TOTALS if name in found]
    names = totals or (_MATRIX_PARTS if all(name in found for name in _MATRIX_PARTS) else ())
    if names and not any(found[name] for name in names):
        yield Mechanism(
            "matrix-units",
            f"no matrix instruction is executed, {number(predicted)} FLOP of them by the "
            "prediction",
            0.0,
            predicted,
            "FLOP",
            tuple(names),
            disagreement(question.measured_s, question.report.time_s or question.measured_s),
        )
