"""One analysis: execute the text, trace its kernels, extract their facts.

Each result is sent at once, so that it is not lost if a later kernel hangs or crashes.
"""

from __future__ import annotations

import os
import time
from dataclasses import replace
from typing import (
    Callable,
    Iterable,
    Iterator,
    List,
    Mapping,
    NamedTuple,
    Optional,
    Sequence,
    Tuple,
    Union,
)

from . import codec
from .facts import Caveat, KernelFacts, ModelSizes
from .frameworks import old_tilelang
from .lines import split_lines
from .program import defined_values, fake_gpu, load, patches, user_imports
from .program.document import Document
from .program.file_dependencies import Origins
from .program.import_state import ImportState
from .program.load import Loaded
from .protocol import SASS, Analyze, Compiler, GeneratedCode, KernelRequest, Lowering, Problem
from .tracing.assumed_sizes import assumed_sizes, dimension_sizes
from .tracing.assumed_trips import AssumedLoop, assumed_trips
from .tracing.built_sizes import BuiltSizes
from .tracing.configurations import configurations_of
from .tracing.evaluate import Traced
from .tracing.extraction import built_facts, traced_facts
from .tracing.trace import Outcome, Tracer

# A piece is one of these tags and a payload.
KERNEL, LOWERED, NEEDS, PROBLEM, FILE, BEGIN, END, LINE, DONE, GENERATED, CONFIGURATIONS = (
    b"K", b"W", b"N", b"P", b"F", b"B", b"E", b"L", b"D", b"G", b"C",
)  # fmt: skip
Send = Callable[[bytes, bytes], None]
# A process whose imports take less is not worth a copy of it.
_LEAST_IMPORT_S = 0.1


class Continuation(NamedTuple):
    """What a copy of the process, made after the leading imports, is to do instead.

    `document` is that of the request if it has been parsed.
    """

    request: Analyze
    only: Sequence[int]
    send: Send
    document: Optional[Document] = None


ForkPoint = Callable[[ImportState], Optional[Continuation]]


def analyse(
    request: Analyze, only: Sequence[int], send: Send, fork_point: Optional[ForkPoint] = None
) -> None:
    """Analyse the kernels of `request` with the indices `only`.

    ``BEGIN`` and ``END`` frame the pieces of one kernel, with its index; ``LINE`` is the line of
    the text that is executed next.  ``DONE`` is the last piece.

    `fork_point` is called after imports that took long. It returns None in this process, and in
    each copy that is made there what to go on with.
    """
    try:
        document = _document(request)
    except (SyntaxError, ValueError) as error:
        send(PROBLEM, codec.dumps(_syntax_problem(request, error)))
        send(DONE, b"")
        return
    from .frameworks.locations import spans

    def note_line(line: int) -> None:
        send(LINE, b"%d" % line)

    patches.install(request.target)
    enter_folder(request.path)
    folders = load.search_folders(request.path, request.sys_path)
    with spans.recording(), user_imports.Importer(), Origins(document, folders) as origins:
        loaded = load.begin(document, request.sys_path)
        loaded.handed_on = request.handed_on
        watch_built(loaded, request)
        while True:
            began_s, began_ns = time.monotonic(), time.time_ns()
            load.run_leading_imports(loaded, note_line)
            if fork_point is None or time.monotonic() - began_s < _LEAST_IMPORT_S:
                break
            state = ImportState(request, loaded, origins.files())
            continuation = None if state.is_newer_than(began_ns) else fork_point(state)
            if continuation is None:
                break
            request, only, send, parsed = continuation
            document = _document(request, parsed)
            origins.replace_document(document)
            loaded.replace_document(document)
            loaded.handed_on = request.handed_on
            watch_built(loaded, request)
        loaded.compile_targets = request.compile_targets
        load.run_rest(loaded, note_line)
        for problem in loaded.problems:
            send(PROBLEM, codec.dumps(problem))
        # Others are sent at the end, which not every analysis reaches.
        known = set(origins.files())
        _send_files(sorted(known), send)
        tracer, built_sizes = Tracer(loaded), BuiltSizes()
        for index in only:
            kernel = request.kernels[index]
            send(BEGIN, b"%d" % index)
            send(LINE, b"%d" % kernel.span.line)
            patches.install(request.target)
            _send_kernel(loaded, tracer, built_sizes, kernel, request.compiler, send)
            send(END, b"%d" % index)
        _send_files((path for path in origins.files() if path not in known), send)
    send(DONE, b"")


def _document(request: Analyze, parsed: Optional[Document] = None) -> Document:
    document = parsed or Document(request.path, request.text, request.leave_out)
    defined_values.record_definitions(document, {item.span.line for item in request.kernels})
    return document


def _send_files(paths: Iterable[str], send: Send) -> None:
    for path in paths:
        send(FILE, codec.dumps(path))


def _send_kernel(
    loaded: Loaded,
    tracer: Tracer,
    built_sizes: BuiltSizes,
    request: KernelRequest,
    compiler: Optional[Compiler],
    send: Send,
) -> None:
    try:
        outcome = tracer.trace(request)
    except BaseException as error:
        problem = loaded.document.problem("trace", error, request.name, at=request.span)
        outcome = Outcome(problems=(problem,))
    if request.emit or request.lower_to:
        for traced in outcome.traced:
            try:
                if request.emit:
                    send(GENERATED, codec.dumps(_generated_code(loaded, request, traced, compiler)))
                else:
                    send(LOWERED, codec.dumps(_lowering(request, traced)))
            except Exception as error:
                send(PROBLEM, codec.dumps(_problem_of(loaded, request, error)))
    else:
        for found in _facts_or_problems(loaded, built_sizes, request, outcome.traced):
            send(PROBLEM if isinstance(found, Problem) else KERNEL, codec.dumps(found))
    if request.with_configurations and outcome.traced:
        found = configurations_of(loaded, request, outcome.traced[0])
        send(CONFIGURATIONS, codec.dumps(found))
    for problem in outcome.problems:
        send(PROBLEM, codec.dumps(problem))
    if outcome.needs is not None:
        send(NEEDS, codec.dumps(outcome.needs))


def _facts_or_problems(
    loaded: Loaded, built_sizes: BuiltSizes, request: KernelRequest, found: Sequence[Traced]
) -> Iterator[Union[KernelFacts, Problem]]:
    """The facts of each function, or why there are none; those that were built have one size."""
    built: List[Tuple[Traced, KernelFacts]] = []
    for traced in found:
        try:
            facts = _plain_facts(loaded, request, traced)
            if traced.built is None:
                yield _with_assumptions(loaded, request, traced, facts)
            else:
                built.append((traced, facts))
        except Exception as error:
            yield _problem_of(loaded, request, error)
    given = built_sizes.of(loaded, request, [facts for _, facts in built])
    for traced, facts in built:
        try:
            yield _with_assumptions(loaded, request, traced, facts, given)
        except Exception as error:
            yield _problem_of(loaded, request, error)


def _problem_of(loaded: Loaded, request: KernelRequest, error: Exception) -> Problem:
    return loaded.document.problem("unsupported", error, request.name, at=request.span)


def facts_of(loaded: Loaded, request: KernelRequest, traced: Traced) -> KernelFacts:
    """The facts of a traced function.

    Raises:
        Exception: the IR is not understood.
    """
    return _with_assumptions(loaded, request, traced, _plain_facts(loaded, request, traced))


def _plain_facts(loaded: Loaded, request: KernelRequest, traced: Traced) -> KernelFacts:
    """The facts of a traced function without what is assumed of its sizes."""
    from .frameworks.extract import name_of

    # A private function of a module has no name for the linker.
    own_name = request.prim_func if request.style == "ir_module" else None
    facts = (
        traced_facts(traced.function, loaded.document)
        if traced.built is None
        else built_facts(traced.function, loaded.document, traced.lines)
    )
    facts = replace(
        facts,
        name=name_of(traced.function, own_name or request.name),
        definition=request.name,
        span=traced.span,
        call=traced.call,
        call_source=traced.call_source,
        sizes={**facts.sizes, **traced.sizes},
    )
    if traced.built is not None:
        facts = replace(
            facts,
            name=traced.name or facts.name,
            built=traced.built,
            caveats=(*facts.caveats, *_remarks(loaded, request)),
        )
    return facts


def _with_assumptions(
    loaded: Loaded,
    request: KernelRequest,
    traced: Traced,
    facts: KernelFacts,
    given: Optional[Mapping[str, int]] = None,
) -> KernelFacts:
    """`facts` with the sizes and trip counts that are assumed; `given` are those of others."""
    from .frameworks.targets import target_of_text

    given = {**(given or {}), **dimension_sizes(request, traced.dimensions)}
    sizes, of_model = assumed_sizes(loaded, request, facts, traced.model, given)
    loops = assumed_trips(facts, sizes) if request.allow_assumed else ()
    return replace(
        facts,
        target=target_of_text(facts, loaded.compile_targets),
        caveats=(
            *facts.caveats,
            *traced.caveats,
            *_arguments_left_out(loaded, request),
            *map(_assumption_of_loop, loops),
        ),
        asks_for_device=fake_gpu.was_queried(),
        assumed={**sizes, **{item.name: item.trips for item in loops}},
        assumed_arguments=traced.assumed,
        model=_together(traced.model, of_model),
    )


def _together(arguments: Optional[ModelSizes], sizes: Optional[ModelSizes]) -> Optional[ModelSizes]:
    """The arguments and the sizes of dimensions that are those of one model."""
    if arguments is None or sizes is None:
        return arguments or sizes
    return replace(arguments, values={**arguments.values, **sizes.values})


def _remarks(loaded: Loaded, request: KernelRequest) -> Iterator[Caveat]:
    span = request.definition or request.span
    for text in loaded.record_of_builds.remarks(span.line, span.end_line):
        yield Caveat(text, request.span)


def _assumption_of_loop(item: AssumedLoop) -> Caveat:
    sites = item.loop.sites
    message = "how often this loop repeats depends on data: {}={} is assumed"
    return Caveat(message.format(item.name, item.trips), sites[0] if sites else None)


def _arguments_left_out(loaded: Loaded, request: KernelRequest) -> Iterator[Caveat]:
    """What the installed framework does not take of the calls in the definition of a kernel."""
    document = loaded.document
    path = document.definitions_along(request.name, request.span.line)
    last = path[-1].end_lineno if path else None
    first, last = min(path[-1].lineno if path else 0, request.span.line), last or 0
    for file, line, message in old_tilelang.arguments_left_out():
        if file == document.path and first <= line <= max(last, request.span.end_line):
            yield Caveat(message, document.span_of_line(line))


def watch_built(loaded: Loaded, request: Analyze) -> None:
    """Record what the statements that `request` names build."""
    loaded.record_of_builds.watch(
        [kernel.definition or kernel.span for kernel in request.kernels if kernel.style == "built"]
    )


def _lowering(request: KernelRequest, traced: Traced) -> Lowering:
    from .frameworks.extract import name_of
    from .frameworks.lowering.lower import LoweringError, lower

    arch = str(request.lower_to.get("arch", ""))
    outcome = Lowering(request.name, name_of(traced.function, request.name), traced.call, arch)
    try:
        return replace(outcome, launch=lower(traced.function, request.lower_to))
    except LoweringError as error:
        return replace(outcome, error=str(error))


def _generated_code(
    loaded: Loaded, request: KernelRequest, traced: Traced, compiler: Optional[Compiler]
) -> GeneratedCode:
    from .frameworks.extract import framework_of, name_of
    from .frameworks.lowering.generate import generate
    from .frameworks.lowering.lower import LoweringError
    from .frameworks.lowering.machine_code import add_machine_code

    arch = str(request.lower_to.get("arch", ""))
    name, framework = name_of(traced.function, request.name), framework_of(traced.function)
    outcome = GeneratedCode(request.name, name, traced.call, arch)
    try:
        texts = generate(
            traced.function, framework, request.lower_to, loaded.document.path, request.emit
        )
    except LoweringError as error:
        return replace(outcome, error=str(error))
    outcome = replace(outcome, texts=tuple(texts))
    if compiler is None:
        return outcome
    return add_machine_code(outcome, framework, compiler, SASS in request.emit)


def _syntax_problem(request: Analyze, error: Exception) -> Problem:
    if not isinstance(error, SyntaxError):
        return Problem("syntax", str(error))
    # An empty document with the same lines locates the error.
    blank = Document(request.path, "")
    blank.text, blank.lines = request.text, split_lines(request.text, True)
    return blank.problem("syntax", error)


def enter_folder(path: str) -> None:
    """Change to the folder of the document, to which relative paths of the program refer."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(folder):
        os.chdir(folder)
