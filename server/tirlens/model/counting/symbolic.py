"""The symbolic formulas of a kernel, where they are known."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from tirlens_worker.facts import KernelFacts

from .formula import Formulas


def formulas(facts: KernelFacts) -> Mapping[str, str]:
    """``flop`` and ``global_bytes`` in the shape variables; a key is left out if not known."""
    found = Formulas(facts)
    makers: Mapping[str, Callable[[], str | None]] = {
        "flop": found.flop,
        "global_bytes": found.global_bytes,
    }
    out: dict[str, str] = {}
    for name, maker in makers.items():
        try:
            text = maker()
        except Exception:  # a formula is an extra: without it the numbers still stand
            text = None
        if text:
            out[name] = text
    return out
