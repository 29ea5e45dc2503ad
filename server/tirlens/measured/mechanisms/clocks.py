"""SM clocks that differ from those of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator

from tirlens.measured.mechanisms.mechanism import Mechanism, Question, disagreement

_RATES = (
    "sm__cycles_elapsed.avg.per_second",
    "smsp__cycles_elapsed.avg.per_second",
    "gpc__cycles_elapsed.avg.per_second",
)
_CYCLES = ("sm__cycles_elapsed.max", "gpc__cycles_elapsed.max")
_DURATION = "gpu__time_duration.sum"
#: A clock that differs by less is that of the catalogue.
LEAST_DIFFERENCE = 0.05


def check(question: Question) -> Iterator[Mechanism]:
    """A lower clock of a slower kernel, a higher one of a faster kernel.

    DRAM has a clock of its own, so that a kernel bound by DRAM is not explained by it.  ncu locks
    the clock to the base clock unless it is called with ``--clock-control none``.
    """
    found = _clock_hz(question)
    if found is None or not question.counters_are_of_timed_run or question.report.bound == "dram":
        return
    names, measured_hz = found
    expected_hz = question.device.clock_hz
    ratio = measured_hz / expected_hz
    differs = ratio <= 1 - LEAST_DIFFERENCE if question.is_slower else ratio >= 1 + LEAST_DIFFERENCE
    if differs:
        yield Mechanism(
            "clock",
            f"SM clock {measured_hz / 1e9:.2f} GHz, {expected_hz / 1e9:.2f} GHz in the catalogue: "
            f"{1 / ratio:.2f}x the time of what is bound by the SMs",
            measured_hz,
            expected_hz,
            "Hz",
            names,
            disagreement(measured_hz, expected_hz),
        )


def _clock_hz(question: Question) -> tuple[tuple[str, ...], float] | None:
    rate = question.counter(*_RATES)
    if rate is not None and rate[1]:
        return (rate[0],), rate[1]
    cycles, duration = question.counter(*_CYCLES), question.counter(_DURATION)
    if cycles is None or duration is None or not duration[1] or not cycles[1]:
        return None
    return (cycles[0], duration[0]), cycles[1] / duration[1]
