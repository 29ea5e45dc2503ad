"""Small steps of several stages, with their figures by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.model.cpu.in_core.out_of_order import OutOfOrderCore
from tirlens.model.gpu.compiler.address_arithmetic import selected_address_instructions
from tirlens.model.gpu.mapping.active_threads import _lane_values
from tirlens.model.gpu.memory.flat_address import AddressTerm
from tirlens.model.gpu.units.unit_times import l2_bytes_per_s, l2_hit_seconds
from tirlens.model.tree.context import LoopContext
from tirlens.model.tree.moved import Traffic
from tirlens.model.tree.route import NO_ROUTE
from tirlens_worker.facts import Access, Expr

H100 = load("h100-sxm")


@pytest.mark.parametrize(
    ("extents", "warp", "active"),
    [((4,), 4, 4), ((5,), 4, 5), ((3, 2), 4, 6), ((4, 2), 4, 8), ((1,), 32, 1), ((7, 3), 8, 21)],
)
def test_values_of_threads_in_lanes(extents: tuple[int, ...], warp: int, active: int) -> None:
    axes = tuple((f"t{number}", 0, extent) for number, extent in enumerate(extents))
    values, exists = _lane_values(axes, warp)
    assert exists.tolist() == [lane < active for lane in range(-(-active // warp) * warp)]
    # The first axis is the fastest.
    found = list(zip(*(values[name].tolist() for name, _, _ in axes), strict=True))[:active]
    assert sorted(set(found)) == sorted(found)
    assert found == sorted(found, key=lambda one: one[::-1])
    assert found[-1] == tuple(extent - 1 for extent in extents)


@pytest.mark.parametrize(
    ("value", "variables", "options", "number"),
    [
        (None, "", {"box_extent": 5}, 5),
        ("i", "i", {}, 8),
        ("k", "k", {}, 1),
        (("//", "i", 4), "i", {}, 2),
        (("*", "i", 4), "i", {}, 8),
        (("+", "i", "j"), "ij", {}, 10),
        (("+", "i", "k"), "ik", {}, 8),
        (("load", "A", "i"), "i", {"is_data": True}, 8),
        (("+", "i", "n"), "i", {}, 8),
    ],
)
def test_values_of_a_term(
    value: Expr | None, variables: str, options: dict[str, Any], number: float
) -> None:
    term = AddressTerm(4, value, frozenset(variables), **options)
    assert term.count_values({"i": (0, 7), "j": (2, 4)}) == number


@pytest.mark.parametrize(
    ("traffic", "read", "written"),
    [
        (Traffic(), 0, 0),
        (Traffic(l2_read_bytes=9e6), 9e6, 0),
        (Traffic(l2_read_bytes=9e6, dram_read_bytes=4e6), 5e6, 0),
        # More sectors than were asked for come from DRAM.
        (Traffic(l2_read_bytes=9e6, dram_read_bytes=12e6), 0, 0),
        (Traffic(l2_write_bytes=9e6, dram_write_bytes=4e6), 0, 5e6),
        (Traffic(l2_write_bytes=9e6, dram_write_bytes=12e6, l2_read_bytes=1e6), 1e6, 0),
    ],
)
def test_the_time_of_l2_hits(traffic: Traffic, read: float, written: float) -> None:
    rate = l2_bytes_per_s(NO_ROUTE, H100)
    assert rate == pytest.approx(H100.l2.bytes_per_s * H100.l2.sustained_fraction)
    weight = H100.microarchitecture.l2_write_fraction
    found = l2_hit_seconds([traffic, Traffic(), traffic], [NO_ROUTE] * 3, H100)
    assert found == pytest.approx(2 * (read + written / weight) / rate)


@pytest.mark.parametrize(("width", "is_vector"), [(4, False), (16, False), (17, True), (32, True)])
@pytest.mark.parametrize("is_general", [True, False])
def test_forwarding_by_the_width_of_a_load(width: int, is_vector: bool, is_general: bool) -> None:
    device = load("x86-avx2")
    core = device.cpu
    assert core is not None and core.vector_bytes == 32
    operation: Any = SimpleNamespace(load_bytes=width, is_general=is_general)
    scalar = core.integer_forward_clk if is_general else core.forward_clk
    expected = core.vector_forward_clk if is_vector else scalar
    assert OutOfOrderCore(device)._forward_clk(operation) == expected  # pyright: ignore[reportPrivateUsage]


SELECTED: Expr = ("select", ("<", "i", 4), ("<", "j", 2), 1)


@pytest.mark.parametrize(
    ("access", "costs"),
    [
        (Access("A", "read", ("i",), guard=SELECTED), True),
        (Access("A", "write", ("i",), guard=SELECTED), False),
        (Access("A", "read", ("i",)), False),
        (Access("A", "read", ("i",), guard=("<", "i", 4)), False),
    ],
)
def test_only_guarded_loads_with_a_selection_cost_address_instructions(
    access: Access, costs: bool
) -> None:
    context = LoopContext((), {"i": (0, 7), "j": (0, 7)}, {})
    assert (selected_address_instructions(access, context) > 0) == costs
