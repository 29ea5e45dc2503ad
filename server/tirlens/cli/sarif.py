"""SARIF 2.1.0: problems and advice for tools that show findings on code."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from tirlens.cli.rows import verdict
from tirlens.ide import labels, places
from tirlens.ide.notebook_file import CellSpan
from tirlens.pipeline import FileReport
from tirlens.source.edits import Replacement
from tirlens.version import __version__
from tirlens_worker.facts import Span

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note", "hint": "note"}
_COST = "cost"


def to_sarif(reports: Iterable[FileReport]) -> dict[str, Any]:
    """One run: a note for the cost of each kernel, a result for each advice and problem."""
    results: list[dict[str, Any]] = []
    for file in reports:
        for kernel in file.kernels:
            text = f"{kernel.name}: {verdict(kernel)}"
            results.append(result(_COST, "note", text, file.path, kernel.span))
            for excess in labels.over_budget(kernel):
                text = f"{labels.title(kernel)} {excess} on {kernel.device_id}"
                results.append(result("over-budget", "error", text, file.path, kernel.span))
            for advice in kernel.advice:
                text = labels.advice(advice)
                level = _LEVELS.get(advice.severity, "note")
                found = result(advice.rule, level, text, file.path, advice.span)
                results.append(found | _fixes(file.path, advice.edit))
        for needs in file.needs:
            text = f"{needs.kernel} needs {', '.join(needs.names) or 'arguments'}"
            results.append(result("needs-bindings", "warning", text, file.path, needs.span))
        for problem in file.problems:
            results.append(result(problem.kind, "error", problem.message, file.path, problem.span))
    return document(results)


def document(results: list[dict[str, Any]]) -> dict[str, Any]:
    """A SARIF log of one run with these results."""
    rules = sorted({item["ruleId"] for item in results})
    driver = {
        "name": "tirlens",
        "version": __version__,
        "rules": [{"id": rule} for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _fixes(path: str, edit: Replacement | None) -> dict[str, Any]:
    """The advice as something that a tool can apply."""
    if edit is None or isinstance(edit.span, CellSpan):
        return {}
    place = _physical(path, edit.span)
    change = {"deletedRegion": place["region"], "insertedContent": {"text": edit.new_text}}
    changes = [{"artifactLocation": place["artifactLocation"], "replacements": [change]}]
    return {"fixes": [{"description": {"text": edit.title}, "artifactChanges": changes}]}


def result(rule: str, level: str, text: str, path: str, span: Span | None) -> dict[str, Any]:
    """One result at `span` of the file `path`, or at its top; in a notebook at a cell."""
    place: dict[str, Any] = {"physicalLocation": _physical(path, span or Span(1, 0, 1, 0))}
    if isinstance(span, CellSpan):
        # The lines of a cell are no lines of the file.
        del place["physicalLocation"]["region"]
        place["logicalLocations"] = [{"fullyQualifiedName": places.line(span)}]
        text = f"{places.line(span)}: {text}"
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [place],
    }


def _physical(path: str, span: Span) -> dict[str, Any]:
    """A place in the file `path`, or in the one that the span names."""
    region = {"startLine": span.line, "startColumn": span.column + 1}
    if (span.end_line, span.end_column) > (span.line, span.column):
        region |= {"endLine": span.end_line, "endColumn": span.end_column + 1}
    file = Path(span.file or path)
    return {"artifactLocation": {"uri": _uri(file)}, "region": region}


def _uri(file: Path) -> str:
    """A URI, relative where `file` is: all but letters, digits and ``_.-~/`` percent-encoded."""
    if file.is_absolute():
        return file.as_uri()
    return quote_from_bytes(os.fsencode(file.as_posix()))
