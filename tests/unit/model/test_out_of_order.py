"""Clocks at which an x86 core retires instructions, by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tirlens.hardware import load
from tirlens.model.cpu.in_core.out_of_order import OutOfOrderCore
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
