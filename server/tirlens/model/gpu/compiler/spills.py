"""Register spills: the cost of arrays that exceed a thread's registers.

The compiler keeps the excess in local memory, and loads and stores it in each iteration.  Loads hit
L1, which writes all stores through to L2.
(RTX 3090, products of 4096^3 with 256 accumulators a thread: 40 to 96 ms, where the stores of the
53 registers above the limit take 55 ms at the rate of L2 and the product takes 6 ms.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ...constants import constant
from ...tree.node import StatementCost
from ..launch.launch_time import DEVICE_WIDE_UNITS
from ..units import l2_bytes_per_s
from .register_pressure import REGISTER_SCOPES

SPILL_INSTRUCTION_FACTOR = constant(
    "SPILL_INSTRUCTION_FACTOR",
    3.0,
    kind="estimate",
    unit="ratio",
    meaning="Instructions with spill code over instructions without.",
    source="a load and a store for each arithmetic instruction",
)
# Units whose work does not change with spills.
_UNAFFECTED_UNITS = DEVICE_WIDE_UNITS | {"shared"}


def add_spill_time(
    leaves: Sequence[StatementCost], share: float, device: Device
) -> list[StatementCost]:
    """The leaves with the time of spills of `share` of the register arrays."""
    return (
        [_add_statement_spills(leaf, share, device) for leaf in leaves] if share else list(leaves)
    )


def _add_statement_spills(leaf: StatementCost, share: float, device: Device) -> StatementCost:
    held = [entry for entry in leaf.count.accesses if _is_in_registers(entry.buffer)]
    if not held:
        return leaf
    stored = share * sum(entry.bytes or 0 for entry in held if entry.access.mode != "read")
    seconds = {
        name: one if name in _UNAFFECTED_UNITS else one * SPILL_INSTRUCTION_FACTOR
        for name, one in leaf.busy_s.items()
    }
    stored_s = stored / device.microarchitecture.l2_write_fraction / l2_bytes_per_s(leaf, device)
    seconds["l2"] = seconds.get("l2", 0.0) + stored_s
    return leaf.with_busy_s(seconds).with_spills(share, stored)


def _is_in_registers(buffer: Buffer) -> bool:
    return buffer.scope.startswith(REGISTER_SCOPES)
