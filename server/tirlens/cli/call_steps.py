"""Requests with many calls, in steps that the limits of one analysis are for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tirlens_worker.protocol import Analyze, KernelRequest, Result

# Calls that are all wanted are analysed in steps of so many.
_CALLS_OF_A_STEP = 24


def steps_by_calls(request: Analyze) -> Iterator[Analyze]:
    """`request` in steps of few calls each."""
    kernels: list[KernelRequest] = []
    count = 0
    for kernel in request.kernels:
        required = [item for item in kernel.candidates if item.required]
        for first in range(0, len(required) or 1, _CALLS_OF_A_STEP):
            calls = required[first : first + _CALLS_OF_A_STEP]
            if kernels and count + len(calls) > _CALLS_OF_A_STEP:
                yield replace(request, kernels=tuple(kernels))
                kernels, count = [], 0
            is_part = len(calls) < len(required)
            kernels.append(replace(kernel, candidates=tuple(calls)) if is_part else kernel)
            count += len(calls)
    yield replace(request, kernels=tuple(kernels))


def merge_steps(results: Sequence[Result]) -> Result:
    """The results of the steps of a request as one."""
    if len(results) == 1:
        return results[0]
    return replace(
        results[0],
        kernels=tuple(item for result in results for item in result.kernels),
        generated=tuple(item for result in results for item in result.generated),
        needs=tuple(item for result in results for item in result.needs),
        problems=tuple(dict.fromkeys(item for result in results for item in result.problems)),
        files=tuple(dict.fromkeys(item for result in results for item in result.files)),
        duration_s=sum(result.duration_s for result in results),
    )
