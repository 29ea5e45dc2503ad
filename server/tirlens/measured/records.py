"""What a trace of a profiler says, as plain data: operations, signposts, devices, problems.

A value that the trace does not have is None, never 0.  Times are in seconds, sizes in bytes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

OperationKind: TypeAlias = Literal["kernel", "copy", "collective", "host"]


@dataclass(frozen=True, slots=True)
class Position:
    """A position in a file: `row` counts the rows or events of `path` from 1, header included."""

    path: str
    row: int


@dataclass(frozen=True, slots=True)
class Tensor:
    """An argument of an operation.

    Attributes
    ----------
    shape
        The sizes of its dimensions as they are in memory, padding included.
    logical_shape
        Its sizes without padding; None where the trace has one shape only.
    dtype, layout, memory
        As the trace names them: ``BFLOAT16``, ``TILE``, ``DEV_1_DRAM_INTERLEAVED``.
    """

    shape: tuple[int, ...] | None = None
    logical_shape: tuple[int, ...] | None = None
    dtype: str | None = None
    layout: str | None = None
    memory: str | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation, or several executions of one that the trace sums in a row.

    Attributes
    ----------
    name
        The kernel's name or the op code, as the trace has it.
    position
        Where it is in the trace.
    kind
        What executed it: ``host`` operations take no time of a device.
    device, stream
        Names of the trace for what it ran on.
    start_s
        Its begin, on the clock of the trace.  The origin is near the trace's begin: seconds since
        1970 as a float have steps of 240 ns.
    call_number
        The number that the trace gives to the call.
    order
        A number by which operations and signposts are in the order in which the host issued them,
        where their rows are not.
    launched_s
        The begin of the host's call that launched it, on the same clock.
    graph_launch
        A name for the launch of the graph (CUDA, HIP, or a trace that is replayed) that executed
        it; the operations of one launch have the same.
    time_s
        The time of all `executions` together on the device.
    host_time_s
        The time that the host took to launch or to compute it.
    gap_s
        The time between the end of the operation before it and its begin, where the trace says so.
    executions
        How many executions the row sums.
    min_s, max_s, deviation_s
        The shortest and the longest execution, and the standard deviation.
    grid, block
        Blocks of the launch and threads of a block, x first.
    shared_bytes, registers
        Shared memory of a block; registers of a thread.
    cores
        The cores or SMs that it used.
    flop, dram_bytes
        Of all executions together, where the trace counts them.
    inputs, outputs
        Its arguments.
    attributes
        Words of the trace, such as the math fidelity, by their names there.
    counters
        Hardware counters by their names in the trace, in SI base units; percentages are from 0 to
        100.
    """

    name: str
    position: Position
    kind: OperationKind = "kernel"
    device: str | None = None
    stream: str | None = None
    start_s: float | None = None
    call_number: int | None = None
    order: float | None = None
    launched_s: float | None = None
    graph_launch: str | None = None
    time_s: float | None = None
    host_time_s: float | None = None
    gap_s: float | None = None
    executions: int = 1
    min_s: float | None = None
    max_s: float | None = None
    deviation_s: float | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    shared_bytes: int | None = None
    registers: int | None = None
    cores: int | None = None
    flop: int | None = None
    dram_bytes: int | None = None
    inputs: tuple[Tensor, ...] = ()
    outputs: tuple[Tensor, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])
    counters: Mapping[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True, slots=True)
class Signpost:
    """A section that the program marked: what follows, or what happens from `start_s` to `end_s`.

    `end_s` is None for a mark without an end, such as Tracy's signpost.  A trace without times has
    signposts in the order of its rows, or of `order`, as operations have it.
    """

    name: str
    position: Position
    start_s: float | None = None
    end_s: float | None = None
    order: float | None = None


@dataclass(frozen=True, slots=True)
class SourceLine:
    """Counters of one line of a kernel's source, or of one instruction of its machine code.

    Attributes
    ----------
    kernel
        The kernel's name.
    execution
        The number of the execution in the file, from 1; None where the trace does not tell
        executions of one kernel apart.
    text
        The line or the instruction, as the trace has it.
    file, line
        Of the source, where the trace says them.
    address
        Of the instruction; None for a line of source.
    counters
        By their names in the trace, as `Operation.counters`.
    attributes
        Words of the trace, such as the memory that the instruction accesses.
    """

    kernel: str
    position: Position
    text: str
    execution: int | None = None
    file: str | None = None
    line: int | None = None
    address: int | None = None
    counters: Mapping[str, float] = field(default_factory=dict[str, float])
    attributes: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class MeasuredDevice:
    """A device of the trace: `device` as operations name it, and what the trace says of it.

    `is_assumed` where the trace names none, and the reader takes the device that the format's own
    tool takes.
    """

    device: str | None
    name: str | None = None
    architecture: str | None = None
    cores: int | None = None
    is_assumed: bool = False


@dataclass(frozen=True, slots=True)
class Problem:
    """A row that is not read, or a value of it that is not; `message` says why."""

    position: Position
    message: str


Record: TypeAlias = Operation | SourceLine | Signpost | MeasuredDevice | Problem
