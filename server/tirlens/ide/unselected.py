"""The functions of a factory that none of the evaluated calls returns, and what is said of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tirlens.ide import call_text, labels
from tirlens.ide.escaping import code
from tirlens.ide.hints import Hint
from tirlens.ide.hovers import Hover

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from tirlens.model.report import BreakdownEntry, KernelReport
    from tirlens.source.source_file import KernelSource
    from tirlens_worker.facts import Span

_CALL_LIMIT = labels.INLAY_LIMIT - len("not used by ")


@dataclass(frozen=True)
class Unselected:
    """A function of a factory that is in no result of its calls.

    Attributes
    ----------
    name, span
        Of the function: its `def`.
    factory
        The name of the factory.
    calls
        The calls that were evaluated, at least one.
    """

    name: str
    span: Span
    factory: str
    calls: Sequence[str]

    @property
    def hint(self) -> Hint:
        """``not used by gemm('naive')`` behind its `def`."""
        label = f"not used by {labels.shorten(self.calls[0], _CALL_LIMIT)}"
        if len(self.calls) > 1:
            label = f"not used by the {len(self.calls)} calls"
        return Hint(self.span.line, self.span.line, label, f"not used by {', '.join(self.calls)}")

    @property
    def hover(self) -> Hover:
        """Which calls leave it out, and how another one is chosen."""
        calls = ", ".join(map(code, self.calls))
        return Hover(
            self.span,
            f"**{code(self.name)}**: not used by {calls}.\n\nThe lens of {code(self.factory)} "
            f"chooses another call, and so does a comment {code(f'# tirlens: {self.factory}(...)')}"
            " above it.",
        )


def unselected_functions(kernel: KernelSource, reports: Sequence[KernelReport]) -> list[Unselected]:
    """The functions of `kernel` that none of its `reports` is of.

    There are none unless all reports are of functions that are known: those in which a line of
    their breakdown stands.
    """
    used: set[Span] = set()
    for report in reports:
        lines = set(_lines(report.loops))
        own = [
            item.extent
            for item in kernel.alternatives
            if any(item.extent.line <= line <= item.extent.end_line for line in lines)
        ]
        if not own:
            return []
        used.update(own)
    calls = list(dict.fromkeys(call_text.readable(report.call) for report in reports))
    if not all(calls):
        return []
    return [
        Unselected(item.name, item.span, kernel.name, calls)
        for item in kernel.alternatives
        if used and item.extent not in used
    ]


def _lines(entries: Iterable[BreakdownEntry]) -> Iterator[int]:
    """The lines of the document in a breakdown, without those of a whole kernel."""
    for entry in entries:
        if entry.span.file is None and entry.kind not in ("launch", "tail"):
            yield entry.span.line
        yield from _lines(entry.children)
