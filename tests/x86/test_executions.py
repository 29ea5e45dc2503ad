"""How often blocks and loops execute, on listings that TVM 0.27 made for a Zen 4."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

import pytest

from tirlens_x86 import (
    ArrayArgument,
    ProgramCounts,
    UndecidedError,
    count_executions,
    operation_of,
    packed_call,
    read,
)

DATA = Path(__file__).parent / "data"
PARAMETERS = {
    "dots": [((96, 96), "float32")] * 3,
    "int8": [((128, 512), "int8"), ((128, 512), "int8"), ((128, 128), "int32")],
    "convolution": [
        ((32, 30, 30), "float32"),
        ((32, 32, 3, 3), "float32"),
        ((32, 28, 28), "float32"),
    ],
    "triad": [((2048,), "float32")] * 3,
    "cumulative_sum": [((128, 2048), "float32")] * 2,
    "embedding": [((512,), "int32"), ((10000, 256), "float32"), ((512, 256), "float32")],
}
ENTRY = "__tvm_ffi_"


@cache
def counts_of(name: str, tasks: int = 2, extrapolates: bool = True) -> ProgramCounts:
    functions = read((DATA / f"{name}.s").read_text())
    memory, registers = packed_call([ArrayArgument(*one) for one in PARAMETERS[name]])
    entry = next(one for one in functions if one.startswith(ENTRY) and not one.endswith("main"))
    return count_executions(functions, entry, memory, registers, tasks, extrapolates)


def executed(counts: ProgramCounts, mnemonic: str) -> int:
    """Executions of all instructions of a name."""
    return sum(
        executions
        for one in counts.functions
        for block, executions in zip(one.graph.blocks, one.executions, strict=True)
        for instruction in one.function.instructions[block.start : block.end]
        if instruction.mnemonic == mnemonic
    )


def test_an_unrolled_sum_in_registers() -> None:
    counts = counts_of("dots")
    assert not counts.unknown_branches
    # Each multiply-add is one of a scalar.
    assert executed(counts, "vfmadd132ss") == 96**3
    (function,) = (one for one in counts.functions if any(one.entries.values()))
    assert sorted(function.entries.values()) == [1, 96, 96**2]


def test_the_check_for_overlap_finds_none() -> None:
    """LLVM has a scalar loop for arrays that overlap, which no call of separate arrays executes."""
    counts = counts_of("int8")
    assert executed(counts, "imull") == 0
    # Of 16 pairs each; the first of four accumulators are products.
    assert executed(counts, "vpdpwssd") + executed(counts, "vpmaddwd") == 128 * 128 * 512 // 16


@pytest.mark.parametrize(("tasks", "channels"), [(1, 32), (2, 16), (3, 11), (32, 1)])
def test_a_parallel_loop_counts_the_first_task(tasks: int, channels: int) -> None:
    counts = counts_of("convolution", tasks)
    (function,) = (one for one in counts.functions if "lambda" in one.function.name)
    outermost = [header for header, loop in function.graph.loops.items() if loop.parent is None]
    assert sum(function.executions[header] for header in outermost if function.entries[header]) in (
        channels,
        2 * channels,
    )


def test_vectors_of_a_loop() -> None:
    assert (
        executed(counts_of("triad"), "vfmadd231ps")
        + executed(counts_of("triad"), "vfmadd213ps")
        + executed(counts_of("triad"), "vfmadd132ps")
        == 2048 // 16
    )


def test_a_carried_sum_of_rows() -> None:
    assert executed(counts_of("cumulative_sum"), "vaddss") == 128 * 2047


def test_rows_that_data_select() -> None:
    """An index is data, and the address of its row unknown; the loops are not."""
    counts = counts_of("embedding")
    assert not counts.unknown_branches
    assert sum(sum(one.entries.values()) for one in counts.functions) > 0


@pytest.mark.parametrize(
    "name",
    [
        "triad",
        pytest.param("embedding", marks=pytest.mark.slow),
        pytest.param("dots", marks=pytest.mark.slow),
    ],
)
def test_the_counts_are_those_of_each_step(name: str) -> None:
    quick, slow = counts_of(name), counts_of(name, extrapolates=False)
    for one, other in zip(quick.functions, slow.functions, strict=True):
        assert one.executions == other.executions
        assert one.entries == other.entries


def test_a_loop_that_data_end_is_undecided() -> None:
    text = "\n".join(
        [
            "\t.type\tf,@function",
            "f:",
            ".LBB0_1:",
            "\tmovl\t(%rdi), %eax",
            "\ttestl\t%eax, %eax",
            "\tje\t.LBB0_1",
            "\taddq\t$4, %rdi",
            "\tjmp\t.LBB0_1",
            "\tretq",
        ]
    )
    with pytest.raises(UndecidedError):
        count_executions(read(text), "f", {}, (0x1000,), 1)


def test_a_trace_has_the_addresses_in_order() -> None:
    counts = counts_of("triad")
    (trace,) = (trace for one in counts.functions for trace in one.traces.values())
    stores = [step.address for step in trace if operation_of(step.instruction).store_bytes == 64]
    steps = {after - before for before, after in pairwise(stores) if before and after}
    assert steps == {64}


TRIANGLE = """\
\t.type\tf,@function
f:
\txorl\t%eax, %eax
.LBB0_1:
\txorl\t%ecx, %ecx
.LBB0_2:
\tvmovss\t(%rdi,%rcx,4), %xmm0
\tincq\t%rcx
\tcmpq\t%rax, %rcx
\tjbe\t.LBB0_2
\tincq\t%rax
\tcmpq\t$300, %rax
\tjne\t.LBB0_1
\tretq
"""


def test_a_triangle_is_traced_where_its_rows_are_long() -> None:
    counts = count_executions(read(TRIANGLE), "f", {}, (0x1000,), 1)
    assert executed(counts, "vmovss") == 300 * 301 // 2
    (function,) = counts.functions
    (header,) = (one for one, entries in function.entries.items() if entries == 300)
    trace = function.traces[header]
    loads = [step.address for step in trace if step.instruction.mnemonic == "vmovss"]
    rows = sum(address == 0x1000 for address in loads)
    assert len(loads) / rows > 75


def test_integers_in_a_workspace_are_followed() -> None:
    """TVM keeps a named integer of a program in memory."""
    workspace = 0x6000_0000_0000
    text = "\t.type\tf,@function\nf:\n" + "".join(
        f"\t{line}\n"
        for line in (
            f"movabsq\t${workspace}, %rsi",
            "movl\t$7, (%rsi)",
            "movslq\t(%rsi), %rax",
            "cmpq\t$7, %rax",
            "je\t.LBB0_1",
            "imulq\t%rax, %rax",
        )
    )
    counts = count_executions(read(text + ".LBB0_1:\n\tretq\n"), "f", {}, (), 1)
    assert not counts.unknown_branches and executed(counts, "imulq") == 0
