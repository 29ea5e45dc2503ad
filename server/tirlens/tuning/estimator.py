"""Estimates of calls: traced by a worker, evaluated by the model in other threads or processes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Executor
from typing import TypeAlias

from tirlens.hardware import Device
from tirlens.tuning.evaluation import Estimates, estimates_of
from tirlens.tuning.stages import Group, without
from tirlens.tuning.store import EstimateStore
from tirlens.tuning.subject import Subject
from tirlens_worker.protocol import Analyze, Result

#: Sends a request to a worker under the kernel's interpreter.
Analyse: TypeAlias = Callable[[Analyze], Awaitable[Result]]
#: The estimates of calls on each device, by call, without those that were not reached.
EstimateCalls: TypeAlias = Callable[[Sequence[Group]], Awaitable[Estimates]]


def estimator(
    subject: Subject,
    devices: Sequence[Device],
    analyse: Analyse,
    executor: Executor | None = None,
    store: EstimateStore | None = None,
) -> EstimateCalls:
    """Estimates calls of `subject` on `devices`.

    Parameters
    ----------
    analyse
        Answers the requests; several may be in progress at a time.
    executor
        Executes the model; a thread of this process by default.
    store
        Estimates of earlier searches, to which these are added.
    """

    async def estimate_groups(groups: Sequence[Group]) -> Estimates:
        result = await analyse(subject.request_for([group[0].call for group in groups]))
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(
            executor, estimates_of, groups, result, devices, subject.bindings
        )
        if store is not None:
            store.add(found, result)
        return found

    async def estimate(groups: Sequence[Group]) -> Estimates:
        calls = [variant.call for group in groups for variant in group]
        known = {} if store is None else store.find(calls)
        groups = without(groups, known)
        if groups:
            known |= await estimate_groups(groups)
        # What the framework refuses with some stages it may take with others.
        reached = [group for group in groups if group[0].call in known]
        alone = [(variant,) for group in without(reached, known) for variant in group]
        if alone:
            known |= await estimate_groups(alone)
        return known

    return estimate
