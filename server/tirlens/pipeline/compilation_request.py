"""The third tier of an analysis: the request to compile kernels, and the merge of its answer.

What the framework generates of a kernel still leaves registers, spills and local memory to NVIDIA's
compiler. Where it is at hand, a third request has the worker compile the generated source for the
architecture of the kernel's device, without a GPU. TVM has LLVM: for a CPU the worker compiles the
kernel for its processor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from tirlens.hardware import Device
from tirlens.pipeline.compiled_launch import compiled_launch
from tirlens.pipeline.device_choice import choose_devices
from tirlens.pipeline.file_report import KernelIndex
from tirlens.pipeline.generation_request import TIME_LIMIT_S, with_array_links
from tirlens.pipeline.lowering_request import RequestIndex, missing_reason
from tirlens.pipeline.options import Options
from tirlens.pipeline.plan import Part, Plan, plan_analysis
from tirlens.source.source_file import SourceFile
from tirlens_sass import ListingError
from tirlens_worker.facts import Assembly, Caveat, KernelFacts
from tirlens_worker.protocol import (
    ASSEMBLY,
    CUDA,
    SASS,
    Analyze,
    CallCandidate,
    Compilation,
    Compiler,
    GeneratedCode,
    KernelRequest,
    Result,
)
from tirlens_x86 import essential

#: The frameworks whose generated source is compiled.
FRAMEWORKS = frozenset({"tilelang", "tvm"})
# The listings of so many kernels are one answer.
_STEP_KERNELS = 8


def compilation_request(
    first: Analyze, result: Result, source: SourceFile, options: Options, compiler: Compiler
) -> Analyze | None:
    """The request to compile the kernels of `result`, the answer to `first`, by `compiler`.

    Each kernel is requested by the call that yielded its facts. None if there is nothing to
    compile, or no compiler.
    """
    requests: dict[tuple[str, str, str], KernelRequest] = {}
    if not options.compile:
        return None
    has_nvcc = bool(compiler.nvcc and compiler.nvdisasm)
    index, requested = KernelIndex(source), RequestIndex(first.kernels)
    versions = Counter((kernel.name, kernel.prim_func) for kernel in first.kernels)
    choices = choose_devices(result.kernels, index.find, options)
    for facts, choice in zip(result.kernels, choices, strict=True):
        request = requested.find(facts)
        arch = compiled_architecture(facts, choice.device) if has_nvcc else None
        processor = compiled_processor(facts, choice.device)
        target = processor or arch
        if request is None or target is None or _is_compiled(facts, target):
            continue
        if versions[request.name, request.prim_func] > 1:
            # The code of two kernels with one name cannot be distinguished.
            continue
        requests[facts.definition, facts.call, target] = replace(
            request,
            candidates=(CallCandidate(facts.call, facts.call_source, required=True),),
            allow_assumed=False,
            lower_to={"kind": "llvm" if processor else "cuda", "arch": target},
            emit=(ASSEMBLY,) if processor else (CUDA, SASS),
        )
    if not requests:
        return None
    limit_s = max(first.time_limit_s, TIME_LIMIT_S)
    kernels = tuple(requests.values())
    return replace(first, kernels=kernels, time_limit_s=limit_s, compiler=compiler)


def compilation_steps(request: Analyze) -> Iterator[Analyze]:
    """The requests that `request` consists of, each with the listings of a few kernels."""
    for start in range(0, len(request.kernels), _STEP_KERNELS):
        yield replace(request, kernels=request.kernels[start : start + _STEP_KERNELS])


def plan_compilation(
    first: Plan,
    result: Result,
    options: Options,
    compiler: Compiler,
    cache: Mapping[bytes, Part],
) -> Plan | None:
    """Plan the compilation of the kernels of `result`, a result of the plan `first`.

    None if there is nothing to compile.
    """
    request = compilation_request(first.whole, result, first.source, options, compiler)
    return request and plan_analysis(request, first.source, first.environment, cache)


def complete_compilation(
    request: Analyze, answer: Result, kernels: Sequence[KernelFacts]
) -> Result:
    """`answer` to a compilation request with an outcome for each kernel in place of its code.

    `kernels` are the facts of the request's kernels. A kernel that takes too long or crashes the
    worker is then not tried again. An answer that says nothing about the text (cancelled, no
    interpreter) is returned unchanged.
    """
    if any(problem.kind in ("cancelled", "interpreter") for problem in answer.problems):
        return answer
    facts = {(kernel.definition, kernel.name, kernel.call): kernel for kernel in kernels}
    found = [
        compilation_of(code, facts.get((code.kernel, code.name, code.call)))
        for code in answer.generated
    ]
    done = {(item.kernel, item.call) for item in found}
    for kernel in request.kernels:
        call, arch = kernel.candidates[0].expression, str(kernel.lower_to["arch"])
        if (kernel.name, call) not in done:
            reason = missing_reason(kernel, answer.problems, "it yields no code")
            found.append(Compilation(kernel.name, "", call, arch, unfinished=reason))
    return replace(answer, compiled=tuple(found), generated=(), problems=())


def compilation_of(code: GeneratedCode, kernel: KernelFacts | None) -> Compilation:
    """The outcome of compiling a kernel, whose facts link more lines of its `code`."""
    for text in code.texts:
        if text.language == ASSEMBLY:
            made = Assembly(code.arch, essential(text.text))
            return Compilation(code.kernel, code.name, code.call, code.arch, assembly=made)
    launch, error = None, code.error or code.resources_error or "it has no kernel"
    try:
        linked = code if kernel is None else with_array_links(code, kernel)
        launch = compiled_launch(linked, kernel)
    except ListingError as refusal:
        error = f"nvdisasm: {refusal}"
    error = "" if launch is not None else error
    return Compilation(code.kernel, code.name, code.call, code.arch, launch, error)


def merge_compilations(result: Result, answer: Result) -> Result:
    """`result` with what was compiled in `answer`, the completed answer to its request."""
    found: dict[tuple[str, str], list[Compilation]] = {}
    for item in answer.compiled:
        found.setdefault((item.kernel, item.call), []).append(item)
    return replace(
        result,
        kernels=tuple(
            with_compilations(facts, found.get((facts.definition, facts.call), ()))
            for facts in result.kernels
        ),
    )


def with_compilations(facts: KernelFacts, found: Sequence[Compilation]) -> KernelFacts:
    """`facts` with what the compiler made of the kernel, or why it made nothing."""
    own = [item for item in found if item.name in (facts.name, "")]
    # What the framework refuses to lower is said already.
    reasons = [
        (item.arch, item.error or item.unfinished)
        for item in own
        if item.launch is None and item.assembly is None and item.arch not in facts.refused
    ]
    if not own:
        return facts
    return replace(
        facts,
        compiled=(*facts.compiled, *(item.launch for item in own if item.launch is not None)),
        assembly=(*facts.assembly, *(item.assembly for item in own if item.assembly is not None)),
        caveats=(
            *facts.caveats,
            *(Caveat(f"was not compiled for {arch}: {reason}") for arch, reason in reasons),
        ),
    )


def _is_compiled(facts: KernelFacts, target: str) -> bool:
    return facts.compiled_for(target) is not None or facts.assembly_for(target) is not None


def compiled_processor(facts: KernelFacts, device: Device) -> str | None:
    """LLVM's processor to compile a kernel for; None for a kernel that is not compiled for one."""
    is_loops = facts.framework == "tvm" and not facts.launch.grid and not facts.launch.threads
    return device.cpu.processor or None if is_loops and device.cpu is not None else None


def compiled_architecture(facts: KernelFacts, device: Device) -> str | None:
    """The CUDA architecture to compile a kernel for; None for a kernel that is not compiled."""
    if facts.framework not in FRAMEWORKS or not facts.launch.grid:
        return None
    arch = device.arch
    return arch if arch.startswith("sm_") and arch not in facts.refused else None
