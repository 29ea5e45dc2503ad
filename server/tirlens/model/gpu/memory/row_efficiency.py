"""DRAM efficiency of tiles whose rows are narrower than a 128-byte L2 line."""

from __future__ import annotations

from tirlens_counting.expressions import free_variables
from tirlens_worker.facts import Copy

from ...constants import constant
from ...counting.kernel_counts import AccessCount
from ...tree.context import GRID_KINDS, dtype_bytes
from ...tree.node import Leaf
from ...tree.thread_mapping import LINE_BYTES

HALF_LINE_DRAM_FRACTION = constant(
    "HALF_LINE_DRAM_FRACTION",
    0.75,
    kind="fitted",
    unit="fraction",
    meaning=(
        "Fraction of the DRAM rate for loads of half a line, the other half of which a later "
        "iteration loads: each DRAM page is opened more often."
    ),
    source=(
        "products of 64 or 128 rows on an H100 with weights in rows of 64 bytes take 1.28 to "
        "1.39 times as long as with rows of 128 bytes, for 3 or 4 stages, 4 or 8 warps and "
        "tiles from 64 x 64 to 128 x 128"
    ),
    bounds=(0.72, 0.78),
    rows="torch products on an H100 (fitted half of `tests/measured/tiles.csv`)",
)


def row_efficiency(node: Leaf) -> float:
    """The fraction of the DRAM rate that a leaf's loads reach; below 1 for parts of lines.

    It applies where a loop advances along the rows, so that later iterations load the rest of each
    line.
    """
    if not isinstance(node.source, Copy):
        return 1.0
    return min((_access_efficiency(node, entry) for entry in node.count.accesses), default=1.0)


def _access_efficiency(node: Leaf, entry: AccessCount) -> float:
    access, buffer = entry.access, entry.buffer
    if access.mode == "write" or buffer.scope != "global" or not access.extents:
        return 1.0
    row = access.extents[-1]
    if not isinstance(row, int) or row * dtype_bytes(buffer.dtype) >= LINE_BYTES:
        return 1.0
    along = free_variables(node.context.resolve(access.indices[-1]))
    iterations = {loop.var for loop in node.context.loops if loop.kind not in GRID_KINDS}
    return HALF_LINE_DRAM_FRACTION if along & iterations else 1.0
