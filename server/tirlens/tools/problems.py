"""Kernels without figures: why, and what to send so that they have some."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tirlens.ide import labels
from tirlens.pipeline import FileReport
from tirlens.tools.answers import optional
from tirlens.tools.errors import ToolError

_MOST = 5


@dataclass(frozen=True)
class Missing:
    """A kernel, or a part of the file, that has no figures."""

    name: str
    line: int
    why: str
    send: Mapping[str, Any] = optional(dict)


def missing(report: FileReport) -> tuple[Missing, ...]:
    """What has no figures, at most five."""
    found: dict[tuple[str, int], Missing] = {}
    for need in report.needs:
        names = ", ".join(need.names) or "its arguments"
        given = ", ".join(f"{name}=..." for name in need.names) or "..."
        why = f"needs {names}" + (f" (tried {need.reason})" if need.reason else "")
        line = need.span.line
        found[need.kernel, line] = Missing(
            need.kernel, line, why, {"call": f"{need.kernel}({given})"}
        )
    for kernel in report.kernels:
        if kernel.needs:
            title, line = labels.title(kernel), kernel.span.line
            why = f"needs {', '.join(kernel.needs)}"
            send = {"bindings": dict.fromkeys(kernel.needs, 4096)}
            found[title, line] = Missing(title, line, why, send)
    for problem in report.problems:
        line = problem.span.line if problem.span else 1
        text = f"{problem.kind}: {problem.message}"
        found.setdefault((problem.kernel or "", line), Missing(problem.kernel or "", line, text))
    unselected = {(kernel.name, kernel.span.line) for kernel in report.unselected}
    for item in report.uncalled:
        if (item.kernel, item.span.line) in unselected:
            continue
        key = (item.kernel, item.span.line)
        text = f"no kernel came of {item.call}"
        found.setdefault(key, Missing(item.kernel, item.span.line, text))
    return tuple(found.values())[:_MOST]


def no_figures(report: FileReport, name: str) -> ToolError:
    """The error of a file of which no kernel has figures."""
    without = missing(report)
    known = [kernel.name for kernel in report.source.kernels if not kernel.off]
    if without:
        first = without[0]
        about = f"{first.name} " if first.name else ""
        message = f"{name}:{first.line}: {about}{first.why.rstrip('.')}."
        kind = "needs-arguments" if first.send else "no-figures"
        return ToolError(kind, message, first.send)
    if report.unselected and known:
        return ToolError(
            "no-kernels",
            f"No kernel of {name} has this name or call. It has: {', '.join(known[:20])}.",
            {"kernel": known[0]},
        )
    hint = report.source.looked_for
    return ToolError("no-kernels", f"{name} has no kernel{f': {hint}' if hint else ''}.")
