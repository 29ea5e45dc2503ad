"""The number of times that matrix instructions read their operands from shared memory.

A wgmma of a warpgroup multiplies 64 rows of A and up to 256 columns of B, and reads both from
shared memory unless A is in registers (PTX ISA, "wgmma.mma_async").  It reads a tile of B once for
every 64 rows of the product, and a tile of A once for each warpgroup that computes some of its
columns.  With few columns per warpgroup the reads take longer than the product: 24 clocks against
16 for 64 x 32 x 16 (W. Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
Architecture": full rate from 64 columns).  For mma.sync each warp loads the rows and columns of its
part of the product.  The tensor cores of sm_100 read a tile once.

Sources: tilelang ``src/cuda/op/gemm.cc`` (ComputeWgmmaWarpPartition, ComputeDefaultWarpPartition).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Gemm, WarpPolicy

from ...tree.context import WARP, WARPGROUP
from ...tree.node import CostNode

# Shapes of one instruction (PTX ISA, "Warpgroup Level Matrix Shape": m64nNk16, N from 8 to 256;
# "Warp Level Matrix Shape": m16n8).
MAX_WGMMA_COLUMNS = 256
WGMMA_ROWS, WGMMA_COLUMNS = 64, 8
MMA_ROWS, MMA_COLUMNS = 16, 8


def operand_read_counts(cost: CostNode, device: Device) -> tuple[float, float]:
    """The number of times that a tile product reads A and B from shared memory."""
    node = cost.source
    if not isinstance(node, Gemm) or node.m_n_k is None:
        return 1.0, 1.0
    if "tcgen05" in device.features or "mfma" in device.features:
        return 1.0, 1.0
    rows, columns, _ = node.m_n_k
    if not isinstance(rows, int) or not isinstance(columns, int):
        return 1.0, 1.0
    groups = cost.threads // WARPGROUP
    if "wgmma" in device.features and rows >= WGMMA_ROWS and groups:
        down, across = _partition_warps(
            rows, columns, groups, node.policy, (WGMMA_ROWS, WGMMA_COLUMNS)
        )
        return across * -(-columns // across // MAX_WGMMA_COLUMNS), rows / WGMMA_ROWS
    warps = max(cost.threads // WARP, 1)
    down, across = _partition_warps(rows, columns, warps, node.policy, (MMA_ROWS, MMA_COLUMNS))
    return across, down


@lru_cache(maxsize=512)
def _partition_warps(
    rows: int, columns: int, number: int, policy: WarpPolicy, least: tuple[int, int]
) -> tuple[int, int]:
    """The partition of the product into `number` parts: along rows and along columns."""
    found = list(_possible_partitions(rows, columns, number, least))
    if not found:
        return 1, 1
    if policy == "full_row":
        return found[-1]
    if policy == "full_col":
        return found[0]
    ideal = rows / columns

    def unevenness(parts: tuple[int, int]) -> float:
        down, across = parts
        return abs((rows / (down * least[0])) / (columns / (across * least[1])) - ideal)

    return min(found, key=unevenness)


def _possible_partitions(
    rows: int, columns: int, number: int, least: tuple[int, int]
) -> Iterator[tuple[int, int]]:
    for down in range(1, number + 1):
        across = number // down
        whole = down * across == number
        if whole and rows % (down * least[0]) == 0 and columns % (across * least[1]) == 0:
            yield down, across
