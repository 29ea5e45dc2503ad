"""The times of a statement whose registers or arrays are in local memory, by hand."""

from __future__ import annotations

import pytest

from support.kernels import leaves, scale
from tirlens.hardware import load
from tirlens.model.gpu.units.local_memory import add_local_memory
from tirlens.model.tree.busy import NO_SPILLS, Spills
from tirlens.model.tree.compiled import NO_LOCAL_MEMORY, LocalMemory
from tirlens.model.tree.route import NO_ROUTE

H100 = load("h100-sxm")
UNITS = {"tensor": 1e-3, "sfu": 2e-3, "issue": 3e-3, "l2": 4e-3, "shared": 5e-3}
KIB = 1024.0
PATH_BYTES_PER_S = 128 * 132 * H100.clock_hz


def test_spill_code_is_issued_and_takes_no_time_of_the_units_of_arithmetic() -> None:
    """Three instructions in place of one; L2 has a quarter of the loads, and all stores."""
    local = LocalMemory(64 * KIB, 32 * KIB, 0.0, 3.0)
    seconds, spills = add_local_memory(leaves(scale())[0], UNITS, NO_ROUTE, local, 0.25, H100)
    l2_bytes_per_s = H100.l2.bytes_per_s * H100.l2.sustained_fraction
    through_l2 = 16 * KIB + 32 * KIB / H100.microarchitecture.l2_write_fraction
    assert seconds == pytest.approx(
        {
            "tensor": 1e-3,
            "sfu": 2e-3,
            "issue": 9e-3,
            "l2": 4e-3 + through_l2 / l2_bytes_per_s,
            "shared": 5e-3 + 96 * KIB / PATH_BYTES_PER_S,
        }
    )
    assert spills == Spills(64 * KIB, 32 * KIB, 16 * KIB)


def test_the_instructions_of_compiled_code_are_counted() -> None:
    local = LocalMemory(8.0, 0.0, 4e6, 1.0)
    seconds, _ = add_local_memory(leaves(scale())[0], {}, NO_ROUTE, local, 0.0, H100)
    rate = 4 * 32 * 132 * H100.clock_hz * H100.peaks["fp32"].sustained_fraction
    assert seconds["issue"] == pytest.approx(4e6 / rate)


def test_without_local_memory_nothing_changes() -> None:
    found = add_local_memory(leaves(scale())[0], UNITS, NO_ROUTE, NO_LOCAL_MEMORY, 1.0, H100)
    assert found == (UNITS, NO_SPILLS)
