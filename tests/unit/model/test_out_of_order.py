"""Clocks at which an x86 core retires instructions, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.hardware import load
from tirlens.model.cpu.in_core.out_of_order import (
    OutOfOrderCore,
    _Store,  # pyright: ignore[reportPrivateUsage]
    _Unit,  # pyright: ignore[reportPrivateUsage]
    _words,  # pyright: ignore[reportPrivateUsage]
)
from tirlens_x86 import Step, read

DEVICE = load("x86-avx512")
DIVIDE = "idivl\t%ecx"
MOVE = "movl\t$1, %esi"


def retired(window: int, *lines: str) -> list[float]:
    assert DEVICE.cpu is not None
    device = replace(DEVICE, cpu=replace(DEVICE.cpu, window=window))
    text = "\t.type\tf,@function\nf:\n" + "".join(f"\t{line}\n" for line in (*lines, "retq"))
    function = read(text)["f"]
    trace = [Step("f", 0, one, None, 0) for one in function.instructions[: len(lines)]]
    return OutOfOrderCore(device).retire_clk(trace)


def test_instructions_retire_in_order() -> None:
    """What is done beside a division leaves with it."""
    clocks = retired(500, DIVIDE, MOVE, MOVE, DIVIDE, MOVE)
    assert clocks == sorted(clocks)
    assert clocks[0] == clocks[1] == clocks[2] < clocks[3] == clocks[4]


@pytest.mark.parametrize("window", [8, 9, 16])
def test_an_instruction_enters_when_the_one_a_window_before_it_has_left(window: int) -> None:
    clocks = retired(window, DIVIDE, *[MOVE] * window)
    assert len(set(clocks[:window])) == 1
    assert clocks[window] > clocks[window - 1]


@pytest.mark.parametrize(
    ("address", "width", "is_covered"),
    [(16, 8, True), (16, 4, True), (20, 4, True), (15, 4, False), (20, 8, False), (12, 16, False)],
)
def test_a_load_of_what_was_stored_at_once(address: int, width: int, is_covered: bool) -> None:
    assert _Store(16, 8, 0.0).covers(address, width) == is_covered
    assert list(_words(address, width)) == list(range(address // 4, -(-(address + width) // 4)))


@pytest.mark.parametrize(
    ("clk", "ready_clk", "starts"),
    [
        # Two, or four, units of a kind take as many instructions in a clock; a slow one, one.
        (0.5, 0.0, [0, 0, 1, 1, 2]),
        (0.25, 0.5, [1, 1, 1, 1, 2]),
        (0.3333, 0.0, [0, 0, 0, 1, 1]),
        (1.0, 0.0, [0, 1, 2, 3, 4]),
        (3.0, 1.0, [1, 4, 7, 10, 13]),
        (0.75, 0.0, [0, 1, 2, 3, 4]),
    ],
)
def test_a_unit_takes_instructions_when_it_is_free(
    clk: float, ready_clk: float, starts: list[float]
) -> None:
    unit = _Unit()
    assert [unit.take(ready_clk, clk) for _ in starts] == starts


def test_a_short_instruction_takes_a_gap() -> None:
    unit = _Unit()
    assert [unit.take(ready, clk) for ready, clk in ((0, 2.0), (5, 2.0), (0, 4.0), (0, 2.0))] == [
        0, 5, 7, 2,
    ]  # fmt: skip
