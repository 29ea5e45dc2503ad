"""The clocks of a warp at each line of the document, as the compiler has scheduled its code."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from tirlens.hardware.catalogue import for_architecture
from tirlens.hardware.spec import Device
from tirlens_sass import Function, Loop, matrix_operations
from tirlens_sass.timeline import SCHEDULERS, Latencies, WarpTimes, time_warps
from tirlens_worker.facts import MEMORY_CLOCKS, LineClocks, Span
from tirlens_worker.protocol import NO_LINE

from .lines import document_line

if TYPE_CHECKING:
    from .executions import FunctionExecutions, KernelCode

# The classes of arithmetic of matrix instructions, by opcode; of HMMA those of 16 bits.
_CLASSES = {
    "HMMA": "tensor.float16", "HMMA.TF32": "tensor.tf32", "IMMA": "tensor.int8",
    "QMMA": "tensor.float8", "DMMA": "tensor.float64",
}  # fmt: skip


def line_clocks(code: KernelCode, lines: Sequence[int], architecture: str) -> Iterator[LineClocks]:
    """The clocks of a kernel by line; none where they are not known.

    They are not where a loop ends by data, nor of matrix products of a size that a descriptor has
    (Blackwell's ``tcgen05``).

    A branch on data is one of lanes, of which a warp usually has some that take it: its
    instructions are executed, as the model's statements are.
    `lines` are the lines of the document for those of the CUDA source, and `architecture` is that
    of the listing. What has no line is at the line of instructions near it in its loop.
    """
    device = for_architecture(architecture)
    functions = [part.function for part in code.functions]
    if device is None or not functions or not all(map(_is_known, code.functions)):
        return
    executions = {
        part.function.name: [one.by_warp for one in part.executions] for part in code.functions
    }
    of_lines = [_nearest_lines(function, lines) for function in functions]
    warps = [
        time_warps(functions[0], functions[1:], executions, _latencies(device, one), architecture)
        for one in MEMORY_CLOCKS
    ]
    found: dict[int, tuple[float, ...]] = {}
    for times in zip(*warps, strict=True):
        for line, sums in _sums_by_line(functions, of_lines, times).items():
            if sum(sums) > sum(found.get(line, (0.0,))):
                found[line] = sums
    for line, (clocks, *memory_clocks) in found.items():
        if line != NO_LINE:
            first, second = memory_clocks
            yield LineClocks(Span(line, 0, line, 0), clocks, (first, second))


def _nearest_lines(function: Function, lines: Sequence[int]) -> list[int]:
    """The line of each instruction; if it has none, that before it in its loop, or after it."""
    own = [document_line(instruction, lines) for instruction in function.instructions]
    loops: list[Loop | None] = []
    for block in function.blocks:
        loops += [function.loop_of(block.first)] * len(block)
    before = _nearest(own, loops, range(len(own)))
    after = _nearest(own, loops, range(len(own) - 1, -1, -1))
    return [line or first or second for line, first, second in zip(own, before, after, strict=True)]


def _nearest(own: Sequence[int], loops: Sequence[Loop | None], order: Iterable[int]) -> list[int]:
    """The last line that an instruction of the same loop has, in this order of instructions."""
    found = [NO_LINE] * len(own)
    last: dict[Loop | None, int] = {}
    for index in order:
        if own[index] != NO_LINE:
            last[loops[index]] = own[index]
        found[index] = last.get(loops[index], NO_LINE)
    return found


def _sums_by_line(
    functions: Sequence[Function],
    lines: Sequence[Sequence[int]],
    times: Sequence[WarpTimes],
) -> dict[int, tuple[float, ...]]:
    """The clocks of a warp at each line: those without waits for memory, and these by latency."""
    sums: defaultdict[int, list[float]] = defaultdict(lambda: [0.0] * (1 + len(times)))
    for function, of_lines in zip(functions, lines, strict=True):
        for place, found in enumerate(times):
            for line, one in zip(of_lines, found[function.name], strict=True):
                sums[line][0] += one.cycles / len(times)
                sums[line][1 + place] += one.memory_cycles
    return {line: tuple(clocks) for line, clocks in sums.items()}


def _is_known(part: FunctionExecutions) -> bool:
    if any(one.loops for one in part.executions):
        return False
    return all(matrix_operations(one) is not None for one in part.function.instructions)


def _latencies(device: Device, memory_clocks: float) -> Latencies:
    sm = device.microarchitecture
    fractions = {
        "HMMA": sm.mma_16bit_fraction,
        "HMMA.TF32": sm.mma_tf32_fraction,
        "IMMA": sm.mma_int8_fraction,
        "QMMA": sm.mma_float8_fraction,
    }
    schedulers = device.sm_count * SCHEDULERS
    return Latencies(
        global_memory=memory_clocks,
        shared_memory=sm.shared_clk,
        shuffle=sm.shuffle_clk,
        special=sm.sfu_clk,
        conversion=sm.conversion_clk,
        barrier=sm.barrier_clk,
        phase=sm.phase_clk,
        product=sm.shared_clk + sm.mma_clk,
        bytes_per_cycle=sm.l2_port_bytes_per_clk,
        matrix_operations={
            opcode: device.peaks[name].flop_per_s
            / device.clock_hz
            / schedulers
            * fractions.get(opcode, 1.0)
            for opcode, name in _CLASSES.items()
            if name in device.peaks
        },
    )
