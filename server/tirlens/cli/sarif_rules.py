"""The descriptions of the rules of SARIF results, as GitHub's upload requires them.

Source: GitHub documentation, "SARIF support for code scanning", reportingDescriptor object:
short and full description and help are required, not empty, and have at most 1,024 characters.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from tirlens.advice import rules
from tirlens.ide.terms import SITE

_MAX_CHARACTERS = 1024
_MEASURED = "ci/#measured-baselines"
_GATE, _ARGUMENTS, _PROBLEMS = "ci/", "arguments/", "install/"

#: Summary, explanation and page of each rule that is no advice.
_OTHERS: Mapping[str, tuple[str, str, str]] = {
    "cost": (
        "The cost of a kernel",
        "The estimated time of the kernel, what limits it, its FLOP and its memory traffic.",
        "labels/",
    ),
    "over-budget": (
        "A kernel takes more than its budget",
        (
            "The kernel takes more time or moves more DRAM bytes than a directive or the project "
            "allows."
        ),
        _GATE,
    ),
    "slower": (
        "A change makes a kernel slower",
        (
            "The estimated time of the kernel has grown by more than the limit, and by more than "
            "the model's noise. Both times are of the same call on the same device."
        ),
        _GATE,
    ),
    "more-dram": (
        "A change makes a kernel move more DRAM bytes",
        "The DRAM traffic of the kernel has grown by more than the limit, and it is not faster.",
        _GATE,
    ),
    "lost": (
        "A kernel has no figures any more",
        "The kernel could be analysed before the change and cannot now.",
        _GATE,
    ),
    "other-work": (
        "A kernel cannot be compared with itself before the change",
        (
            "The calls of both sides have other sizes, and neither side can be evaluated with "
            "the call of the other."
        ),
        _GATE,
    ),
    "unknown": (
        "A changed kernel cannot be analysed",
        (
            "The kernel has no figures, neither before the change nor now, so that the effect of "
            "the change is not known."
        ),
        _GATE,
    ),
    "measured-slower": (
        "A measured operation is slower",
        (
            "The measured time of an execution has grown by more than the limit, and by more than "
            "the spread of the runs."
        ),
        _MEASURED,
    ),
    "measured-more-dram": (
        "A measured operation moves more DRAM bytes",
        "The counted DRAM bytes have grown by more than the limit, and it is not faster.",
        _MEASURED,
    ),
    "measured-uncompared": (
        "A measured operation cannot be compared with the baseline",
        (
            "The baseline does not have the operation, is of another device or of arguments of "
            "other sizes, or the spread of its times is not known."
        ),
        _MEASURED,
    ),
    "needs-bindings": (
        "A kernel needs arguments",
        (
            "Nothing gives the sizes of the kernel. Give them by a comment "
            "# tirlens: kernel(M=4096), by --call or by --bind."
        ),
        _ARGUMENTS,
    ),
    "syntax": ("The file has a syntax error", "Python cannot parse the file.", _PROBLEMS),
    "import": ("An import fails", "A module that the file imports cannot be imported.", _PROBLEMS),
    "trace": (
        "A kernel cannot be traced",
        "The framework rejects the kernel, or the code that makes it fails.",
        _PROBLEMS,
    ),
}
_UNNAMED = (
    "A file cannot be analysed completely",
    "The message says which part of the analysis failed and why.",
    _PROBLEMS,
)


def descriptor(rule: str) -> dict[str, Any]:
    """The ``reportingDescriptor`` of a rule."""
    summary, explanation, page = _advice_rules().get(rule) or _OTHERS.get(rule, _UNNAMED)
    uri = SITE + page
    return {
        "id": rule,
        "name": rule,
        "shortDescription": {"text": _shorten(summary)},
        "fullDescription": {"text": _shorten(explanation)},
        "help": {
            "text": f"{explanation} See {uri}",
            "markdown": f"{explanation} [Documentation]({uri})",
        },
        "helpUri": uri,
        "properties": {"tags": ["performance"]},
    }


@cache
def _advice_rules() -> Mapping[str, tuple[str, str, str]]:
    """Summary, explanation and page of each advice rule, from its docstring."""
    found: dict[str, tuple[str, str, str]] = {}
    for module in pkgutil.iter_modules(rules.__path__):
        text = inspect.getdoc(importlib.import_module(f"{rules.__name__}.{module.name}")) or ""
        head, _, body = text.partition("\n\n")
        name, _, summary = " ".join(head.split()).partition(": ")
        sections = re.split(r"^(.+)\n-{4,}$", body, flags=re.MULTILINE)
        explained = {
            title: " ".join(content.split())
            for title, content in zip(sections[1::2], sections[2::2], strict=True)
        }
        parts = (
            explained.get(title, "")
            for title in ("What it finds", "Why it costs time", "How to change it")
        )
        sentence = summary[:1].upper() + summary[1:]
        found[name] = sentence, " ".join(filter(None, parts)) or sentence, f"advice/{name}/"
    return found


def _shorten(text: str) -> str:
    return text if len(text) <= _MAX_CHARACTERS else f"{text[: _MAX_CHARACTERS - 3]}..."
