"""The math fidelity of a matrix engine that multiplies wide operands in several passes.

A Tensix core multiplies 5 bits of one operand with 7 bits of the other at once.  ``LoFi`` is one
pass, over the leading bits alone; ``HiFi2``, ``HiFi3`` and ``HiFi4`` add the rest of the mantissas
in two, three and four.

Source: tenstorrent/tt-metal, ``tech_reports/matrix_engine/matrix_engine.md``.
"""

from __future__ import annotations

from collections.abc import Mapping

PASSES: Mapping[str, int] = {"LoFi": 1, "HiFi2": 2, "HiFi3": 3, "HiFi4": 4}
"""The passes of each fidelity: at its peak, a product takes as many times the time of LoFi."""

_BY_LOWER_CASE = {name.lower(): name for name in PASSES}


def fidelity_of(text: str) -> str:
    """The fidelity that a user, a directive or a trace names, in whatever case.

    Raises
    ------
    ValueError
        It names none.
    """
    found = _BY_LOWER_CASE.get(text.strip().lower())
    if found is None:
        raise ValueError(f"must be one of {', '.join(PASSES)}")
    return found
