"""Ports: the unit that an instruction needs, for how many clocks, and its latency.

The rates are those of the device.  Latencies that no calibration measures are those of uops.info.
"""

from __future__ import annotations

from typing import NamedTuple

from tirlens.hardware.cpu_core import INTEGER_ADD_LATENCY_CLK
from tirlens.hardware.spec import Device
from tirlens_x86 import Kind, Operation

from ...constants import constant
from .arithmetic import DIVISIONS
from .core_time import SCALAR_DIVIDE_RATIO
from .load_store import SHUFFLE_CLK

LOAD_LATENCY_CLK = constant(
    "LOAD_LATENCY_CLK",
    5.0,
    kind="isa",
    unit="clocks",
    meaning="Latency of a load that hits L1.",
    source="uops.info and vendors' optimisation guides: 4 to 7 clocks since Haswell and Zen 2",
    bounds=(4.0, 7.0),
)
SHUFFLE_LATENCY_CLK = constant(
    "SHUFFLE_LATENCY_CLK",
    3.0,
    kind="measured",
    unit="clocks",
    meaning="Latency of a shuffle across the halves of a vector, and of a conversion.",
    source="uops.info, ``vpermps``, ``vcvtdq2ps``",
)
DIVIDE_LATENCY_CLK = constant(
    "DIVIDE_LATENCY_CLK",
    11.0,
    kind="measured",
    unit="clocks",
    meaning="Latency of a floating-point division.",
    source="uops.info, ``vdivps``: 10 to 12 clocks since Skylake and Zen 2",
)
ROOT_LATENCY_CLK = constant(
    "ROOT_LATENCY_CLK",
    14.0,
    kind="measured",
    unit="clocks",
    meaning="Latency of a square root.",
    source="uops.info, ``vsqrtps``: 12 to 15 clocks since Skylake and Zen 2",
)
PRODUCT_LATENCY_CLK = constant(
    "PRODUCT_LATENCY_CLK",
    3.0,
    kind="measured",
    unit="clocks",
    meaning="Latency of an integer product.",
    source="uops.info, ``imul``",
)
VECTOR_PRODUCT_LATENCY_CLK = constant(
    "VECTOR_PRODUCT_LATENCY_CLK",
    4.0,
    kind="measured",
    unit="clocks",
    meaning="Latency of a product of vectors of integers.",
    source="uops.info, ``vpdpwssd``, ``vpmaddwd``: 3 to 5 clocks",
)
INTEGER_DIVIDE_CLK = constant(
    "INTEGER_DIVIDE_CLK",
    10.0,
    kind="measured",
    unit="clocks",
    meaning="Clocks and latency of a division of integers.",
    source="uops.info, ``idiv`` of 32 bits: 6 to 14 clocks since Ice Lake and Zen 3",
)
SCALAR_LOADS = constant(
    "SCALAR_LOADS",
    3,
    kind="isa",
    unit="loads per clock",
    meaning="Most loads to general registers per clock.",
    source="vendors' optimisation guides: 3 of Zen 3 and Golden Cove, 2 of older cores",
    bounds=(2, 3),
)
SCALAR_STORES = constant(
    "SCALAR_STORES",
    2,
    kind="isa",
    unit="stores per clock",
    meaning="Most stores of general registers per clock.",
    source="vendors' optimisation guides: 2 of Zen 3 and Ice Lake, 1 of older cores",
    bounds=(1, 2),
)
INTEGER_UNITS = constant(
    "INTEGER_UNITS",
    4,
    kind="isa",
    unit="units",
    meaning="Units for operations on general registers.",
    source="vendors' optimisation guides: 4 of Skylake and Zen, 5 of Golden Cove",
)
BRANCHES_PER_CLK = constant(
    "BRANCHES_PER_CLK",
    2,
    kind="isa",
    unit="branches",
    meaning="Branches that are not taken, or of which one is taken, per clock.",
    source="vendors' optimisation guides",
)
WIDE_INDEX_RATIO = constant(
    "WIDE_INDEX_RATIO",
    1.2,
    kind="measured",
    unit="ratio",
    meaning="Time of a gathered element whose index has 64 bits over that with 32 bits.",
    source="``vgatherqps`` and ``vgatherdps`` on a Zen 4: 20.0 and 17.1 clocks for 16 floats in L1",
)
NARROW_UNITS_RATIO = constant(
    "NARROW_UNITS_RATIO",
    0.75,
    kind="choice",
    unit="ratio",
    meaning="Clocks of a narrow instruction over those of a vector below which units are narrow.",
    source="half of a vector takes half of the time there, and the same elsewhere",
)
# Bytes of the widest single elements.
MAX_ELEMENT_BYTES = 8

#: The units by kind of instruction.
_UNITS: dict[Kind, str] = {
    "add": "arithmetic",
    "multiply": "arithmetic",
    "multiply_add": "arithmetic",
    "extremum": "arithmetic",
    "vector_product": "arithmetic",
    "divide": "divide",
    "root": "divide",
    "integer_divide": "divide",
    "shuffle": "shuffle",
    "convert": "shuffle",
    "vector_integer": "vector",
    "mask": "shuffle",
    "integer": "integer",
    "integer_product": "product",
    "branch": "branch",
}


class Need(NamedTuple):
    """A unit for so many clocks, and the clocks from the operands to the result."""

    unit: str
    clk: float
    latency_clk: float


class Ports:
    """The units of a core."""

    def __init__(self, device: Device) -> None:
        core = device.cpu
        assert core is not None
        self._core = core
        ratio = core.narrow_arithmetic_clk / core.arithmetic_clk
        self._has_narrow_units = ratio < NARROW_UNITS_RATIO
        self._known: dict[Operation, tuple[Need | None, Need | None, Need | None]] = {}

    def needs(self, operation: Operation) -> tuple[Need | None, Need | None, Need | None]:
        """What an instruction needs to load, to compute, and to store; None for what it does not.

        A move between registers needs nothing: it is renamed.
        """
        found = self._known.get(operation)
        if found is None:
            found = (self._load(operation), self._compute(operation), self._store(operation))
            self._known[operation] = found
        return found

    def _by_width(self, width: int, narrow: float, vector: float, wide: float) -> float:
        vector_bytes = self._core.vector_bytes
        if width <= vector_bytes // 2:
            return narrow
        return vector if width <= vector_bytes else wide

    def _elements_clk(self, operation: Operation, vector_clk: float) -> float:
        """Clocks of a gather or scatter, by those of a vector with indices of 32 bits."""
        ratio = WIDE_INDEX_RATIO if operation.has_wide_index else 1.0
        return vector_clk * operation.width_bytes / self._core.vector_bytes * ratio

    def _load(self, operation: Operation) -> Need | None:
        core, width = self._core, operation.load_bytes
        if operation.kind == "gather":
            clk = self._elements_clk(operation, core.gather_clk)
            return Need("load", clk, clk + LOAD_LATENCY_CLK)
        if not width:
            return None
        clk = self._by_width(width, core.narrow_load_clk, core.load_clk, core.wide_load_clk)
        if operation.is_general:
            clk = min(clk, 1 / SCALAR_LOADS)
        return Need("load", clk, LOAD_LATENCY_CLK)

    def _store(self, operation: Operation) -> Need | None:
        core, width = self._core, operation.store_bytes
        if operation.kind == "scatter":
            clk = self._elements_clk(operation, core.scatter_clk)
            return Need("store", clk, clk)
        if not width:
            return None
        clk = self._by_width(width, core.narrow_store_clk, core.store_clk, core.wide_store_clk)
        if operation.is_general:
            clk = min(clk, 1 / SCALAR_STORES)
        return Need("store", clk, 0.0)

    def _compute(self, operation: Operation) -> Need | None:
        core, kind = self._core, operation.kind
        unit = _UNITS.get(kind)
        if unit is None:
            return None
        width = operation.width_bytes
        arithmetic = self._by_width(
            width, core.narrow_arithmetic_clk, core.arithmetic_clk, core.wide_arithmetic_clk
        )
        share = arithmetic / core.arithmetic_clk
        if unit == "arithmetic":
            latency = {
                "multiply_add": core.multiply_add_latency_clk,
                "extremum": core.max_latency_clk,
                "vector_product": VECTOR_PRODUCT_LATENCY_CLK,
            }.get(kind, core.latency_clk)
            return Need(unit, arithmetic, latency)
        if kind in ("divide", "root"):
            is_element = width <= MAX_ELEMENT_BYTES
            clk = core.divide_clk * (SCALAR_DIVIDE_RATIO if is_element else share)
            if width > core.vector_bytes:
                clk = 2 * core.divide_clk
            if kind == "root":
                return Need(unit, clk * DIVISIONS["sqrt"], ROOT_LATENCY_CLK)
            return Need(unit, clk, DIVIDE_LATENCY_CLK)
        if unit == "shuffle":
            clk = SHUFFLE_CLK * (share if self._has_narrow_units else 1)
            return Need(unit, clk, SHUFFLE_LATENCY_CLK)
        return {
            "vector": Need(unit, core.integer_clk * share, INTEGER_ADD_LATENCY_CLK),
            "divide": Need(unit, INTEGER_DIVIDE_CLK, INTEGER_DIVIDE_CLK),
            "integer": Need(unit, 1 / INTEGER_UNITS, INTEGER_ADD_LATENCY_CLK),
            "product": Need(unit, 1.0, PRODUCT_LATENCY_CLK),
            "branch": Need(unit, 1 / BRANCHES_PER_CLK, INTEGER_ADD_LATENCY_CLK),
        }[unit]
