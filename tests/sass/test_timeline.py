"""The clocks of a warp, against what its control information says by hand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tirlens_sass import Control, Encoding, Function, read
from tirlens_sass.execution import Launch, count_executions
from tirlens_sass.timeline import InstructionTime, Latencies, time_warps

from .test_executions import listing

# Different numbers, so that each is seen where it is used.
LATENCIES = Latencies(
    global_memory=700.0,
    shared_memory=31.0,
    shuffle=26.0,
    special=40.0,
    conversion=15.0,
    barrier=33.0,
    phase=120.0,
    product=65.0,
    bytes_per_cycle=64.0,
    matrix_operations={"HMMA": 512.0},
)
HEAD = (
    '\t.target\tsm_90a\n\t.section\t.text.k,"ax",@progbits\n\t.type\tk,@function\n'
    '\t.other\tk,@"STO_CUDA_ENTRY STV_DEFAULT"\nk:\n.text.k:\n'
)
PLAIN = Control(1, False, None, None, 0, 0)
EXIT = ("EXIT", PLAIN)
Line = tuple[str, Control]


def stall(cycles: int) -> Control:
    return replace(PLAIN, stall_cycles=cycles)


def sets(barrier: int) -> Control:
    return replace(PLAIN, write_barrier=barrier)


def reads(barrier: int) -> Control:
    return replace(PLAIN, read_barrier=barrier)


def waits(*barriers: int) -> Control:
    return replace(PLAIN, wait_mask=sum(1 << one for one in barriers))


def function(*lines: Line) -> Function:
    """A kernel of these instructions; a text that ends with a colon is a label."""
    parts: list[str] = []
    controls: list[Control] = []
    for text, control in lines:
        if text.endswith(":"):
            parts.append(text)
        else:
            parts.append(f"        /*{16 * len(controls):04x}*/  {text} ;")
            controls.append(control)
    (kernel,) = read(HEAD + "\n".join(parts) + "\n").kernels
    instructions = tuple(
        replace(one, encoding=Encoding(0, 0).with_control(control))
        for one, control in zip(kernel.instructions, controls, strict=True)
    )
    return replace(kernel, instructions=instructions)


def times(
    kernel: Function,
    counts: Sequence[Sequence[float]] | None = None,
    latencies: Latencies = LATENCIES,
) -> tuple[InstructionTime, ...]:
    executions = {kernel.name: counts or [(1.0,)] * len(kernel.instructions)}
    (found,) = time_warps(kernel, (), executions, latencies, "sm_90a")
    return found[kernel.name]


def cycles(*lines: Line) -> list[float]:
    return [one.cycles for one in times(function(*lines))]


def test_an_instruction_takes_its_stall_cycles() -> None:
    assert cycles(("FADD R0, R1, R2", stall(4)), ("FADD R0, R0, R2", stall(2)), EXIT) == [4, 2, 1]


@pytest.mark.parametrize(
    ("text", "latency"),
    [
        ("LDS R0, [R2]", 31),
        ("LDC R0, c[0x0][0x210]", 31),
        ("LDL R0, [R1]", 31),
        ("SHFL.BFLY PT, R0, R1, 0x1, 0x1f", 26),
        ("MUFU.EX2 R0, R1", 40),
        ("I2F.S32 R0, R1", 15),
        ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR5], R0", 120),
        ("S2R R0, SR_TID.X", 40),
    ],
)
def test_a_wait_for_a_barrier_is_that_for_the_instruction_that_sets_it(
    text: str, latency: int
) -> None:
    # One cycle of the latency is that of the issue.
    assert cycles((text, sets(2)), ("FADD R3, R0, R0", waits(2)), EXIT) == [1, latency, 1]


def test_a_wait_for_global_memory_is_charged_to_the_load() -> None:
    found = times(
        function(
            ("LDG.E R0, [R2]", sets(0)),
            ("FADD R5, R5, R5", stall(10)),
            ("FADD R3, R0, R0", waits(0)),
            EXIT,
        )
    )
    assert [one.memory_cycles for one in found] == [700 - 11, 0, 0, 0]
    assert [one.cycles for one in found] == [1, 10, 1, 1]


def test_loads_in_flight_wait_together_and_arrive_one_after_the_other() -> None:
    # 512 bytes take 8 cycles of the port.
    found = times(
        function(
            ("LDG.E.128 R0, [R20]", sets(0)),
            ("LDG.E.128 R4, [R20]", sets(0)),
            ("LDG.E.128 R8, [R20]", sets(0)),
            ("FADD R3, R0, R8", waits(0)),
            EXIT,
        )
    )
    together = sum(one.memory_cycles + one.cycles for one in found)
    assert together == pytest.approx(700 + 2 * 8 + 2)


def test_loads_that_each_wait_for_the_last_add_their_latencies() -> None:
    chain = [
        ("LDG.E R0, [R2]", sets(0)),
        ("LDG.E R4, [R0]", replace(sets(1), wait_mask=1)),
        ("FADD R3, R4, R4", waits(1)),
    ]
    assert sum(one.memory_cycles for one in times(function(*chain, EXIT))) == 2 * 700 - 2


def test_a_barrier_is_released_by_the_last_that_reports_on_it() -> None:
    lines = [
        ("MUFU.EX2 R0, R1", sets(0)),
        ("LDS R2, [R3]", sets(0)),
        ("FADD R0, R0, R2", waits(0)),
    ]
    assert cycles(*lines, EXIT) == [1, 1, 39, 1]


def test_units_execute_one_after_the_other() -> None:
    """An SM has 16 special functions a cycle: a warp of one of four schedulers takes eight."""
    lines = [("MUFU.EX2 R0, R1", PLAIN), ("MUFU.EX2 R2, R3", PLAIN), ("MUFU.EX2 R4, R5", PLAIN)]
    assert cycles(*lines, EXIT) == [1, 8, 8, 1]


def test_a_matrix_product_occupies_the_tensor_cores_of_its_scheduler() -> None:
    text = "HMMA.16816.F32 R0, R4, R8, R0"
    assert cycles((text, PLAIN), (text, PLAIN), EXIT) == [1, 2 * 16 * 8 * 16 / 512, 1]


def test_asynchronous_products_are_waited_for_by_group() -> None:
    product = "HGMMA.64x128x16.F32 R24, gdesc[UR4], R24"
    first = [(product, PLAIN), (f"{product}, gsb0", PLAIN)]
    end = ("WARPGROUP.DEPBAR.LE gsb0, 0x0", PLAIN)
    # Two of 64 cycles, and the latency of the last step; three cycles pass until the wait.
    assert cycles(*first, end, EXIT) == [1, 1, 2 * 64 + 65 - 2 + 1, 1]
    one_may_be_outstanding = ("WARPGROUP.DEPBAR.LE gsb0, 0x1", PLAIN)
    assert cycles(*first, one_may_be_outstanding, EXIT) == [1, 1, 1, 1]


def test_asynchronous_copies_are_waited_for_by_group() -> None:
    copy = ("LDGSTS.E.128 [R2], [R4.64]", PLAIN)
    commit, wait = ("LDGDEPBAR", PLAIN), ("DEPBAR.LE SB0, 0x1", PLAIN)
    one = times(function(copy, commit, wait, EXIT))
    assert not any(found.memory_cycles for found in one)
    # The second copy issues when the first has left the unit, after four cycles.
    two = times(function(copy, commit, copy, commit, wait, EXIT))
    assert [found.memory_cycles for found in two] == [700 - 6, 0, 0, 0, 0, 0]


def test_a_barrier_of_the_block_takes_its_latency() -> None:
    assert cycles(("BAR.SYNC 0x0", PLAIN), EXIT) == [34, 1]


def test_what_overwrites_operands_waits_until_they_are_read() -> None:
    found = cycles(("STS [R2], R0", reads(3)), ("FADD R0, R0, R0", waits(3)), EXIT)
    assert found == [1, 10 + 1, 1]


LOOP = (
    ("LDS R0, [R2]", sets(0)),
    (".L_x_0:", PLAIN),
    ("FADD R3, R0, R3", waits(0)),
    ("LDS R0, [R2]", sets(0)),
    ("@P0 BRA `(.L_x_0)", stall(5)),
    EXIT,
)


def counts_of(trips: float) -> list[tuple[float, ...]]:
    return [(1.0,), *[(trips,)] * 3, (1.0,)]


@pytest.mark.parametrize("trips", [1, 2, 5, 100, 100.5])
def test_a_loop_takes_as_much_for_each_iteration(trips: float) -> None:
    # The first load takes 31 cycles, each other one 32 with its issue; 7 follow the last use.
    found = times(function(*LOOP), counts_of(trips))
    assert sum(one.cycles for one in found) == pytest.approx(7 + 32 * trips)


def test_a_loop_that_is_not_entered_takes_nothing() -> None:
    found = times(function(*LOOP), counts_of(0.0))
    assert [one.cycles for one in found] == [1, 0, 0, 0, 1]


def test_warps_that_execute_the_same_have_one_time() -> None:
    """One warp executes the loop 10 times, three others 3 times."""
    counts = [(1.0,) * 4, *[(3.0, 10.0, 3.0, 3.0)] * 3, (1.0,) * 4]
    kernel = function(*LOOP)
    few, many = time_warps(kernel, (), {kernel.name: counts}, LATENCIES, "sm_90a")
    assert few[kernel.name] == times(kernel, counts_of(3.0))
    assert many[kernel.name] == times(kernel, counts_of(10.0))


def test_a_longer_latency_takes_no_less() -> None:
    lines = (
        ("LDG.E.128 R0, [R20]", sets(0)),
        ("MUFU.EX2 R9, R8", sets(1)),
        ("LDG.E R10, [R9]", replace(sets(2), wait_mask=2)),
        ("FADD R3, R0, R10", waits(0, 2)),
        EXIT,
    )
    before = 0.0
    for latency in (0.0, 30.0, 300.0, 700.0, 2000.0):
        latencies = replace(LATENCIES, global_memory=latency)
        found = times(function(*lines), latencies=latencies)
        total = sum(one.cycles + one.memory_cycles for one in found)
        assert total >= before
        before = total


@pytest.mark.parametrize("architecture", ["sm_75", "sm_80", "sm_90a"])
def test_compiled_kernels_take_at_least_their_instructions(architecture: str) -> None:
    """A warp issues one instruction a cycle, and waits once at least where it loads."""
    found = listing(f"control_flow.{architecture}")
    for kernel in found.kernels:
        launch = Launch((4, 4, 1), (128, 1, 1), {})
        counted = count_executions(kernel, (), launch, found.architecture)
        executions = {
            name: [one.by_warp for one in parts] for name, parts in counted.by_function.items()
        }
        slowest = [0.0] * len(kernel.instructions)
        for warp in time_warps(kernel, (), executions, LATENCIES, found.architecture):
            slowest = [max(a, b.cycles) for a, b in zip(slowest, warp[kernel.name], strict=True)]
        for one, time in zip(counted.by_function[kernel.name], slowest, strict=True):
            if min(one.by_warp) == max(one.by_warp) == 1.0 and not one.loops:
                assert time >= 1.0
