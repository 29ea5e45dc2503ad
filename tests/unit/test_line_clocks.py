"""The clocks of a warp at each line of the document, from compiled code and its executions."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sass.test_timeline import PLAIN, Line, function, sets, stall, waits
from tirlens.hardware import load
from tirlens.machine_code.executions import FunctionExecutions, KernelCode
from tirlens.machine_code.line_clocks import line_clocks
from tirlens_sass import Control, SourceLine
from tirlens_sass.execution import Executions
from tirlens_worker.facts import MEMORY_CLOCKS
from tirlens_worker.protocol import COMPILED_FILE

SM = load("h100-sxm").microarchitecture
# The line of the document for each line of the CUDA source.
LINES = (0, 11, 12, 13)


def code(
    *lines: tuple[str, Control, int, tuple[float, ...]], loops: tuple[int, ...] = ()
) -> KernelCode:
    """A kernel: the text, control, line of the CUDA source (0: none) and executions by warp."""
    steps: list[Line] = [(text, control) for text, control, _, _ in lines]
    kernel = function(*steps)
    real = [one for one in lines if not one[0].endswith(":")]
    instructions = tuple(
        replace(one, source=SourceLine(COMPILED_FILE, line) if line else None)
        for one, (_, _, line, _) in zip(kernel.instructions, real, strict=True)
    )
    executions = tuple(
        Executions(sum(counts), None, loops, by_warp=counts) for _, _, _, counts in real
    )
    part = FunctionExecutions(
        replace(kernel, instructions=instructions), executions, (0,) * len(executions)
    )
    return KernelCode(kernel.name, None, (part,), (), True)


def clocks(kernel: KernelCode) -> dict[int, tuple[float, float, float]]:
    return {
        one.span.line: (one.clocks, *one.memory_clocks)
        for one in line_clocks(kernel, LINES, "sm_90a")
        if one.span is not None
    }


ONCE = (1.0,)


def test_clocks_are_summed_by_line() -> None:
    found = clocks(
        code(
            ("FADD R0, R1, R2", stall(4), 2, ONCE),
            ("LDS R3, [R4]", sets(0), 3, ONCE),
            ("FADD R0, R0, R3", waits(0), 2, ONCE),
            ("EXIT", PLAIN, 4, ONCE),
        )
    )
    assert found == {11: (4 + SM.shared_clk, 0, 0), 12: (1, 0, 0), 13: (1, 0, 0)}


def test_waits_for_memory_are_at_the_load_for_each_latency() -> None:
    found = clocks(
        code(
            ("LDG.E R0, [R2]", sets(0), 2, ONCE),
            ("FADD R3, R0, R0", waits(0), 3, ONCE),
            ("EXIT", PLAIN, 3, ONCE),
        )
    )
    assert found[11] == (1, *(latency - 1 for latency in MEMORY_CLOCKS))
    assert found[12] == (2, 0, 0)


def test_what_has_no_line_is_at_one_of_its_loop() -> None:
    """A poll at the head of the loop is of the loop's code, not of that before it."""
    found = clocks(
        code(
            ("FADD R0, R1, R2", PLAIN, 2, ONCE),
            (".L_x_0:", PLAIN, 0, ONCE),
            ("FADD R0, R0, R2", stall(9), 0, (10.0,)),
            ("FADD R0, R0, R3", PLAIN, 3, (10.0,)),
            ("@P0 BRA `(.L_x_0)", stall(5), 0, (10.0,)),
            ("EXIT", PLAIN, 0, ONCE),
        )
    )
    assert found == {11: (2, 0, 0), 12: (10 * 15, 0, 0)}


def test_each_line_has_the_warp_that_takes_longest_for_it() -> None:
    """Two roles: a warp executes line 11 more often, another one line 12."""
    found = clocks(
        code(
            ("@P0 BRA `(.L_x_1)", PLAIN, 4, (1.0, 1.0)),
            ("FADD R0, R1, R2", stall(7), 2, (1.0, 0.0)),
            (".L_x_1:", PLAIN, 0, ONCE),
            ("@P1 BRA `(.L_x_2)", PLAIN, 4, (1.0, 1.0)),
            ("FADD R0, R1, R2", stall(5), 3, (0.0, 1.0)),
            (".L_x_2:", PLAIN, 0, ONCE),
            ("EXIT", PLAIN, 4, (1.0, 1.0)),
        )
    )
    assert found == {11: (7, 0, 0), 12: (5, 0, 0), 13: (3, 0, 0)}


@pytest.mark.parametrize(
    ("text", "loops"),
    [
        # The trip count of a loop depends on data.
        ("FADD R0, R1, R2", (0,)),
        # A descriptor has the size of a product.
        ("UTCHMMA gdesc[UR4], gdesc[UR6], tmem[UR8], tmem[UR10], idesc[UR11], UP0", ()),
    ],
)
def test_without_whole_counts_there_are_no_clocks(text: str, loops: tuple[int, ...]) -> None:
    assert not clocks(code((text, PLAIN, 2, ONCE), ("EXIT", PLAIN, 3, ONCE), loops=loops))


def test_an_architecture_without_a_device_has_no_clocks() -> None:
    kernel = code(("EXIT", PLAIN, 2, ONCE))
    assert not list(line_clocks(kernel, LINES, "sm_999"))
    assert list(line_clocks(kernel, LINES, "sm_90a"))
