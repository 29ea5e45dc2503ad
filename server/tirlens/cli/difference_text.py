"""What two frameworks make of kernels, as tables, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from tirlens.gate import Change, Difference
from tirlens.ide import labels
from tirlens.ide.escaping import code, prose

_MAX_OPCODES = 12
_Row = tuple[str, str, str]


def print_all(
    out: Console, changes: Sequence[Change], names: tuple[str, str], diffs: Sequence[str]
) -> None:
    """Print a table of what differs for each kernel, and the changed lines in `diffs`."""
    for change, found in _different(changes):
        out.print(Text(f"\n{change.name} on {change.device_id}", style="bold"))
        table = Table(box=box.SIMPLE_HEAD, show_edge=False)
        for number, name in enumerate(("", *names)):
            table.add_column(Text(name), justify="right" if number else "left", overflow="fold")
        for row in _rows(change, found):
            table.add_row(*map(Text, row))
        out.print(table)
        for note in found.notes:
            out.print(Text(note), soft_wrap=True)
        for text in _diffs(found, diffs):
            out.print(Text(text.rstrip("\n")), soft_wrap=True)
    if any(True for _ in _different(changes)):
        out.print()


def markdown(
    changes: Sequence[Change], names: tuple[str, str], diffs: Sequence[str]
) -> Iterator[str]:
    """A collapsed part for each kernel with what differs."""
    for change, found in _different(changes):
        rows = [("", *names), (":---", "---:", "---:")]
        cells = [tuple(map(prose, row)) for row in _rows(change, found)]
        table = "".join(f"| {' | '.join(row)} |\n" for row in (*rows, *cells))
        texts = "".join(f"\n~~~~diff\n{text}~~~~\n" for text in _diffs(found, diffs))
        head = f"{code(change.name)} on {prose(change.device_id)}"
        notes = "".join(f"\n{prose(note)}\n" for note in found.notes)
        yield f"<details><summary>{head}</summary>\n\n{table}{notes}{texts}\n</details>\n"


def to_json(found: Difference | None, diffs: Sequence[str]) -> dict[str, Any]:
    """The keys of a change that say what differs; none for a comparison of one framework."""
    if found is None:
        return {}
    changed = found.code
    return {
        "reason": found.reason,
        "figures": [asdict(one) for one in found.figures],
        "notes": list(found.notes),
        "causes": [asdict(one) for one in found.causes],
        "code": changed
        and {
            "lines": {
                text.language: {"removed": text.removed, "added": text.added}
                for text in changed.texts
            },
            "opcodes": {
                name: {"before": before, "now": now}
                for name, (before, now) in changed.opcodes.items()
            },
            "diffs": {text.language: text.diff for text in changed.texts if text.language in diffs},
        },
    }


def _different(changes: Sequence[Change]) -> Iterator[tuple[Change, Difference]]:
    """The kernels of which anything differs."""
    for change in changes:
        found = change.difference
        is_other_code = found is not None and found.code is not None and found.code.differs
        if found is not None and (
            found.figures or found.notes or is_other_code or change.time_growth
        ):
            yield change, found


def _rows(change: Change, found: Difference) -> Iterator[_Row]:
    """What differs, in rows with its name and both sides."""
    before, now = change.before, change.now
    assert before is not None
    assert now is not None
    old, new = (labels.estimate(one.time_s, one.time_band_s) for one in (before, now))
    yield "time", old, new
    if found.figures and found.figures[0].name != "bound":
        yield "bound", before.bound or "", now.bound or ""
    for figure in found.figures:
        yield figure.name, figure.before, figure.now
    if found.code is None:
        return
    for text in found.code.texts:
        if text.diff:
            yield f"lines of {text.language} that differ", str(text.removed), str(text.added)
    totals = [sum(pair[side] for pair in found.code.opcodes.values()) for side in (0, 1)]
    if any(totals):
        yield "instructions", f"{totals[0]:,}", f"{totals[1]:,}"
    opcodes = found.code.changed_opcodes
    for name in list(opcodes)[:_MAX_OPCODES]:
        yield f"  {name}", f"{opcodes[name][0]:,}", f"{opcodes[name][1]:,}"
    if len(opcodes) > _MAX_OPCODES:
        yield f"  {labels.count(len(opcodes) - _MAX_OPCODES, 'other opcode')}", "", ""


def _diffs(found: Difference, languages: Sequence[str]) -> Iterator[str]:
    """The changed lines in each of `languages`."""
    texts = found.code.texts if found.code is not None else ()
    yield from (text.diff for text in texts if text.language in languages and text.diff)
