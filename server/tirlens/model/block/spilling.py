"""What it costs that a thread's arrays do not fit into its registers.

The compiler keeps the rest in local memory: each time that a loop comes by, it loads a register
that is not there and stores it again.  The loads find it in L1, which passes all stores on to L2.
(RTX 3090, products of 4096^3 with 256 accumulators a thread: 40 to 96 ms, where the stores of the
53 registers above the limit take 55 ms at the rate of L2 and the product takes 6 ms.)
"""

from __future__ import annotations

from collections.abc import Sequence

from tirlens.hardware.spec import Device
from tirlens_worker.facts import Buffer

from ..instructions.work import Item
from ..roofline import L2_WRITE_FRACTION, l2_rate
from ..schedule import MEMORY_OF_ALL
from .liveness import REGISTER_SCOPES

# Loads, stores and their addresses between the instructions that compute.
SPILL_FACTOR = 3.0


def spill(leaves: Sequence[Item], share: float, device: Device) -> None:
    """Adds to the leaves' times what it takes that `share` of the arrays in registers spill."""
    if not share:
        return
    for leaf in leaves:
        held = [entry for entry in leaf.count.accesses if _is_held(entry.buffer)]
        if not held:
            continue
        leaf.spilled_share = share
        for name in leaf.seconds.keys() - MEMORY_OF_ALL - {"shared"}:
            leaf.seconds[name] *= SPILL_FACTOR
        stored = share * sum(entry.bytes or 0 for entry in held if entry.access.mode != "read")
        stored_s = stored / L2_WRITE_FRACTION / l2_rate(leaf, device)
        leaf.seconds["l2"] = leaf.seconds.get("l2", 0.0) + stored_s


def _is_held(buffer: Buffer) -> bool:
    return buffer.scope.startswith(REGISTER_SCOPES)
