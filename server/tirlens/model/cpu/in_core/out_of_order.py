"""Out-of-order execution of a trace of instructions on a core, with all data in L1.

Instructions enter the reorder buffer in their order, a few per clock, and wait in the scheduler for
their operands and their unit.  They leave the buffer in order (Hennessy, Patterson, Computer
Architecture, 2017, 3.6; as uiCA: Abel, Reineke, ICS 2022, and llvm-mca).  Branches are predicted.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES
from tirlens.hardware.spec import Device
from tirlens_x86 import Operation, Step, operation_of

from ...constants import constant
from .arithmetic import CALL_COST_RATIOS, OTHER_CALL_COST_RATIO
from .ports import Need, Ports

STORE_QUEUE = constant(
    "STORE_QUEUE",
    64,
    kind="isa",
    unit="stores",
    meaning="Stores that wait to be written to L1.",
    source="vendors' optimisation guides: 56 of Skylake, 64 of Zen 4, 72 of Ice Lake",
    bounds=(44, 112),
)
MEMSET_BYTES_PER_CLK = constant(
    "MEMSET_BYTES_PER_CLK",
    32.0,
    kind="estimate",
    unit="bytes per clock",
    meaning="Bytes that ``memset`` and ``memcpy`` write to L1.",
    source="a store of a vector of 32 bytes per clock",
)
# A rate of less than this has several units; parts of a clock are sums of rounded numbers.
MAX_PART_OF_A_CLOCK = 0.75
MAX_ROUNDING = 1e-6
BLOCKED_FORWARD_CLK = constant(
    "BLOCKED_FORWARD_CLK",
    13.0,
    kind="measured",
    unit="clocks",
    meaning="Clocks from a store to a load of more than what it stored, which waits for L1.",
    source='Agner Fog, "The microarchitecture of Intel, AMD and VIA CPUs": 11 to 14 clocks',
    bounds=(11.0, 19.0),
)
# Comparisons and arithmetic that are one operation with the jump after them.
_FUSED = ("cmp", "test", "add", "sub", "inc", "dec", "and")
_BLOCKS = ("memset", "memcpy", "memmove")


class _Store(NamedTuple):
    """What was stored, and when."""

    address: int
    bytes: int
    end_clk: float

    def covers(self, address: int, width: int) -> bool:
        """Whether all of an access was stored at once."""
        return self.address <= address and address + width <= self.address + self.bytes


def _words(address: int, width: int) -> range:
    """The words of four bytes that an access touches."""
    return range(address // 4, (address + max(width, 1) - 1) // 4 + 1)


class _Unit:
    """A unit that takes instructions out of order: a part of each clock, or several clocks."""

    def __init__(self) -> None:
        self._used: defaultdict[int, float] = defaultdict(float)

    def take(self, ready_clk: float, clk: float) -> float:
        """The clock at which an instruction starts that is ready, and needs so many clocks.

        A core has a whole number of units of a kind, and a unit that is narrower than a vector
        takes it in a whole number of clocks.
        """
        used, start = self._used, -int(-ready_clk // 1)
        if clk < MAX_PART_OF_A_CLOCK:
            part = 1 / round(1 / clk)
            while used[start] + part > 1 + MAX_ROUNDING:
                start += 1
            used[start] += part
            return start
        clocks = round(clk)
        while any(used[start + one] > MAX_ROUNDING for one in range(clocks)):
            start += 1
        for one in range(clocks):
            used[start + one] = 1.0
        return start


class OutOfOrderCore:
    """Executes traces."""

    def __init__(self, device: Device) -> None:
        assert device.cpu is not None
        self._core = device.cpu
        self._issue_clk = 1 / device.issue_per_clk_per_sm
        self._ports = Ports(device)

    def retire_clk(self, trace: Sequence[Step]) -> list[float]:
        """The clock at which each instruction of a trace leaves the reorder buffer."""
        core = self._core
        units: defaultdict[str, _Unit] = defaultdict(_Unit)
        ready: defaultdict[str, float] = defaultdict(float)
        stored: dict[int, _Store] = {}
        written: list[float] = []
        waiting: list[float] = []
        retired: list[float] = []
        entered = last = 0.0
        previous = ""
        for number, step in enumerate(trace):
            mnemonic = step.instruction.mnemonic
            operation = operation_of(step.instruction)
            load, compute, store = self._ports.needs(operation)
            if not (operation.kind == "branch" and previous.startswith(_FUSED)):
                entered += self._issue_clk
            previous = mnemonic
            if number >= core.window:
                entered = max(entered, retired[number - core.window])
            if store is not None and len(written) >= STORE_QUEUE:
                entered = max(entered, written[-STORE_QUEUE])
            uses_vectors = mnemonic[0] == "v" and compute is not None
            if uses_vectors:
                while waiting and waiting[0] <= entered:
                    heapq.heappop(waiting)
                if len(waiting) >= core.scheduler:
                    entered = max(entered, heapq.heappop(waiting))
            if operation.kind == "call":
                entered += self._call_clk(step)
            start = entered + 1
            if load is not None:
                start = self._load(step, operation, load, start, units, ready, stored)
            start = max([start, *(ready[register] for register in operation.reads)])
            end = start
            if compute is not None:
                start = units[compute.unit].take(start, compute.clk)
                end = start + round(compute.latency_clk)
            if uses_vectors:
                heapq.heappush(waiting, start)
            if store is not None:
                address_clk = max((ready[one] for one in operation.address), default=0.0)
                end = units["store"].take(
                    max(end, address_clk), store.clk * self._lines(step, operation.store_bytes)
                )
                if step.address is not None:
                    made = _Store(step.address, operation.store_bytes, end)
                    stored.update(dict.fromkeys(_words(made.address, made.bytes), made))
            for register in operation.writes:
                ready[register] = end
            last = max(last, end, entered)
            retired.append(last)
            if store is not None:
                before = written[-1] if written else 0.0
                written.append(max(last, before + max(store.clk / 2, 0.5)))
        return retired

    def _load(
        self,
        step: Step,
        operation: Operation,
        load: Need,
        start: float,
        units: defaultdict[str, _Unit],
        ready: defaultdict[str, float],
        stored: dict[int, _Store],
    ) -> float:
        """The clock at which what an instruction loads is there."""
        start = max([start, *(ready[register] for register in operation.address)])
        begun = units["load"].take(start, load.clk * self._lines(step, operation.load_bytes))
        end = begun + load.latency_clk
        if step.address is None:
            return end
        found = [
            stored[word] for word in _words(step.address, operation.load_bytes) if word in stored
        ]
        if not found:
            return end
        store = max(found, key=lambda one: one.end_clk)
        is_whole = store.covers(step.address, operation.load_bytes)
        forward_clk = self._forward_clk(operation) if is_whole else BLOCKED_FORWARD_CLK
        return max(end, store.end_clk + round(forward_clk))

    def _forward_clk(self, operation: Operation) -> float:
        core = self._core
        if operation.load_bytes > core.vector_bytes // 2:
            return core.vector_forward_clk
        return core.integer_forward_clk if operation.is_general else core.forward_clk

    def _call_clk(self, step: Step) -> float:
        """Clocks of a call, during which no instruction enters."""
        name = step.instruction.operands[0].partition("@")[0]
        if name.startswith(_BLOCKS):
            return self._core.call_clk + step.amount / MEMSET_BYTES_PER_CLK
        return self._core.call_clk * call_ratio(name)

    @staticmethod
    def _lines(step: Step, width: int) -> int:
        """The lines that an access touches."""
        if step.address is None or not width:
            return 1
        return 2 if step.address % CACHE_LINE_BYTES + width > CACHE_LINE_BYTES else 1


def call_ratio(name: str) -> float:
    """The time of a call of a function of the C library, over that of ``expf``."""
    plain = name.removesuffix("f") if name.removesuffix("f") in CALL_COST_RATIOS else name
    return CALL_COST_RATIOS.get(plain, OTHER_CALL_COST_RATIO)
