"""Register spills: the cost of arrays that exceed a thread's registers.

The compiler keeps the excess in local memory, and loads and stores it in each iteration.  Loads hit
L1, which writes all stores through to L2.
(RTX 3090, products of 4096^3 with 256 accumulators a thread: 40 to 96 ms, where the stores of the
53 registers above the limit take 55 ms at the rate of L2 and the product takes 6 ms.)
"""

from __future__ import annotations

from collections.abc import Mapping

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ...constants import constant
from ...tree.busy import NO_SPILLS, Spills
from ...tree.node import Leaf
from ...tree.route import Route
from ..compiler.register_pressure import REGISTER_SCOPES
from .unit_times import DEVICE_WIDE_UNITS, l2_bytes_per_s

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


def spill_statement(
    leaf: Leaf, unit_s: Mapping[str, float], route: Route, share: float, device: Device
) -> tuple[Mapping[str, float], Spills]:
    """The busy times and spills of a statement where a share of the register arrays spills.

    Parameters
    ----------
    leaf
        The statement.
    unit_s
        Its busy times without spills, by unit.
    route
        What it becomes.
    share
        The share of the kernel's register arrays that is in local memory.
    device
        The device.
    """
    held = [entry for entry in leaf.count.accesses if _is_in_registers(entry.buffer)]
    if not held or not share:
        return unit_s, NO_SPILLS
    stored_bytes = share * sum(entry.bytes or 0 for entry in held if entry.access.mode != "read")
    seconds = {
        name: one if name in _UNAFFECTED_UNITS else one * SPILL_INSTRUCTION_FACTOR
        for name, one in unit_s.items()
    }
    write_fraction = device.microarchitecture.l2_write_fraction
    stored_s = stored_bytes / write_fraction / l2_bytes_per_s(route, device)
    seconds["l2"] = seconds.get("l2", 0.0) + stored_s
    return seconds, Spills(share, stored_bytes)


def _is_in_registers(buffer: Buffer) -> bool:
    return buffer.scope.startswith(REGISTER_SCOPES)
