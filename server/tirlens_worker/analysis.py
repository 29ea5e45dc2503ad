"""One analysis: execute the text, trace its kernels, read their IR, tell each piece at once.

Pieces are told as they come, so that what is known survives a kernel that hangs or crashes.
"""

from __future__ import annotations

import os
from typing import Callable, Sequence

from . import codec, patches
from .document import Document
from .lines import split_lines
from .load import Loaded, load
from .protocol import Analyze, KernelRequest, Problem, Progress
from .trace import Outcome, Tracer

# A piece is one of these tags and a payload.
KERNEL, NEEDS, PROBLEM, PROGRESS, BEGIN, END, LINE, DONE = (
    b"K", b"N", b"P", b"G", b"B", b"E", b"L", b"D",
)  # fmt: skip
Tell = Callable[[bytes, bytes], None]


def analyse(request: Analyze, only: Sequence[int], tell: Tell) -> None:
    """Analyse the kernels of `request` with the indices `only`.

    ``BEGIN`` and ``END`` frame the pieces of one kernel, with its index; ``LINE`` says which
    statement of the text is about to run.  ``DONE`` is the last piece.
    """
    try:
        document = Document(request.path, request.text)
    except (SyntaxError, ValueError) as error:
        tell(PROBLEM, codec.dumps(_syntax_problem(request, error)))
        tell(DONE, b"")
        return
    from . import spans

    patches.install(request.target)
    _enter_folder(request.path)
    with spans.recording():
        loaded = load(document, request.sys_path, lambda line: tell(LINE, b"%d" % line))
        for problem in loaded.problems:
            tell(PROBLEM, codec.dumps(problem))
        tracer = Tracer(loaded)
        for done, index in enumerate(only):
            kernel = request.kernels[index]
            tell(BEGIN, b"%d" % index)
            patches.install(request.target)
            progress = Progress(request.id, kernel.name, done, len(only))
            tell(PROGRESS, codec.dumps(progress))
            _kernel(loaded, tracer, kernel, tell)
            tell(END, b"%d" % index)
    tell(DONE, b"")


def _kernel(loaded: Loaded, tracer: Tracer, request: KernelRequest, tell: Tell) -> None:
    try:
        outcome = tracer.trace(request)
    except BaseException as error:
        problem = loaded.document.problem("trace", error, request.name, at=request.span)
        outcome = Outcome(problems=(problem,))
    for traced in outcome.traced:
        from . import spans
        from .frameworks.extract import extract

        try:
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
            tell(KERNEL, codec.dumps(facts))
        except Exception as error:
            problem = loaded.document.problem("unsupported", error, request.name, at=request.span)
            tell(PROBLEM, codec.dumps(problem))
    for problem in outcome.problems:
        tell(PROBLEM, codec.dumps(problem))
    if outcome.needs is not None:
        tell(NEEDS, codec.dumps(outcome.needs))


def _syntax_problem(request: Analyze, error: Exception) -> Problem:
    if not isinstance(error, SyntaxError):
        return Problem("syntax", str(error))
    # An empty document of the same lines knows how to place the error.
    blank = Document(request.path, "")
    blank.text, blank.lines = request.text, split_lines(request.text, True)
    return blank.problem("syntax", error)


def _enter_folder(path: str) -> None:
    """Work in the document's folder: relative paths of the program mean that."""
    folder = os.path.dirname(os.path.abspath(path))
    if os.path.isdir(folder):
        os.chdir(folder)
