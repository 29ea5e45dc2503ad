"""The time of the port of an SM to L2, by hand: bytes of a block over bytes per clock."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import modelled, scale
from tirlens.hardware import load
from tirlens.model.gpu.block.throughput import busy_time, transfer_time_s
from tirlens.model.tree.busy import Spills
from tirlens.model.tree.moved import Traffic
from tirlens.model.tree.table import Table

H100 = load("h100-sxm")
PORT_BYTES_PER_S = H100.microarchitecture.l2_port_bytes_per_clk * H100.clock_hz
WRITE_FRACTION = H100.microarchitecture.l2_write_fraction
KERNEL = modelled(scale(), H100)
LEAF = next(leaf for leaf in KERNEL.leaves if leaf.read_bytes)
BLOCKS = KERNEL.context.blocks


@pytest.mark.parametrize(
    ("read", "written", "spills", "most"),
    [
        (3e6, 2e6, Spills(0.0, 0.0, 0.0), 3e6),
        (2e6, 3e6, Spills(0.0, 0.0, 0.0), 3e6),
        # What L1 misses of the spills comes with the statement's own reads.
        (3e6, 2e6, Spills(5e6, 0.0, 1e6), 4e6),
        (0.0, 4e6, Spills(9e6, 0.0, 5e6), 5e6),
        # Stores of spills pass at the rate of writes.
        (1e6, 1e6, Spills(0.0, 3e6, 0.0), 3e6 / WRITE_FRACTION),
    ],
)
def test_reads_and_writes_pass_the_port_side_by_side(
    read: float, written: float, spills: Spills, most: float
) -> None:
    context = KERNEL.context
    rows = len(KERNEL.leaves)
    busy = replace(context.busy, unit_s=Table([{"l2": 0.0}] * rows), spills=Table([spills] * rows))
    moved = replace(context.moved, traffic=Table([Traffic(read, written)] * rows))
    changed = replace(context, busy=busy, moved=moved)
    seconds = most / BLOCKS / PORT_BYTES_PER_S
    assert busy_time(LEAF, changed).unit_s == {"l2": pytest.approx(seconds)}
    # Loads one after the other pass it one after the other.
    assert transfer_time_s([LEAF] * 3, changed) == pytest.approx(3 * seconds)
