"""Technical terms as links to their pages of the documentation."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from tirlens.ide.escaping import prose

if TYPE_CHECKING:
    from collections.abc import Mapping

SITE = "https://tirlens.github.io/tirlens/"
_GLOSSARY = f"{SITE}glossary/"

# The anchors of the terms that are no figures.
_OTHERS: Mapping[str, str] = {
    "ridge point": "ridge-point",
    "arrays": "arrays",
    "coalescing": "coalescing",
    "local memory": "spills",
    "Assumed": "assumed",
    "Caveats": "caveat",
}
#: The anchors of the bounds, by the contract's words for them.
BOUNDS: Mapping[str, str] = {
    **dict.fromkeys(("tensor", "fp32", "fp64", "int", "sfu"), "bound-compute"),
    "issue": "bound-issue",
    **dict.fromkeys(("shared", "l2", "dram", "atomics"), "bound-memory"),
    "latency": "bound-latency",
    "parallelism": "bound-parallelism",
    "tail": "bound-tail",
    "launch": "bound-launch",
    **dict.fromkeys(("l1", "l3", "tlb"), "bound-cpu"),
}


@cache
def anchors() -> Mapping[str, str]:
    """The terms of hovers, each with its anchor in the glossary."""
    # The first hovers are displayed before the model is imported.
    from tirlens.model.report import BreakdownEntry, KernelReport, figures

    known = (*figures(KernelReport), *figures(BreakdownEntry))
    return {**{one.term: one.anchor for one in known if one.term}, **_OTHERS}


def term(text: str) -> str:
    """`text` as a link to its entry of the glossary; as plain text if it has none."""
    anchor = anchors().get(text)
    return prose(text) if anchor is None else f"[{prose(text)}]({_GLOSSARY}#{anchor})"


def bound(text: str, bound: str | None) -> str:
    """`text` as a link to the meaning of the bound of a kernel or a line."""
    anchor = BOUNDS.get(bound or "")
    return prose(text) if anchor is None else f"[{prose(text)}]({_GLOSSARY}#{anchor})"


def rule(name: str) -> str:
    """The name of an advice rule as a link to its page."""
    return f"[{prose(name)}]({SITE}advice/{name}/)"


def call_source(name: str) -> str:
    """The source of a call as a link to the sources of arguments."""
    return f"[{prose(name)}]({SITE}arguments/#where-arguments-come-from)"
