"""What an x86 instruction needs of a core's units: by the core's figures and vendors' guides."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.hardware import load
from tirlens.model.cpu.in_core.ports import Need, Ports
from tirlens_x86 import Operation

DEVICE = load("x86-avx512")
assert DEVICE.cpu is not None
CORE = DEVICE.cpu
VECTOR = CORE.vector_bytes
PORTS = Ports(DEVICE)
GENERAL = Operation("integer", 8, 0, 0, (), (), ())


def clk(need: Need | None) -> float:
    assert need is not None
    return need.clk


@pytest.mark.parametrize(
    ("kind", "per_clk"),
    [("integer", 4.0), ("integer_product", 1.0), ("integer_divide", 0.1), ("branch", 2.0)],
)
def test_how_many_general_instructions_a_clock_executes(kind: str, per_clk: float) -> None:
    _, compute, _ = PORTS.needs(replace(GENERAL, kind=kind))
    assert 1 / clk(compute) == pytest.approx(per_clk)


def test_general_registers_are_loaded_and_stored_as_often_as_the_ports_allow() -> None:
    loads, _, stores = PORTS.needs(replace(GENERAL, kind="move", load_bytes=8, store_bytes=8))
    assert clk(loads) == min(CORE.narrow_load_clk, 1 / 3)
    assert clk(stores) == min(CORE.narrow_store_clk, 1 / 2)
    vectors = replace(GENERAL, kind="move", load_bytes=8, store_bytes=8, is_general=False)
    loads, _, stores = PORTS.needs(vectors)
    assert (clk(loads), clk(stores)) == (CORE.narrow_load_clk, CORE.narrow_store_clk)


@pytest.mark.parametrize(
    ("width", "load_clk", "store_clk", "arithmetic_clk"),
    [
        (4, CORE.narrow_load_clk, CORE.narrow_store_clk, CORE.narrow_arithmetic_clk),
        (VECTOR // 2, CORE.narrow_load_clk, CORE.narrow_store_clk, CORE.narrow_arithmetic_clk),
        (VECTOR // 2 + 1, CORE.load_clk, CORE.store_clk, CORE.arithmetic_clk),
        (VECTOR, CORE.load_clk, CORE.store_clk, CORE.arithmetic_clk),
        (2 * VECTOR, CORE.wide_load_clk, CORE.wide_store_clk, CORE.wide_arithmetic_clk),
    ],
)
def test_clocks_are_those_of_the_width(
    width: int, load_clk: float, store_clk: float, arithmetic_clk: float
) -> None:
    operation = Operation("add", width, width, width, (), (), (), is_general=False)
    assert tuple(map(clk, PORTS.needs(operation))) == (load_clk, arithmetic_clk, store_clk)


def test_gathers_and_scatters_take_time_by_their_elements() -> None:
    """A wide index takes 1.2 times as long."""
    for kind, side, vector_clk in (
        ("gather", 0, CORE.gather_clk),
        ("scatter", 2, CORE.scatter_clk),
    ):
        whole = Operation(kind, VECTOR, 0, 0, (), (), (), is_general=False)
        half = replace(whole, width_bytes=VECTOR // 2)
        assert clk(PORTS.needs(whole)[side]) == vector_clk
        assert clk(PORTS.needs(half)[side]) == vector_clk / 2
        wide = replace(whole, has_wide_index=True)
        assert clk(PORTS.needs(wide)[side]) == pytest.approx(1.2 * vector_clk)


def test_a_move_between_registers_needs_nothing() -> None:
    assert PORTS.needs(replace(GENERAL, kind="move")) == (None, None, None)


def test_a_division_of_one_number_is_shorter_than_of_a_vector() -> None:
    whole = Operation("divide", VECTOR, 0, 0, (), (), (), is_general=False)
    times = [
        clk(PORTS.needs(replace(whole, width_bytes=width))[1]) for width in (8, VECTOR, 2 * VECTOR)
    ]
    assert times == sorted(times)
    assert times[1] == CORE.divide_clk and times[2] == 2 * CORE.divide_clk
