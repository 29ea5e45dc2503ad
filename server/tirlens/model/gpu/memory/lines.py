"""How fast DRAM gives tiles whose rows are narrower than a line of L2."""

from __future__ import annotations

from tirlens_counting.expressions import free_variables

from ...counting.kernel_counts import AccessCount
from ...tree.context import GRID_KINDS, dtype_bytes
from ...tree.node import CostNode
from ..mapping.requests import LINE_BYTES

# Half a line at a time, the other half turns later, opens each page of DRAM more often.  Products
# of 64 or 128 rows on an H100 whose weights come in rows of 64 bytes take 1.28 to 1.39 times as
# long as with rows of 128, with 3 or 4 stages, 4 or 8 warps and tiles from 64 x 64 to 128 x 128
# alike (fitted half of `tests/measured/tiles.csv`).
HALF_LINES = 0.75
_COPIES = frozenset({"copy", "async_copy", "tma_copy"})


def line_share(item: CostNode) -> float:
    """The share of DRAM's rate that a leaf's loads get: below 1 for tiles of parts of lines.

    A loop goes along the tile's rows, so that later turns ask for the rest of each line.
    """
    if item.source.op not in _COPIES:
        return 1.0
    return min((_share(item, entry) for entry in item.count.accesses), default=1.0)


def _share(item: CostNode, entry: AccessCount) -> float:
    access, buffer = entry.access, entry.buffer
    if access.mode == "write" or buffer.scope != "global" or not access.extents:
        return 1.0
    row = access.extents[-1]
    if not isinstance(row, int) or row * dtype_bytes(buffer.dtype) >= LINE_BYTES:
        return 1.0
    along = free_variables(item.context.resolve(access.indices[-1]))
    turns = {loop.var for loop in item.context.loops if loop.kind not in GRID_KINDS}
    return HALF_LINES if along & turns else 1.0
