"""Load and store ports: the clocks that the loads and stores of a statement keep them busy."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES, CpuCore
from tirlens.hardware.spec import Device

from ...constants import constant
from ..compiler.access_elimination import (
    is_masked_gather,
    is_spilled,
    is_sum_in_memory,
    remaining_accesses,
)
from ..compiler.loop_nests import Nest
from ..compiler.statements import Address, NestStatement
from ..compiler.vector_width import VectorWidth, legal_accesses, scalarized_elements
from ..compiler.vectorization import group_fill, is_interleaved

SCALAR_LOAD_RATIO = constant(
    "SCALAR_LOAD_RATIO",
    0.8,
    kind="fitted",
    unit="ratio",
    meaning="Clocks of a load of a single element over those of a narrow vector.",
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
SCALAR_STORE_RATIO = constant(
    "SCALAR_STORE_RATIO",
    1.5,
    kind="fitted",
    unit="ratio",
    meaning="Clocks of a store of a single element over those of a narrow vector.",
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
MIN_GATHER_ELEMENT_BYTES = constant(
    "MIN_GATHER_ELEMENT_BYTES",
    4,
    kind="isa",
    unit="bytes",
    meaning=(
        "Smallest elements that gathers and scatters take; smaller ones are inserted into "
        "vectors one by one."
    ),
    source="AVX2: VPGATHERDD",
)
SCATTER_TO_GATHER_CLK = constant(
    "SCATTER_TO_GATHER_CLK",
    2.5,
    kind="fitted",
    unit="clocks",
    meaning=(
        "Clocks of each element of a gather that reads what was just scattered, from the "
        "cache because stores are not forwarded to gathers."
    ),
    source="hand-tuned",
    rows="CPU kernels (`tests/measured/cpu_kernels`)",
)
SHUFFLE_CLK = constant(
    "SHUFFLE_CLK",
    1.0,
    kind="measured",
    unit="clocks",
    meaning="Clocks of a shuffle across a vector, for which x86 cores have one unit.",
    source="uops.info",
)
ELEMENT_COPY_CLK = constant(
    "ELEMENT_COPY_CLK",
    1.5,
    kind="estimate",
    unit="clocks",
    meaning="Clocks that extract an element from a vector and insert it into another.",
    source="two shuffles, one in four of which is not needed",
)


@dataclass(frozen=True)
class VectorRates:
    """Clocks of one instruction of a width, when only instructions of its kind execute.

    A load or store across two lines takes `line_split` times its clocks more.  Where units are
    narrower than the vector only one of its parts crosses the boundary.
    """

    load_clk: float
    store_clk: float
    arithmetic_clk: float
    line_split: float = 1.0


def rates_of(width: VectorWidth, core: CpuCore) -> VectorRates:
    """Clocks of instructions of a width on a core."""
    if width.kind == "wide":
        return VectorRates(core.wide_load_clk, core.wide_store_clk, core.wide_arithmetic_clk)
    if width.kind == "narrow":
        return VectorRates(core.narrow_load_clk, core.narrow_store_clk, core.narrow_arithmetic_clk)
    line_split = core.narrow_load_clk / core.load_clk
    return VectorRates(core.load_clk, core.store_clk, core.arithmetic_clk, line_split)


@dataclass
class PortUsage:
    """Load and store instructions over the whole launch, and the clocks of their ports.

    Vector loads and stores share the path to L1: the shorter of the two adds the fraction `sharing`
    of its clocks.  Single elements do not.
    """

    sharing: float
    instructions: float = 0.0
    vector_load_clk: float = 0.0
    vector_store_clk: float = 0.0
    scalar_load_clk: float = 0.0
    scalar_store_clk: float = 0.0

    @property
    def clk(self) -> float:
        """Clocks in which the ports are busy."""
        less, more = sorted((self.vector_load_clk, self.vector_store_clk))
        scalar_clk = max(self.scalar_load_clk, self.scalar_store_clk)
        return more + self.sharing * less + scalar_clk


def port_usage(
    statement: NestStatement, nest: Nest, width: VectorWidth, device: Device
) -> PortUsage:
    """The load and store instructions of a statement's executions, in vectors of `width`."""
    core = device.cpu
    assert core is not None
    out = PortUsage(core.load_store_sharing)
    in_memory = is_spilled(statement, nest, width, device) or is_sum_in_memory(statement, nest)
    for address in statement.addresses:
        is_load = address.mode == "read"
        accesses = remaining_accesses(address, statement, nest, width, in_memory)
        clk = _access_clk(address, statement, nest, width, device, is_load)
        out.instructions += accesses * width.registers
        if width.elements > 1 and is_load:
            out.vector_load_clk += accesses * clk
        elif width.elements > 1:
            out.vector_store_clk += accesses * clk
        elif is_load:
            out.scalar_load_clk += accesses * SCALAR_LOAD_RATIO * clk
        else:
            out.scalar_store_clk += accesses * SCALAR_STORE_RATIO * clk
    elements = scalarized_elements(statement, nest, device.simd_bytes, core.unrolled_instructions)
    out.instructions += elements
    out.vector_load_clk += elements * ELEMENT_COPY_CLK
    if in_memory:
        store_clk = rates_of(width, core).store_clk
        out.vector_store_clk += elements * SCALAR_STORE_RATIO * store_clk
    return out


def _access_clk(
    address: Address,
    statement: NestStatement,
    nest: Nest,
    width: VectorWidth,
    device: Device,
    is_load: bool,
) -> float:
    """Clocks of one load or store."""
    core = device.cpu
    assert core is not None
    rates = rates_of(width, core)
    clk, gather_clk = (
        (rates.load_clk, core.gather_clk) if is_load else (rates.store_clk, core.scatter_clk)
    )
    if is_masked_gather(address, statement, nest):
        return gather_clk
    lane = nest.loop.var if nest.is_vectorized and nest.loop else statement.lane_variable
    stride = statement.stride_bytes(address, lane) if lane else 0
    if width.elements <= 1 or stride == 0:
        return clk
    if stride == address.access_bytes:
        splits = line_split_fraction(address, lane, width, statement)
        accesses = legal_accesses(int(width.elements), int(width.registers))
        return clk * accesses * (1 + splits * rates.line_split)
    vectors = width.registers * (2 if width.is_wide else 1)
    if stride == -address.access_bytes:
        # One shuffle reverses the vector.
        return (clk + SHUFFLE_CLK) * width.registers
    if stride is not None and statement.lanes > 1:
        # TVM scalarizes an explicit vector with a stride (``CodeGenLLVM``).
        return max(SHUFFLE_CLK, clk) * width.elements
    if stride is not None and is_interleaved(address, stride, nest.statements):
        step = abs(stride) // address.access_bytes
        vectors_per_register = device.simd_bytes / core.vector_bytes
        return (
            interleaved_vector_clk(address, step, nest.statements, clk, vectors_per_register)
            * vectors
        )
    if address.access_bytes < MIN_GATHER_ELEMENT_BYTES:
        return max(ELEMENT_COPY_CLK, clk) * width.elements
    is_scattered_before = address.mode == "read" and statement.accumulates(address)
    from_scatter_clk = SCATTER_TO_GATHER_CLK * width.elements if is_scattered_before else 0.0
    return gather_clk * vectors + from_scatter_clk


def interleaved_vector_clk(
    address: Address,
    step: int,
    statements: Sequence[NestStatement],
    clk: float,
    vectors_per_register: float,
) -> float:
    """Clocks of a vector of every `step`-th element, whose whole vectors take `clk` each.

    It is shuffled out of all vectors that hold it.  If all elements of the group are accessed,
    shuffles of two vectors at a time need one round for each power of two.
    """
    fill = group_fill(address, step, statements)
    rounds = math.log2(step) / vectors_per_register if fill == 1 else step - 1
    vector_clk = max(clk / fill, SHUFFLE_CLK * rounds)
    return vector_clk + (clk if address.mode != "read" else 0.0)


def line_split_fraction(
    address: Address, lane: str | None, width: VectorWidth, statement: NestStatement
) -> float:
    """The fraction of an address's vectors that cross the boundary of two lines."""
    vector_bytes = min(width.elements * address.access_bytes, CACHE_LINE_BYTES)
    is_unaligned = address.offset_bytes % vector_bytes or any(
        stride % vector_bytes for digit, stride in address.terms if digit != lane
    )
    return (vector_bytes - address.access_bytes) / CACHE_LINE_BYTES if is_unaligned else 0.0
