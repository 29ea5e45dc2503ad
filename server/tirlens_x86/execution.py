"""How often each block of a listing executes: the integer instructions are executed.

Loops are not executed to their end.  When two iterations take the same path and change each
register by the same amount, all iterations follow that path up to the one in which a comparison on
it changes its result; these are counted at once.  Vectors and floating-point numbers are not
executed, and conditions that depend on them are unknown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tirlens_x86.comparisons import Comparison, holds, repetitions
from tirlens_x86.control_flow import FlowGraph, flow_graph, is_jump
from tirlens_x86.error_paths import RAISES, error_paths
from tirlens_x86.listing import Function, Instruction
from tirlens_x86.machine import WORKSPACES, Machine, Value
from tirlens_x86.results import FunctionCounts, ProgramCounts, Step
from tirlens_x86.semantics import execute

# Blocks that are executed one by one before a listing counts as undecided.
MAX_BLOCKS = 400_000
# Instructions of a trace, which ends with an iteration; and of one that does not.
TRACE_INSTRUCTIONS = 2000
# A loop that has so many times the iterations of its trace is traced again.
RETRACED_FACTOR = 2
MAX_TRACE_INSTRUCTIONS = 12_000
_STACK_TOP = 0x7F00_0000_0000
_ENVIRONMENT = 0x5000_0000_0000
_CALL_CLOBBERED = ("rax", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10", "r11")


class UndecidedError(Exception):
    """How often blocks execute does not follow from the integers of the program."""


def count_executions(
    functions: Mapping[str, Function],
    name: str,
    memory: Mapping[int, tuple[int, int]],
    arguments: Sequence[int],
    tasks: int,
    extrapolates: bool = True,
) -> ProgramCounts:
    """Execute a function and count its blocks, and those of the first task of parallel loops.

    Parameters
    ----------
    functions
        Those of the listing.
    name
        The one that is called.
    memory
        Bits and value of what is in memory, by address.
    arguments
        The first integer arguments, in registers.
    tasks
        The tasks of a parallel loop.
    extrapolates
        Whether iterations that repeat others are counted at once.

    Raises
    ------
    UndecidedError
        The program does not end within a limit.
    """
    program = _Program(functions, tasks, extrapolates)
    program.machine.memory.update(memory)
    for register, value in zip(("rdi", "rsi", "rdx", "rcx", "r8", "r9"), arguments, strict=False):
        program.machine.registers[register] = value
    program.call(name)
    return program.result()


@dataclass
class _Snapshot:
    registers: dict[str, Value]
    cells: dict[int, tuple[int, Value]]
    counts: list[int]
    decisions: int


class _Program:
    def __init__(self, functions: Mapping[str, Function], tasks: int, extrapolates: bool) -> None:
        self.machine = Machine()
        self.machine.registers["rsp"] = _STACK_TOP
        self._functions = functions
        self._tasks = tasks
        self._extrapolates = extrapolates
        self._graphs: dict[str, FlowGraph] = {}
        self._cold: dict[str, frozenset[int]] = {}
        # Executions of blocks and entries of loops of all functions that were called.
        self._counts: list[int] = []
        self._offsets: dict[str, int] = {}
        self._entry_index: dict[tuple[str, int], int] = {}
        self._decisions: list[tuple[str, Comparison | None, bool]] = []
        self._steps = 0
        self._workspaces = 0
        self._unknown: set[tuple[str, int]] = set()
        self._traces: dict[tuple[str, int], list[Step]] = {}
        self._trace: list[Step] | None = None
        # Executions of a header at the last entry of its loop, and iterations of the traced entry.
        self._at_entry: dict[tuple[str, int], int] = {}
        self._traced_iterations: dict[tuple[str, int], int] = {}

    def result(self) -> ProgramCounts:
        found: list[FunctionCounts] = []
        for name, offset in self._offsets.items():
            graph = self._graphs[name]
            executions = tuple(self._counts[offset : offset + len(graph.blocks)])
            entries = {
                header: self._counts[self._entry_index[name, header]] for header in graph.loops
            }
            traces = {
                header: tuple(trace) for (of, header), trace in self._traces.items() if of == name
            }
            found.append(FunctionCounts(self._functions[name], graph, executions, entries, traces))
        return ProgramCounts(tuple(found), len(self._unknown))

    def call(self, name: str) -> None:
        """Execute a function of the listing until it returns."""
        function = self._functions[name]
        if name not in self._graphs:
            graph = flow_graph(function)
            self._graphs[name] = graph
            self._cold[name] = error_paths(function, graph)
            self._offsets[name] = len(self._counts)
            self._counts += [0] * len(graph.blocks)
            for header in graph.loops:
                self._entry_index[name, header] = len(self._counts)
                self._counts.append(0)
        graph, offset = self._graphs[name], self._offsets[name]
        history: dict[int, list[_Snapshot]] = {}
        number, before = 0, -1
        while True:
            if number in graph.loops:
                self._arrive(name, number, before in graph.loops[number].blocks, history)
            self._counts[offset + number] += 1
            self._steps += 1
            if self._steps > MAX_BLOCKS:
                raise UndecidedError("it executes too many different iterations")
            following = self._run_block(name, function, graph, number)
            if following is None:
                return
            number, before = following, number

    def _run_block(
        self, name: str, function: Function, graph: FlowGraph, number: int
    ) -> int | None:
        block, machine = graph.blocks[number], self.machine
        for instruction in function.instructions[block.start : block.end]:
            mnemonic = instruction.mnemonic
            if self._trace is not None:
                self._record(name, number, instruction)
            if is_jump(mnemonic):
                if mnemonic == "jmp":
                    if not block.successors:
                        self._external(instruction.operands[0])
                        return None
                    return block.successors[0]
                return block.successors[0 if self._decide(name, number, mnemonic[1:]) else -1]
            if mnemonic.startswith("ret"):
                return None
            if mnemonic.startswith("call"):
                self._external(instruction.operands[0])
            else:
                execute(machine, instruction)
        if not block.successors:
            return None
        return block.successors[-1]

    def _record(self, name: str, number: int, instruction: Instruction) -> None:
        assert self._trace is not None
        memory, amount = instruction.memory, 0
        if instruction.mnemonic.startswith("call"):
            length = self.machine.registers["rdx"]
            is_block = instruction.operands[0].startswith(("memset", "memcpy", "memmove"))
            amount = length if is_block and isinstance(length, int) else 0
        address = None if memory is None or memory.symbol else self.machine.address(memory)
        self._trace.append(Step(name, number, instruction, address, amount))
        if len(self._trace) >= MAX_TRACE_INSTRUCTIONS:
            self._trace = None

    def _decide(self, name: str, number: int, condition: str) -> bool:
        flags = self.machine.flags
        taken = None if flags is None else holds(condition, flags)
        if taken is None:
            target, fallthrough = self._graphs[name].blocks[number].successors
            cold = self._cold[name]
            if (target in cold) != (fallthrough in cold):
                taken = fallthrough in cold
            else:
                self._unknown.add((name, number))
                taken = False
            flags = None
        self._decisions.append((condition, flags, taken))
        return taken

    def _external(self, operand: str) -> None:
        machine = self.machine
        target: Value = operand.partition("@")[0]
        if operand.startswith("*"):
            target = machine.read(operand[1:], 64)
            if target is None and operand.startswith("*("):
                target = machine.registers[operand[3:].rstrip(")")]
        registers, result = machine.registers, None
        if isinstance(target, str) and target.startswith(RAISES):
            raise UndecidedError("it reports an error")
        if isinstance(target, str) and target in self._functions:
            top = registers["rsp"]
            assert isinstance(top, int)
            registers["rsp"] = top - 8
            self.call(target)
            result, registers["rsp"] = registers["rax"], top
        elif isinstance(target, str) and "ParallelLaunch" in target:
            self._launch()
            result = 0
        elif isinstance(target, str) and "AllocWorkspace" in target:
            self._workspaces += 1
            result = WORKSPACES + (self._workspaces << 32)
        elif isinstance(target, str) and target.lstrip("_").startswith("TVM"):
            result = 0
        for register in _CALL_CLOBBERED:
            registers[register] = None
        registers["rax"] = result
        machine.flags = None

    def _launch(self) -> None:
        """The first task of a parallel loop, of as many as there are cores."""
        machine = self.machine
        task, data = machine.registers["rdi"], machine.registers["rsi"]
        if not isinstance(task, str) or task not in self._functions:
            raise UndecidedError("a parallel loop executes an unknown function")
        machine.memory[_ENVIRONMENT] = (64, 0)
        machine.memory[_ENVIRONMENT + 8] = (32, self._tasks)
        top = machine.registers["rsp"]
        assert isinstance(top, int)
        machine.registers.update(rdi=0, rsi=_ENVIRONMENT, rdx=data, rsp=top - 8)
        self.call(task)
        machine.registers["rsp"] = top

    # Loops

    def _arrive(
        self, name: str, header: int, is_repeated: bool, history: dict[int, list[_Snapshot]]
    ) -> None:
        """Before a header executes: count an entry, or the iterations that repeat the last one."""
        if not is_repeated:
            self._counts[self._entry_index[name, header]] += 1
            self._forget_short_trace(name, header)
            history[header] = [self._snapshot()]
            return
        seen = history[header]
        if self._trace is None and not self._is_traced(name, header):
            self._trace = self._traces[name, header] = []
        if self._trace is not None:
            if len(self._trace) >= TRACE_INSTRUCTIONS and self._trace is self._traces.get(
                (name, header)
            ):
                self._trace = None
            history[header] = [self._snapshot()]
            return
        seen.append(self._snapshot())
        if len(seen) < 3 or not self._extrapolates:
            return
        first, second, third = seen[-3:]
        history[header] = seen[-2:]
        if self._extrapolate(first, second, third):
            history[header] = [self._snapshot()]
            # Loops inside have had entries that are not known.
            for inner in self._graphs[name].loops[header].blocks - {header}:
                self._at_entry.pop((name, inner), None)

    def _forget_short_trace(self, name: str, header: int) -> None:
        """At an entry of a loop: trace it again if its last entry had more iterations.

        The first entries of a loop over a triangle have few iterations.
        """
        key = name, header
        executions = self._counts[self._offsets[name] + header]
        iterations = executions - self._at_entry.get(key, executions)
        self._at_entry[key] = executions
        if iterations and key in self._traces and self._trace is None:
            traced = self._traced_iterations.setdefault(key, iterations)
            if iterations >= RETRACED_FACTOR * traced:
                del self._traces[key]
                self._traced_iterations[key] = iterations

    def _is_traced(self, name: str, header: int) -> bool:
        """Whether there is a trace of a loop or of one in it that has iterations."""
        blocks = self._graphs[name].loops[header].blocks
        return any(of == name and inner in blocks for of, inner in self._traces)

    def _snapshot(self) -> _Snapshot:
        machine = self.machine
        cells = {at: cell for at, cell in machine.memory.items() if machine.is_followed(at)}
        return _Snapshot(dict(machine.registers), cells, list(self._counts), len(self._decisions))

    def _extrapolate(self, first: _Snapshot, second: _Snapshot, third: _Snapshot) -> bool:
        sizes = (len(one.counts) for one in (first, second, third))
        if len(set(sizes)) > 1:
            return False
        each = [b - a for a, b in zip(first.counts, second.counts, strict=True)]
        if each != [b - a for a, b in zip(second.counts, third.counts, strict=True)]:
            return False
        one = self._decisions[first.decisions : second.decisions]
        two = self._decisions[second.decisions : third.decisions]
        if len(one) != len(two):
            return False
        more: int | None = None
        for (name, before, taken), (other, now, taken_now) in zip(one, two, strict=True):
            if name != other or taken != taken_now:
                return False
            if before is None or now is None:
                continue
            limit = repetitions(name, before, now, taken)
            if limit is not None:
                more = limit if more is None else min(more, limit)
        if more is None:
            raise UndecidedError("data decide when a loop ends")
        if more <= 0:
            return False
        machine = self.machine
        self._counts = [count + more * d for count, d in zip(self._counts, each, strict=True)]
        for register, value in third.registers.items():
            machine.registers[register] = _later(
                first.registers[register], second.registers[register], value, more, 64
            )
        for at, (bits, value) in third.cells.items():
            a, b = first.cells.get(at, (0, None)), second.cells.get(at, (0, None))
            machine.memory[at] = (bits, _later(a[1], b[1], value, more, bits))
        machine.flags = None
        return True


def _later(first: Value, second: Value, third: Value, more: int, bits: int) -> Value:
    """A value after more iterations; None unless it changes by the same amount in each."""
    if isinstance(first, int) and isinstance(second, int) and isinstance(third, int):
        if (second - first - third + second) & ((1 << bits) - 1):
            return None
        return (third + more * (third - second)) & ((1 << bits) - 1)
    return third if first == second == third else None
