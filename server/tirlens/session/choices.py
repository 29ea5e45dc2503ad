"""The arguments a kernel could be analysed with, and where a directive for it goes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens import array_words
from tirlens.ide.sizes import size as size_in_words
from tirlens.language_models import all_models, values_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from tirlens.model.report import KernelReport
    from tirlens.session.document import Document
    from tirlens.source.source_file import KernelSource


# Where arguments come from (the first word), from the most to the least certain.
_SOURCES = (
    "directive",
    "call-site",
    "module-level",
    "repository",
    "in",
    "default",
    "example",
    "assumed",
    "model",
)


_NO_FACTORIES = ("prim_func", "ir_module", "built")


@dataclass(frozen=True)
class Choice:
    """`directive` is what stands after ``# tirlens: ``."""

    directive: str
    source: str
    current: bool = False


@dataclass(frozen=True)
class FixedShapes:
    """The shapes of a kernel that takes no arguments: its `size`, and the 1-based `line`.

    That is the current line of the `def` or of the statement with the shapes.
    """

    size: str
    line: int


@dataclass(frozen=True)
class Choices:
    """`line` (1-based) is where the directive is written; with `replaces` one stands there.

    `fixed` is set where no arguments and no sizes of dimensions can be given.
    """

    kernel: str
    choices: tuple[Choice, ...]
    line: int
    indentation: str
    replaces: bool
    fixed: FixedShapes | None = None


def kernel_at(document: Document, line: int) -> KernelSource | None:
    """The kernel whose text includes the current `line`."""
    reading = document.reading
    if reading is None:
        return None
    lines = document.map_from(reading)
    for kernel in reading.source.kernels:
        extent = lines.current_span(kernel.extent)
        if extent.line <= line <= extent.end_line:
            return kernel
    return None


def _assumed_directive(report: KernelReport) -> str:
    """The call and the sizes with all that is assumed, for the user to edit."""
    call = [array_words.shorten(report.call)] if "(" in report.call else []
    sizes = (f"{name}={value}" for name, value in report.bindings.items())
    return ", ".join((*call, *sizes))


def choices(document: Document, name: str | None) -> Choices | None:
    """The choices for kernel `name` (None: the first); None if there is no such kernel."""
    reading = document.reading
    if reading is None:
        return None
    kernels = [item for item in reading.source.kernels if name in (None, item.name)]
    if not kernels:
        return None
    kernel = kernels[0]
    found: dict[str, Choice] = {}
    reports = [] if document.analysis is None else document.analysis.reports_of(kernel)
    if document.analysis is not None:
        for report in reports:
            if report.assumed:
                text = _assumed_directive(report)
                found[text] = Choice(text, "assumed", True)
                continue
            if "(" in report.call:
                text = array_words.shorten(report.call)
                found[text] = Choice(text, report.call_source, True)
            if report.bindings or report.needs:
                sizes = {**report.bindings, **dict.fromkeys(report.needs, 1024)}
                text = ", ".join(f"{key}={value}" for key, value in sizes.items())
                source = "example" if report.needs else "in use"
                found[text] = Choice(text, source, not report.needs)
    for candidate in kernel.candidates:
        if "(" in candidate.expression:
            text = array_words.shorten(candidate.expression)
            found.setdefault(text, Choice(text, candidate.source))
    if kernel.style not in _NO_FACTORIES or any(report.bindings for report in reports):
        for choice in _of_models(kernel, str(document.path)):
            found.setdefault(choice.directive, choice)
    lines = document.map_from(reading)
    line = lines.nearest_current_line(kernel.insertion_line)
    standing = [item for item in kernel.directives if item.span.line == kernel.insertion_line - 1]
    text = document.lines[line - 1] if line <= len(document.lines) else ""
    indentation = text[: len(text) - len(text.lstrip())]
    line = line - 1 if standing else line
    ordered = sorted(found.values(), key=lambda choice: _rank(choice.source))
    fixed = None
    if not ordered and _has_fixed_shapes(kernel, reports):
        fixed = FixedShapes(size_in_words(reports[0]), lines.nearest_current_line(kernel.span.line))
    return Choices(kernel.name, tuple(ordered), line, indentation, bool(standing), fixed)


def _of_models(kernel: KernelSource, path: str) -> Iterator[Choice]:
    """The language models that have the sizes of a kernel."""
    # Imported late: the model behind it must not delay the first reading of a text.
    from tirlens.pipeline.model_sizes import kernel_names

    names = kernel_names(kernel, path)
    for model in all_models():
        values = values_of(model, names)
        if values is not None:
            sizes = ", ".join(f"{name}={size}" for name, size in values.items())
            yield Choice(
                f"model={model.id}", f"model {model.name}: {sizes}", kernel.model == model.id
            )


def _has_fixed_shapes(kernel: KernelSource, reports: Sequence[KernelReport]) -> bool:
    """Whether its text alone gives the shapes of an analysed kernel.

    The parameters of a PrimFunc are its arrays, those of a factory are arguments.
    """
    takes_no_call = kernel.style in _NO_FACTORIES or not kernel.parameters
    return (
        takes_no_call
        and bool(reports)
        and all(
            report.has_counts and not (report.bindings or report.needs or report.assumed)
            for report in reports
        )
    )


def _rank(source: str) -> int:
    """Calls that people wrote come first, what is only assumed last."""
    first = source.partition(" ")[0]
    return _SOURCES.index(first) if first in _SOURCES else _SOURCES.index("in")
