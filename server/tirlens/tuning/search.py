"""The search: every configuration of a kernel traced and evaluated, several steps side by side."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from tirlens.hardware import Device
from tirlens.tuning.calls import CallError, with_arguments
from tirlens.tuning.configurations import Arguments, Axis, distinct, product
from tirlens.tuning.estimator import Analyse, EstimateCalls
from tirlens.tuning.evaluation import Estimates
from tirlens.tuning.proposal import propose
from tirlens.tuning.ranking import Estimate, Ranking, in_order
from tirlens.tuning.stages import Group, without
from tirlens.tuning.subject import Subject, SubjectError
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Configurations, Problem

# Steps grow to about this time, so that progress is shown and little is lost by an interruption.
_STEP_S = 2.0
_FIRST_STEP = 8
_LONGEST_STEP = 256
_UNREACHED = "the analysis of this call did not end in time"


@dataclass(frozen=True)
class Progress:
    """`done` of `total` calls are evaluated after `elapsed_s`; `left_s` is expected to be left."""

    done: int
    total: int
    elapsed_s: float
    left_s: float | None


@dataclass(frozen=True)
class Start:
    """The call of the kernel from which a search starts, and the kernel's own configurations."""

    facts: KernelFacts
    configurations: Configurations | None


class NotAnalysedError(SubjectError):
    """The kernel cannot be analysed with the call from which its search would start."""

    def __init__(self, problems: Sequence[Problem], message: str) -> None:
        super().__init__(message)
        self.problems = tuple(problems)


async def start_of(subject: Subject, analyse: Analyse) -> Start:
    """The first call of `subject` that an analysis would have, with its own configurations.

    Raises:
        NotAnalysedError: there is none.
    """
    result = await analyse(subject.request)
    if not result.kernels:
        needs = ", ".join(name for one in result.needs for name in one.names)
        reasons = [one.message for one in result.problems]
        reason = f"it needs {needs}; --call gives them" if needs else "; ".join(reasons[:1])
        raise NotAnalysedError(result.problems, f"{subject.kernel.name}: {reason or 'no kernel'}")
    facts = result.kernels[0]
    own = next((one for one in result.configurations if one.call == facts.call), None)
    return Start(facts, own)


@dataclass(frozen=True)
class Plan:
    """The configurations of a search with their calls, and their `origin` as in `Ranking`."""

    call: str
    calls: tuple[tuple[Arguments, str], ...]
    origin: str


def plan_search(subject: Subject, start: Start, axes: Sequence[Axis]) -> Plan:
    """The configurations to rank: those of `axes`, with the kernel's own for other parameters.

    Where there are no axes and no own ones, values of its tiles, threads and stages are proposed.

    Raises:
        SubjectError, SpaceError: there are none, or a configuration does not fit the kernel.
    """
    call = start.facts.call
    own = start.configurations.arguments if start.configurations else ()
    origin = "space" if axes else "autotune" if own else "proposed"
    if origin == "proposed":
        axes = propose(subject.template.text, subject.kernel, call)
    configurations = product(axes, own) if axes else distinct(own)
    if not configurations:
        raise SubjectError(
            f"{subject.kernel.name} has no configurations of its own (@tilelang.autotune) and no "
            "parameter that is the size of a tile, the threads of a block or a number of stages; "
            "--space block_M=64,128 gives some"
        )
    try:
        calls = tuple((one, with_arguments(call, subject.kernel, one)) for one in configurations)
    except CallError as error:
        raise SubjectError(str(error)) from error
    return Plan(call, calls, origin)


async def rank(
    plan: Plan,
    subject: Subject,
    start: Start,
    devices: Sequence[Device],
    estimate: EstimateCalls,
    jobs: int = 1,
    on_progress: Callable[[Progress], None] | None = None,
) -> tuple[Ranking, ...]:
    """The ranking of a plan on each of `devices`; `jobs` steps are estimated at a time."""
    began_s = time.monotonic()
    groups = subject.groups(list(dict.fromkeys(call for _, call in plan.calls)))
    found = await estimate_all(groups, estimate, jobs, on_progress)
    duration_s = time.monotonic() - began_s
    unreached = (Estimate(reason=_UNREACHED),) * len(devices)
    return tuple(
        Ranking(
            kernel=subject.kernel.name,
            call=plan.call,
            device=device,
            configurations=in_order(
                [
                    (arguments, call, found.get(call, unreached)[position])
                    for arguments, call in plan.calls
                ]
            ),
            duration_s=duration_s,
            origin=plan.origin,
            assumed=start.facts.assumed_arguments,
            left_out=start.configurations.left_out if start.configurations else 0,
        )
        for position, device in enumerate(devices)
    )


async def estimate_all(
    groups: Sequence[Group],
    estimate: EstimateCalls,
    jobs: int,
    on_progress: Callable[[Progress], None] | None,
) -> Estimates:
    """The estimates of all calls; a step that does not end in time is done again group by group."""
    found: Estimates = {}
    pending = list(reversed(groups))
    total = sum(map(len, groups))
    began_s = time.monotonic()
    done = 0
    pace_s: float | None = None

    def tell() -> None:
        if on_progress is not None:
            elapsed_s = time.monotonic() - began_s
            left_s = elapsed_s / done * (total - done) if done else None
            on_progress(Progress(done, total, elapsed_s, left_s))

    async def work() -> None:
        nonlocal done, pace_s
        while pending:
            fair = -(-sum(map(len, pending)) // jobs)
            calls = _FIRST_STEP if pace_s is None else int(_STEP_S / pace_s)
            step = _take(pending, max(1, min(calls, _LONGEST_STEP, fair)))
            step_began_s = time.monotonic()
            result = await estimate(step)
            pace_s = (time.monotonic() - step_began_s) / sum(map(len, step))
            found.update(result)
            missing = without(step, result)
            if len(missing) < len(step) or len(step) > 1:
                # The first of them is what took the time, or ended the process.
                pending.extend(reversed(missing[1:]))
                if missing:
                    found.update(await estimate(missing[:1]))
            done = total - sum(map(len, pending))
            tell()

    tell()
    await asyncio.gather(*(work() for _ in range(jobs)))
    return found


def _take(pending: list[Group], calls: int) -> list[Group]:
    """The last of `pending`, removed from it, with about so many calls."""
    step = [pending.pop()]
    while pending and sum(map(len, step)) + len(pending[-1]) <= calls:
        step.append(pending.pop())
    return step
