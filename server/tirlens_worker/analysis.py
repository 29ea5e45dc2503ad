"""One analysis: execute the text, trace its kernels, read their IR, and send each result at once.

Results sent before a kernel hangs or crashes are not lost.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Callable, Dict, Sequence

from . import codec
from .facts import KernelFacts
from .lines import split_lines
from .program import fake_gpu, imported, load, patches
from .program.document import Document
from .program.load import Loaded
from .program.origins import Origins
from .protocol import Analyze, KernelRequest, Lowering, Problem, Progress
from .tracing import assume
from .tracing.evaluate import Traced
from .tracing.trace import Outcome, Tracer

# A piece is one of these tags and a payload.
KERNEL, LOWERED, NEEDS, PROBLEM, FILE, PROGRESS, BEGIN, END, LINE, DONE = (
    b"K", b"W", b"N", b"P", b"F", b"G", b"B", b"E", b"L", b"D",
)  # fmt: skip
Tell = Callable[[bytes, bytes], None]


def analyse(request: Analyze, only: Sequence[int], tell: Tell) -> None:
    """Analyse the kernels of `request` with the indices `only`.

    ``BEGIN`` and ``END`` frame the pieces of one kernel, with its index; ``LINE`` says at
    which line of the text something is about to be done.  ``DONE`` is the last piece.
    """
    try:
        document = Document(request.path, request.text)
    except (SyntaxError, ValueError) as error:
        tell(PROBLEM, codec.dumps(_syntax_problem(request, error)))
        tell(DONE, b"")
        return
    from .frameworks.locations import spans

    patches.install(request.target)
    enter_folder(request.path)
    folders = load.search_folders(request.path, request.sys_path)
    with spans.recording(), imported.Importer(), Origins(document, folders) as origins:
        loaded = load.load(
            document,
            request.sys_path,
            lambda line: tell(LINE, b"%d" % line),
            frozenset(request.leave_out),
        )
        for problem in loaded.problems:
            tell(PROBLEM, codec.dumps(problem))
        # Sent again at the end, which not every analysis reaches.
        _tell_files(origins, tell)
        tracer = Tracer(loaded)
        for done, index in enumerate(only):
            kernel = request.kernels[index]
            tell(BEGIN, b"%d" % index)
            tell(LINE, b"%d" % kernel.span.line)
            patches.install(request.target)
            progress = Progress(request.id, kernel.name, done, len(only))
            tell(PROGRESS, codec.dumps(progress))
            _kernel(loaded, tracer, kernel, tell)
            tell(END, b"%d" % index)
        _tell_files(origins, tell)
    tell(DONE, b"")


def _tell_files(origins: Origins, tell: Tell) -> None:
    for path in origins.files():
        tell(FILE, codec.dumps(path))


def _kernel(loaded: Loaded, tracer: Tracer, request: KernelRequest, tell: Tell) -> None:
    try:
        outcome = tracer.trace(request)
    except BaseException as error:
        problem = loaded.document.problem("trace", error, request.name, at=request.span)
        outcome = Outcome(problems=(problem,))
    for traced in outcome.traced:
        try:
            if request.lower_to:
                tell(LOWERED, codec.dumps(_lowering(request, traced)))
            else:
                tell(KERNEL, codec.dumps(facts_of(loaded, request, traced)))
        except Exception as error:
            problem = loaded.document.problem("unsupported", error, request.name, at=request.span)
            tell(PROBLEM, codec.dumps(problem))
    for problem in outcome.problems:
        tell(PROBLEM, codec.dumps(problem))
    if outcome.needs is not None:
        tell(NEEDS, codec.dumps(outcome.needs))


def facts_of(loaded: Loaded, request: KernelRequest, traced: Traced) -> KernelFacts:
    """The facts of a traced function.

    Raises:
        Exception: there is something in its IR that is not understood.
    """
    from .frameworks.extract import extract
    from .frameworks.locations import spans

    facts = extract(
        traced.function,
        definition=request.name,
        span=traced.span,
        call=traced.call,
        call_source=traced.call_source,
        sites_of=spans.sites_of,
        text=loaded.document.text,
        path=loaded.document.path,
    )
    return replace(
        facts, asks_for_device=fake_gpu.was_queried(), assumed=_assumed_sizes(request, facts)
    )


def _assumed_sizes(request: KernelRequest, facts: KernelFacts) -> Dict[str, int]:
    """Sizes for what a factory leaves to run time, as for its parameters.

    A function that stands alone is given none: it is what its author says of it, for any size.
    """
    if not request.allow_assumed or facts.call_source == "module-level":
        return {}
    found = {
        variable.name: assume.size(variable.name, request.hints) for variable in facts.variables
    }
    return {name: size for name, size in found.items() if size is not None}


def _lowering(request: KernelRequest, traced: Traced) -> Lowering:
    from .frameworks.extract import name_of
    from .frameworks.lowering.lower import LoweringError, lower

    arch = str(request.lower_to.get("arch", ""))
    outcome = Lowering(request.name, name_of(traced.function, request.name), traced.call, arch)
    try:
        return replace(outcome, launch=lower(traced.function, request.lower_to))
    except LoweringError as error:
        return replace(outcome, error=str(error))


def _syntax_problem(request: Analyze, error: Exception) -> Problem:
    if not isinstance(error, SyntaxError):
        return Problem("syntax", str(error))
    # An empty document of the same lines knows how to place the error.
    blank = Document(request.path, "")
    blank.text, blank.lines = request.text, split_lines(request.text, True)
    return blank.problem("syntax", error)


def enter_folder(path: str) -> None:
    """Work in the document's folder: relative paths of the program mean that."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(folder):
        os.chdir(folder)
