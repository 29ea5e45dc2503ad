"""The second tier: what to lower for which architecture, and what came of it.

The first tier reads a kernel as it is written and is there at once.  tilelang decides more while it
lowers: the threads of a TMA producer, the buffers of each stage, the width of each access.  A
second request has it lower the same kernels for the architecture of their devices, without a GPU.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from tirlens.pipeline.devices import choose
from tirlens.pipeline.options import Options
from tirlens.pipeline.parts import Part, Plan, top_level_name
from tirlens.pipeline.reports import Sources
from tirlens.source.kernel import SourceFile
from tirlens_worker.facts import Caveat, KernelFacts
from tirlens_worker.protocol import Analyze, CallCandidate, KernelRequest, Lowering, Problem, Result

# Problems that say nothing of the text, after which the same is asked again.
_ASKED_AGAIN = frozenset({"cancelled", "interpreter"})


def lowering_request(
    first: Analyze, result: Result, source: SourceFile, options: Options
) -> Analyze | None:
    """What to ask after `first` was answered by `result`; None if there is nothing to lower.

    Each kernel is asked for by the very call that yielded its facts.
    """
    asked: dict[tuple[str, str, str], KernelRequest] = {}
    sources = Sources(source)
    versions = Counter((kernel.name, kernel.prim_func) for kernel in first.kernels)
    for facts in result.kernels if options.lower else ():
        arch = _architecture(facts, sources, options)
        request = _request_of(facts, first.kernels)
        if arch is None or request is None or _is_known(facts, arch):
            continue
        if versions[request.name, request.prim_func] > 1:
            # What comes of one version of a kernel cannot be told from what comes of another.
            continue
        call = CallCandidate(facts.call, facts.call_source, required=True)
        asked[facts.definition, facts.call, arch] = replace(
            request,
            candidates=(call,),
            allow_assumed=False,
            lower_to={"kind": "cuda", "arch": arch},
        )
    return replace(first, kernels=tuple(asked.values())) if asked else None


def lowering_plan(first: Plan, result: Result, options: Options) -> Plan | None:
    """What of the lowerings for `result`, which `first` gave, is known, and what is to be asked."""
    request = lowering_request(first.whole, result, first.source, options)
    return request and Plan(request, first.source, first.environment, first.known)


def finished(request: Analyze, answer: Result) -> Result:
    """`answer` to a lowering request, with an outcome also for kernels that it has none of.

    So those that took too long or crashed the worker are not tried again.  An answer that says
    nothing of the text (cancelled, no interpreter) is given back as it is.
    """
    if any(problem.kind in _ASKED_AGAIN for problem in answer.problems):
        return answer
    lost: list[Lowering] = []
    for kernel in _unanswered(request, answer):
        call, arch = kernel.candidates[0].expression, str(kernel.lower_to["arch"])
        why = _reason(kernel, answer.problems)
        lost.append(Lowering(kernel.name, "", call, arch, unfinished=why))
    return replace(answer, lowered=(*answer.lowered, *lost), problems=())


def _reason(kernel: KernelRequest, problems: Sequence[Problem]) -> str:
    """Why nothing came of a kernel.

    Its own problem says it best; an import that failed was passed over if anything else is told.
    """
    told = [problem for problem in problems if problem.kernel in (kernel.name, None)]
    told.sort(key=lambda problem: (problem.kernel is None, problem.kind == "import"))
    return told[0].message if told else "nothing came of it"


def was_cut_off(answer: Result) -> bool:
    """Whether it was for no kernel's sake that `answer` ended where it did.

    It was cancelled, or the worker was not to be had, or has died: another one may go on.
    """
    kinds = {problem.kind for problem in answer.problems if problem.kernel is None}
    return not kinds.isdisjoint({*_ASKED_AGAIN, "crash"})


def lowered_parts(plan: Plan, request: Analyze, answer: Result) -> dict[bytes, Part]:
    """The parts of a lowering `plan` that the `finished` answer to a `request` of it gives."""
    names = {top_level_name(kernel) for kernel in request.kernels}
    return plan.kept(plan.result(replace(answer, problems=())), sorted(names))


def _unanswered(request: Analyze, answer: Result) -> list[KernelRequest]:
    done = {(item.kernel, item.call) for item in answer.lowered}
    return [k for k in request.kernels if (k.name, k.candidates[0].expression) not in done]


def with_lowered(result: Result, second: Result) -> Result:
    """`result` with what the `finished` answer to its `lowering_request` says."""
    found: dict[tuple[str, str], list[Lowering]] = {}
    for item in second.lowered:
        found.setdefault((item.kernel, item.call), []).append(item)
    return replace(
        result,
        kernels=tuple(
            _with(facts, found.get((facts.definition, facts.call), ())) for facts in result.kernels
        ),
    )


def _with(facts: KernelFacts, outcomes: Sequence[Lowering]) -> KernelFacts:
    own = [item for item in outcomes if item.name in (facts.name, "")]
    lost = [item for item in own if item.unfinished]
    if not own:
        return facts
    return replace(
        facts,
        lowered=(*facts.lowered, *(item.launch for item in own if item.launch is not None)),
        refused={**facts.refused, **{item.arch: item.error for item in own if item.error}},
        caveats=(
            *facts.caveats,
            *(Caveat(f"was not lowered for {item.arch}: {item.unfinished}") for item in lost),
        ),
    )


def _architecture(facts: KernelFacts, sources: Sources, options: Options) -> str | None:
    """The CUDA architecture to lower a kernel for.  TVM's kernels are launched as written."""
    if facts.framework != "tilelang" or not facts.launch.grid:
        return None
    arch = choose(sources.of(facts), facts, options).device.arch
    return arch if arch.startswith("sm_") else None


def _request_of(facts: KernelFacts, requests: Sequence[KernelRequest]) -> KernelRequest | None:
    named = [item for item in requests if item.name == facts.definition]
    exact = [item for item in named if item.span.line == facts.span.line]
    return next(iter(exact or named), None)


def _is_known(facts: KernelFacts, arch: str) -> bool:
    return arch in facts.refused or any(item.arch == arch for item in facts.lowered)
