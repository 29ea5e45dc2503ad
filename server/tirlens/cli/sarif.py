"""SARIF 2.1.0: problems and advice for tools that show findings on code."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote_from_bytes

from tirlens import repository
from tirlens.cli import sarif_rules
from tirlens.cli.rows import verdict
from tirlens.ide import labels, places
from tirlens.ide.notebook_file import CellSpan
from tirlens.ide.terms import SITE
from tirlens.pipeline import FileReport
from tirlens.source.edits import Replacement
from tirlens.version import __version__
from tirlens_worker.facts import Span

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS = {"error": "error", "warning": "warning", "info": "note", "hint": "note"}
_COST = "cost"
_FINGERPRINT = "primaryLocationLineHash"
_TOP = Span(1, 0, 1, 0)


def to_sarif(reports: Iterable[FileReport]) -> dict[str, Any]:
    """One run: a note for the cost of each kernel, a result for each advice and problem."""
    results: list[dict[str, Any]] = []
    for file in reports:
        for kernel in file.kernels:
            title = labels.title(kernel)
            text = f"{kernel.name}: {verdict(kernel)}"
            results.append(result(_COST, "note", text, file.path, kernel.span, title))
            for excess in labels.over_budget(kernel):
                text = f"{title} {excess} on {kernel.device_id}"
                results.append(result("over-budget", "error", text, file.path, kernel.span, title))
            for advice in kernel.advice:
                text = labels.advice(advice)
                level = _LEVELS.get(advice.severity, "note")
                found = result(advice.rule, level, text, file.path, advice.span, title)
                results.append(found | _fixes(file.path, advice.offered_edit))
        for needs in file.needs:
            text = f"{needs.kernel} needs {', '.join(needs.names) or 'arguments'}"
            results.append(
                result("needs-bindings", "warning", text, file.path, needs.span, needs.kernel)
            )
        for problem in file.problems:
            results.append(result(problem.kind, "error", problem.message, file.path, problem.span))
    return document(results)


def document(results: list[dict[str, Any]]) -> dict[str, Any]:
    """A SARIF log of one run with these results."""
    rules = sorted({item["ruleId"] for item in results})
    driver = {
        "name": "tirlens",
        "version": __version__,
        "informationUri": SITE,
        "rules": [sarif_rules.descriptor(rule) for rule in rules],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": _with_distinct_fingerprints(results),
    }
    return {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}


def _with_distinct_fingerprints(results: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """The results with a number behind each fingerprint: from 1, for those that are equal."""
    seen: Counter[str] = Counter()
    out: list[dict[str, Any]] = []
    for item in results:
        digest = item["partialFingerprints"][_FINGERPRINT]
        seen[digest] += 1
        fingerprint = {_FINGERPRINT: f"{digest}:{seen[digest]}"}
        out.append({**item, "partialFingerprints": fingerprint})
    return out


def _fixes(path: str, edit: Replacement | None) -> dict[str, Any]:
    """The advice as something that a tool can apply."""
    if edit is None or isinstance(edit.span, CellSpan):
        return {}
    place = _physical(path, edit.span)
    change = {"deletedRegion": place["region"], "insertedContent": {"text": edit.new_text}}
    changes = [{"artifactLocation": place["artifactLocation"], "replacements": [change]}]
    return {"fixes": [{"description": {"text": edit.title}, "artifactChanges": changes}]}


def result(
    rule: str, level: str, text: str, path: str, span: Span | None, subject: str = ""
) -> dict[str, Any]:
    """One result at `span` of the file `path`, or at its top; in a notebook at a cell.

    `subject` is the kernel that it is about: with rule and file it identifies the result in another
    version of the code.
    """
    place: dict[str, Any] = {"physicalLocation": _physical(path, span or _TOP)}
    if isinstance(span, CellSpan):
        # The lines of a cell are no lines of the file.
        place["physicalLocation"] = _physical(path, replace(_TOP, file=span.file))
        place["logicalLocations"] = [{"fullyQualifiedName": places.line(span)}]
        text = f"{places.line(span)}: {text}"
    uri = place["physicalLocation"]["artifactLocation"]["uri"]
    digest = hashlib.sha256("\0".join((rule, uri, subject)).encode()).hexdigest()[:16]
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text or rule},
        "locations": [place],
        "partialFingerprints": {_FINGERPRINT: digest},
    }


def _physical(path: str, span: Span) -> dict[str, Any]:
    """A place in the file `path`, or in the one that the span names."""
    end_line, end_column = max((span.line, span.column), (span.end_line, span.end_column))
    region = {
        "startLine": span.line,
        "startColumn": span.column + 1,
        "endLine": end_line,
        "endColumn": end_column + 1,
    }
    file = Path(span.file or path)
    return {"artifactLocation": {"uri": _uri(file)}, "region": region}


def _uri(file: Path) -> str:
    """A URI, relative to the repository of the file, or to the working directory, if `file` is in
    it: all but letters, digits and ``_.-~/`` percent-encoded."""
    root = repository.root_of(file)
    if root is not None and file.absolute().is_relative_to(root):
        file = file.absolute().relative_to(root)
    if file.is_absolute():
        return file.as_uri()
    return quote_from_bytes(os.fsencode(file.as_posix()))
