"""Counting: how often each statement runs, which operations and bytes it issues, exactly.

Input: the facts of a kernel and the sizes of its shape variables.  Output: `KernelCounts`, exact
integers for every node of the kernel, the distinct bytes of its arrays, and symbolic formulas.  No
device is involved.  The integer arithmetic is that of `tirlens_counting`.
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens_worker.facts import KernelFacts

from .data_extents import substitute_lengths
from .footprint import compulsory_footprint
from .formulas import formulas
from .kernel_counter import KernelCounter
from .kernel_counts import KernelCounts

__all__ = ["KernelCounts", "count_kernel"]


def count_kernel(facts: KernelFacts, bindings: Mapping[str, int]) -> KernelCounts:
    """Count everything in a kernel.

    Parameters
    ----------
    facts
        The kernel, as extracted from its IR.
    bindings
        The sizes of shape variables.  A binding may also give a let its value, or a loop whose
        extent depends on data its trip count.

    Returns
    -------
    The counts.  Where sizes are missing, `KernelCounts.counts` lists them as `needs` and the
    dependent numbers are None.
    """
    counter = KernelCounter(facts, bindings)
    counts = counter.counts()
    lengths = counter.lengths
    if lengths:
        facts = substitute_lengths(facts, lengths)
        counter = KernelCounter(facts, bindings)
        counts = counter.counts()
    footprint = compulsory_footprint(counter, counts)
    return KernelCounts(facts, bindings, counts, footprint, formulas(facts), lengths)
