"""Matrix instructions: how often they read their operands, and which ones a device has.

A wgmma of a warpgroup multiplies 64 rows of A and up to 256 columns of B, and reads both from
shared memory unless A is in registers (PTX ISA, "wgmma.mma_async").  It reads a tile of B once for
every 64 rows of the product, and a tile of A once for each warpgroup that computes some of its
columns.  With few columns per warpgroup the reads take longer than the product: 24 clocks against
16 for 64 x 32 x 16 (W. Luo et al., "Benchmarking and Dissecting the Nvidia Hopper GPU
Architecture": full rate from 64 columns).  For mma.sync each warp loads the rows and columns of its
part of the product.  tcgen05 reads a tile once.

Sources: tilelang ``src/cuda/op/gemm.cc`` (ComputeWgmmaWarpPartition, ComputeDefaultWarpPartition).

A kernel with a matrix instruction that the device does not have does not compile for it, and has no
time there (`tirlens.hardware.gpu_features`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from tirlens.hardware.gpu_features import missing_features
from tirlens.hardware.spec import Device
from tirlens_worker.facts import Gemm, MatrixInstruction, Mma, WarpPolicy

from ...constants import constant
from ...report import CaveatNote
from ...tree.context import WARPGROUP, dtype_bytes
from ...tree.node import Leaf
from .live_ranges import REGISTER_BYTES

MAX_WGMMA_COLUMNS = constant(
    "MAX_WGMMA_COLUMNS",
    256,
    kind="isa",
    unit="columns",
    meaning="Most columns of one matrix instruction of a warpgroup.",
    source='PTX ISA, "Warpgroup Level Matrix Shape": m64nNk16, N from 8 to 256',
)
WGMMA_ROWS = constant(
    "WGMMA_ROWS",
    64,
    kind="isa",
    unit="rows",
    meaning="Rows of one matrix instruction of a warpgroup.",
    source='PTX ISA, "Warpgroup Level Matrix Shape": m64nNk16',
)
WGMMA_COLUMNS = constant(
    "WGMMA_COLUMNS",
    8,
    kind="isa",
    unit="columns",
    meaning="Fewest columns of one matrix instruction of a warpgroup.",
    source='PTX ISA, "Warpgroup Level Matrix Shape": m64nNk16, N from 8 to 256',
)
MMA_ROWS = constant(
    "MMA_ROWS",
    16,
    kind="isa",
    unit="rows",
    meaning="Rows of one matrix instruction of a warp.",
    source='PTX ISA, "Warp Level Matrix Shape": m16n8',
)
MMA_COLUMNS = constant(
    "MMA_COLUMNS",
    8,
    kind="isa",
    unit="columns",
    meaning="Columns of one matrix instruction of a warp.",
    source='PTX ISA, "Warp Level Matrix Shape": m16n8',
)


def matrix_rate_fraction(name: str, instruction: MatrixInstruction | None, device: Device) -> float:
    """The rate of a family of matrix instructions over the peak of the device.

    Parameters
    ----------
    name
        The arithmetic class: ``tensor.bfloat16``.
    instruction
        The family; None for the device's widest.
    device
        The device.
    """
    if instruction not in ("mma", "wmma"):
        return 1.0
    sm = device.microarchitecture
    fractions = {
        "tensor.float16": sm.mma_16bit_fraction,
        "tensor.bfloat16": sm.mma_16bit_fraction,
        "tensor.tf32": sm.mma_tf32_fraction,
        "tensor.float8": sm.mma_float8_fraction,
        "tensor.float6": sm.mma_float8_fraction,
        "tensor.float4": sm.mma_float8_fraction,
        "tensor.int8": sm.mma_int8_fraction,
        "tensor.int4": sm.mma_int8_fraction,
    }
    return fractions.get(name, 1.0)


def operand_read_counts(cost: Leaf, instruction: MatrixInstruction | None) -> tuple[float, float]:
    """How often a tile product by a family of instructions reads A and B from shared memory."""
    node = cost.source
    if not isinstance(node, Gemm) or node.m_n_k is None:
        return 1.0, 1.0
    if instruction in ("tcgen05", "mfma"):
        return 1.0, 1.0
    rows, columns, _ = node.m_n_k
    if not isinstance(rows, int) or not isinstance(columns, int):
        return 1.0, 1.0
    groups = cost.threads // WARPGROUP
    if instruction == "wgmma" and rows >= WGMMA_ROWS and groups:
        down, across = _partition_warps(
            rows, columns, groups, node.policy, (WGMMA_ROWS, WGMMA_COLUMNS)
        )
        return across * -(-columns // across // MAX_WGMMA_COLUMNS), rows / WGMMA_ROWS
    warps = max(cost.threads // cost.context.warp_size, 1)
    down, across = _partition_warps(rows, columns, warps, node.policy, (MMA_ROWS, MMA_COLUMNS))
    return across, down


def wgmma_accumulators(cost: Leaf) -> tuple[float, int] | None:
    """The registers of a thread with the accumulators of one wgmma, and the number of such sets.

    Each warpgroup holds the accumulators of its part of the product. None where the shape is not
    known.
    """
    node, groups = cost.source, cost.threads // WARPGROUP
    if not isinstance(node, Gemm) or node.m_n_k is None or not groups:
        return None
    rows, columns, _ = node.m_n_k
    if not isinstance(rows, int) or not isinstance(columns, int):
        return None
    down, across = _partition_warps(rows, columns, groups, node.policy, (WGMMA_ROWS, WGMMA_COLUMNS))
    width = min(columns // across, MAX_WGMMA_COLUMNS)
    sets = -(-rows // down // WGMMA_ROWS) * -(-columns // across // width)
    elements = [
        dtype_bytes(entry.buffer.dtype)
        for entry in cost.count.accesses
        if entry.access.mode == "write"
    ]
    size = max(elements, default=REGISTER_BYTES)
    return WGMMA_ROWS * width * size / WARPGROUP / REGISTER_BYTES, sets


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


def find_unsupported_instructions(nodes: Iterable[object], arch: str) -> tuple[CaveatNote, ...]:
    """A caveat at each line with a matrix instruction that `arch` does not have."""
    found: dict[CaveatNote, None] = {}
    for node in nodes:
        if not isinstance(node, (Gemm, Mma)) or node.instruction is None:
            continue
        if not missing_features((node.instruction,), arch):
            continue
        message = (
            f"{arch} has no {node.instruction} instruction: "
            "the statement does not compile for this device"
        )
        found[CaveatNote(message, node.sites[0] if node.sites else None)] = None
    return tuple(found)
