"""Executions of one kernel, summed from a stream of operations in constant memory.

A group has the name, device, grid, block, shared memory and arguments of a launch.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from tirlens.measured.records import Operation, OperationKind, Tensor
from tirlens.measured.spread import Spread

#: Operations of further groups are summed in one, whose identity is None.
MOST_GROUPS = 20_000


@dataclass(frozen=True, slots=True)
class Identity:
    """What executions of one group have in common; None is what the trace does not say.

    `call` has file, call and sizes, where the trace is a table that names them.
    """

    name: str
    kind: OperationKind
    device: str | None
    grid: tuple[int, int, int] | None
    block: tuple[int, int, int] | None
    shared_bytes: int | None
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    call: tuple[str | None, ...]

    @property
    def title(self) -> str:
        """``gemm_kernel <<<8x8x1, 256x1x1>>>``, the name alone where the launch is not known."""
        if self.grid is None or self.block is None:
            return self.name
        grid, block = ("x".join(map(str, sizes)) for sizes in (self.grid, self.block))
        return f"{self.name} <<<{grid}, {block}>>>"


def identity_of(operation: Operation) -> Identity:
    """The group of an operation."""
    attributes = operation.attributes
    return Identity(
        operation.name,
        operation.kind,
        operation.device,
        operation.grid,
        operation.block,
        operation.shared_bytes,
        operation.inputs,
        operation.outputs,
        (attributes.get("file"), attributes.get("call"), attributes.get("bindings")),
    )


@dataclass(slots=True)
class Group:
    """The executions of one kernel.

    Attributes
    ----------
    identity
        None for the operations beyond `MOST_GROUPS` groups.
    first
        The first operation, for its position and attributes.
    rows
        Rows of the trace.
    executions
        Executions, with and without a time.
    time
        The times of single executions on the device, in s.
    host_time
        The times that the host took for a row, in s.
    gap
        The idle times of the device before an execution, in s: as the trace has them, else from
        the times of begin, where the trace has these in their order.
    flop, dram_bytes
        The sums, where every row counts them.
    """

    identity: Identity | None
    first: Operation
    rows: int = 0
    executions: int = 0
    time: Spread = field(default_factory=Spread)
    host_time: Spread = field(default_factory=Spread)
    gap: Spread = field(default_factory=Spread)
    flop: int | None = 0
    dram_bytes: int | None = 0
    _counters: dict[str, tuple[int, float]] = field(default_factory=dict[str, tuple[int, float]])

    def add(self, operation: Operation, gap_s: float | None) -> None:
        """Sum one more operation."""
        self.rows += 1
        self.executions += operation.executions
        add_time(self.time, operation)
        if operation.host_time_s is not None:
            self.host_time.add(operation.host_time_s)
        if gap_s is not None:
            self.gap.add(gap_s)
        self.flop = known_sum(self.flop, operation.flop)
        self.dram_bytes = known_sum(self.dram_bytes, operation.dram_bytes)
        for name, value in operation.counters.items():
            count, total = self._counters.get(name, (0, 0.0))
            self._counters[name] = count + 1, total + value

    @property
    def counters(self) -> Mapping[str, float]:
        """The mean of each hardware counter over the rows that have it."""
        return {name: total / count for name, (count, total) in self._counters.items()}


def add_time(spread: Spread, operation: Operation) -> None:
    """Add the time of an operation, which may sum executions; nothing where it is not known."""
    if operation.time_s is not None:
        spread.add_sum(
            operation.executions,
            operation.time_s,
            operation.min_s,
            operation.max_s,
            operation.deviation_s,
        )


def known_sum(left: int | None, right: int | None) -> int | None:
    """The sum; None where a summand is not known."""
    return None if left is None or right is None else left + right


class Groups:
    """Sums operations by their groups, as they come."""

    def __init__(self) -> None:
        self._groups: dict[Identity, Group] = {}
        self._gaps = Gaps()
        #: The operations beyond `MOST_GROUPS` groups.
        self.further: Group | None = None

    def add(self, operation: Operation) -> None:
        """Sum one more operation."""
        gap_s = self._gaps.gap_before_s(operation)
        self._group(operation).add(operation, gap_s)

    def _group(self, operation: Operation) -> Group:
        identity = identity_of(operation)
        group = self._groups.get(identity)
        if group is not None:
            return group
        if len(self._groups) < MOST_GROUPS:
            return self._groups.setdefault(identity, Group(identity, operation))
        if self.further is None:
            self.further = Group(None, operation)
        return self.further

    def all(self) -> tuple[Group, ...]:
        """The groups that have an identity, in the order of their first operations."""
        return tuple(self._groups.values())


def group_operations(operations: Iterable[Operation]) -> Groups:
    """The groups of a stream of operations."""
    groups = Groups()
    for operation in operations:
        groups.add(operation)
    return groups


class Gaps:
    """The time for which a device idles before each operation of a stream."""

    def __init__(self) -> None:
        self._last: dict[str | None, tuple[float, float]] = {}

    def gap_before_s(self, operation: Operation) -> float | None:
        """As the trace says, else begin less the latest end on this device, at least 0.

        None for the first operation, for operations of the host, for rows that sum executions, and
        where the operation begins before the one that the trace has before it.
        """
        if operation.gap_s is not None:
            return operation.gap_s
        start_s, time_s = operation.start_s, operation.time_s
        if operation.kind == "host" or operation.executions > 1 or start_s is None:
            return None
        before = self._last.get(operation.device)
        end_s = start_s + (time_s or 0.0)
        if before is None:
            self._last[operation.device] = start_s, end_s
            return None
        begun_s, ended_s = before
        if start_s < begun_s:
            self._last[operation.device] = begun_s, max(ended_s, end_s)
            return None
        self._last[operation.device] = start_s, max(ended_s, end_s)
        return max(0.0, start_s - ended_s)
