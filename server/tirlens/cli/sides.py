"""One file on both sides of a comparison: before a change and now, or under two frameworks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from tirlens.cli.traced_file import Traced
from tirlens.gate import NO_CALLS, Change, LackingCalls, with_calls
from tirlens.pipeline import FileReport
from tirlens.pipeline.span_shift import map_spans


@dataclass(frozen=True)
class Sides:
    """One file now and before; `before` is None for a new file.

    `others_now` and `others_before` are the same texts with the calls that each side `lacks`.
    """

    now: Traced
    before: Traced | None
    lacks: LackingCalls = NO_CALLS
    others_now: Traced | None = None
    others_before: Traced | None = None

    def reports(self, **options: object) -> tuple[FileReport, FileReport | None]:
        if self.before is None:
            return self.now.report(**options), None
        if self.before is self.now:
            now = self.now.report(**options)
            return now, now
        now, before = self._reports(self, **options)
        # If only one side is compiled, or lowered, the launches differ for that reason alone.
        for change in (Traced.without_compilation, Traced.as_written):
            if _are_of_same_tiers(now, before):
                break
            now, before = self._reports(self._of_tier(change), **options)
        return now, before

    @staticmethod
    def _reports(sides: Sides, **options: object) -> tuple[FileReport, FileReport]:
        assert sides.before is not None
        now, before = sides.now.report(**options), sides.before.report(**options)
        lacks = sides.lacks
        if sides.others_now is not None:
            others = sides.others_now.report(**options)
            now = with_calls(now, others, lacks.now, lacks.replaced_now)
        if sides.others_before is not None:
            others = sides.others_before.report(**options)
            before = with_calls(before, others, lacks.before, lacks.replaced_before)
        return now, before

    def _of_tier(self, change: Callable[[Traced], Traced]) -> Sides:
        names = ("now", "before", "others_now", "others_before")
        traced = {name: getattr(self, name) for name in names}
        return replace(self, **{name: one and change(one) for name, one in traced.items()})

    def in_cells(self, change: Change) -> Change:
        """A change with its places in the cells of a notebook."""
        old, new = change.before, change.now
        if self.before is not None and self.before.notebook is not None and old is not None:
            old = map_spans(old, self.before.notebook.in_cell)
        if self.now.notebook is None:
            return replace(change, before=old)
        in_cell = self.now.notebook.in_cell
        new, line = (item and map_spans(item, in_cell) for item in (new, change.line))
        return replace(change, span=in_cell(change.span), before=old, now=new, line=line)


def _are_of_same_tiers(now: FileReport, before: FileReport) -> bool:
    """Whether the kernels that both sides have are lowered and compiled on both, or on none."""
    old, new = _tiers(before), _tiers(now)
    return all(old[name] == new[name] for name in old if name in new)


def _tiers(report: FileReport) -> dict[str, set[tuple[str, bool]]]:
    """The tiers of the reports of each kernel, and whether they know how it was lowered."""
    found: dict[str, set[tuple[str, bool]]] = {}
    for kernel in report.kernels:
        tier = kernel.launch_facts, kernel.lowered is not None
        found.setdefault(kernel.definition, set()).add(tier)
    return found
