"""The second tier of an analysis: the request to lower kernels, and the merge of its answer.

The first tier reads a kernel as it is written. tilelang decides more when it lowers a kernel: the
threads of a TMA producer, the buffers of each stage, the width of each access. A second request
asks the worker to lower the same kernels for the architecture of their devices, without a GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace

from tirlens.hardware import Device
from tirlens.pipeline.device_choice import choose_devices
from tirlens.pipeline.file_report import KernelIndex
from tirlens.pipeline.options import Options
from tirlens.pipeline.plan import Part, Plan, plan_analysis, top_level_name
from tirlens.source.source_file import SourceFile
from tirlens_worker.facts import Caveat, KernelFacts
from tirlens_worker.protocol import Analyze, CallCandidate, KernelRequest, Lowering, Problem, Result

# Problems that say nothing about the text: the request is repeated.
_RETRIED_PROBLEMS = frozenset({"cancelled", "interpreter"})


def lowering_request(
    first: Analyze, result: Result, source: SourceFile, options: Options
) -> Analyze | None:
    """The request to lower the kernels of `result`, the answer to `first`.

    Each kernel is requested by the call that yielded its facts. None if there is nothing to lower.
    """
    requests: dict[tuple[str, str, str], KernelRequest] = {}
    index, requested = KernelIndex(source), RequestIndex(first.kernels)
    versions = Counter((kernel.name, kernel.prim_func) for kernel in first.kernels)
    choices = choose_devices(result.kernels, index.find, options)
    for facts, choice in zip(result.kernels, choices, strict=True) if options.lower else ():
        arch = _architecture(facts, choice.device)
        request = requested.find(facts)
        if arch is None or request is None or _is_known(facts, arch):
            continue
        if versions[request.name, request.prim_func] > 1:
            # The lowerings of two kernels with one name cannot be distinguished.
            continue
        call = CallCandidate(facts.call, facts.call_source, required=True)
        requests[facts.definition, facts.call, arch] = replace(
            request,
            candidates=(call,),
            allow_assumed=False,
            lower_to={"kind": "cuda", "arch": arch},
        )
    return replace(first, kernels=tuple(requests.values())) if requests else None


def plan_lowering(
    first: Plan, result: Result, options: Options, cache: Mapping[bytes, Part]
) -> Plan | None:
    """Plan the lowering of the kernels of `result`, a result of the plan `first`.

    None if there is nothing to lower.
    """
    request = lowering_request(first.whole, result, first.source, options)
    return request and plan_analysis(request, first.source, first.environment, cache)


def complete_lowering(request: Analyze, answer: Result) -> Result:
    """`answer` to a lowering request, completed by an outcome for each kernel that has none.

    A kernel that takes too long or crashes the worker is then not tried again. An answer that
    says nothing about the text (cancelled, no interpreter) is returned unchanged.
    """
    if any(problem.kind in _RETRIED_PROBLEMS for problem in answer.problems):
        return answer
    missing: list[Lowering] = []
    for kernel in _missing_kernels(request, answer):
        call, arch = kernel.candidates[0].expression, str(kernel.lower_to["arch"])
        reason = missing_reason(kernel, answer.problems, "it yields no lowered kernel")
        missing.append(Lowering(kernel.name, "", call, arch, unfinished=reason))
    return replace(answer, lowered=(*answer.lowered, *missing), problems=())


def missing_reason(kernel: KernelRequest, problems: Sequence[Problem], default: str) -> str:
    """Why an answer has nothing for a kernel, by its `problems`; `default` where they do not say.

    The kernel's own problem is preferred, and a failed import is the last choice: the worker may
    have continued without it.
    """
    related = [problem for problem in problems if problem.kernel in (kernel.name, None)]
    related.sort(key=lambda problem: (problem.kernel is None, problem.kind == "import"))
    return related[0].message if related else default


def was_interrupted(answer: Result) -> bool:
    """Whether `answer` is incomplete for a reason that lies in no kernel.

    It was cancelled, or the worker could not start, or died. A repeated request may succeed.
    """
    kinds = {problem.kind for problem in answer.problems if problem.kernel is None}
    return not kinds.isdisjoint({*_RETRIED_PROBLEMS, "crash"})


def completed_parts(plan: Plan, request: Analyze, answer: Result) -> dict[bytes, Part]:
    """The cacheable parts of a completed `answer` to a `request` of a later tier's `plan`."""
    names = {top_level_name(kernel) for kernel in request.kernels}
    return plan.cacheable_parts(plan.result(replace(answer, problems=())), sorted(names))


def _missing_kernels(request: Analyze, answer: Result) -> list[KernelRequest]:
    done = {(item.kernel, item.call) for item in answer.lowered}
    return [k for k in request.kernels if (k.name, k.candidates[0].expression) not in done]


def merge_lowerings(result: Result, answer: Result) -> Result:
    """`result` with the lowerings of `answer`, the completed answer to its lowering request."""
    lowerings: dict[tuple[str, str], list[Lowering]] = {}
    for item in answer.lowered:
        lowerings.setdefault((item.kernel, item.call), []).append(item)
    return replace(
        result,
        kernels=tuple(
            _with_lowerings(facts, lowerings.get((facts.definition, facts.call), ()))
            for facts in result.kernels
        ),
    )


def _with_lowerings(facts: KernelFacts, lowerings: Sequence[Lowering]) -> KernelFacts:
    own = [item for item in lowerings if item.name in (facts.name, "")]
    unfinished = [item for item in own if item.unfinished]
    if not own:
        return facts
    return replace(
        facts,
        lowered=(*facts.lowered, *(item.launch for item in own if item.launch is not None)),
        refused={**facts.refused, **{item.arch: item.error for item in own if item.error}},
        caveats=(
            *facts.caveats,
            *(Caveat(f"was not lowered for {item.arch}: {item.unfinished}") for item in unfinished),
        ),
    )


def _architecture(facts: KernelFacts, device: Device) -> str | None:
    """The CUDA architecture to lower a kernel for; None for a kernel that is not lowered.

    TVM launches a kernel as it is written.
    """
    if facts.framework != "tilelang" or not facts.launch.grid:
        return None
    arch = device.arch
    return arch if arch.startswith("sm_") else None


class RequestIndex:
    """Finds the request that facts answer."""

    def __init__(self, requests: Sequence[KernelRequest]) -> None:
        self._named: dict[str, KernelRequest] = {}
        self._exact: dict[tuple[str, int], KernelRequest] = {}
        for request in requests:
            self._named.setdefault(request.name, request)
            self._exact.setdefault((request.name, request.span.line), request)

    def find(self, facts: KernelFacts) -> KernelRequest | None:
        """The request with the name and the line of `facts`, else the first with the name."""
        name = facts.definition
        return self._exact.get((name, facts.span.line)) or self._named.get(name)


def _is_known(facts: KernelFacts, arch: str) -> bool:
    return arch in facts.refused or any(item.arch == arch for item in facts.lowered)
