"""The clocks of a warp in the machine code of each statement, from those of each line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from tirlens_worker.facts import LineClocks

from ...tree.compiled import CodeClocks, Instructions
from ...tree.node import CostNode, leaves_of
from ...tree.table import Table
from .machine_instructions import estimated_instructions, shares_of, statements_by_line


def code_clocks(
    tree: Sequence[CostNode], estimated: Table[Instructions], found: Iterable[LineClocks]
) -> Table[CodeClocks] | None:
    """The clocks of each statement; None if those of no line are known.

    Clocks at the line of a loop are of the statements inside, which share them as they share the
    estimated instructions. Those of lines that the tree does not have are left out.
    """
    lines = statements_by_line(tree)
    rows = [[0.0, 0.0, 0.0] for _ in leaves_of(tree)]
    is_known = False
    for one in found:
        is_known = True
        leaves = lines.get(one.span.line if one.span is not None else 0, ())
        shares = shares_of([(estimated_instructions(leaf, estimated[leaf]),) for leaf in leaves])
        for leaf, share in zip(leaves, shares, strict=True):
            for place, clocks in enumerate((one.clocks, *one.memory_clocks)):
                rows[leaf.number][place] += clocks * share
    if not is_known:
        return None
    return Table(CodeClocks(clocks, (first, second)) for clocks, first, second in rows)
