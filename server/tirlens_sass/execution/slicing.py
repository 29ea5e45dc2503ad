"""The instructions on which control flow depends: a backward slice through registers.

Seeds are the guards of all instructions and the operands of branches. Values that come from memory
or from opcodes without semantics are not known, and the slice ends there.

Source: Weiser, "Program Slicing", ICSE 1981.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..control_flow import callee_of
from ..instruction import Instruction
from ..listing import Function
from ..registers import Registers
from .semantics import is_evaluated
from .stack_slots import STACK, has_arrays, stack_slot

# The first bit of each register file in a set of registers, which is an integer.
_FIRST_BITS = {"R": 0, "UR": 256, "P": 512, "UP": 520, STACK: 528}
_BRANCHES = frozenset(("BRA", "BRX", "BRXU", "JMP", "JMX", "JMXU", "EXIT", "RET"))


def find_slice(functions: Sequence[Function]) -> dict[str, frozenset[int]]:
    """The indices of the instructions of the slice of each function, by its name.

    `functions` are a kernel and the subroutines that it calls.
    """
    parts = {one.name: _Part(one) for one in functions}
    changed = True
    while changed:
        changed = False
        for part in parts.values():
            changed = part.update(parts) or changed
    return {name: frozenset(part.members) for name, part in parts.items()}


class _Part:
    """The slice of one function so far."""

    def __init__(self, function: Function) -> None:
        self.members: set[int] = set()
        self._function = function
        keeps_registers = not has_arrays(function.instructions)
        self._sets = [_sets(one, keeps_registers) for one in function.instructions]
        self._data_guards = data_guards(function)
        self._needed = [0] * len(function.blocks)
        # What callers need after the call.
        self._after = 0

    @property
    def needed(self) -> int:
        """The registers that the function needs at its start."""
        return self._needed[0] if self._needed else 0

    def update(self, parts: Mapping[str, _Part]) -> bool:
        """One pass over the blocks, the last one first; whether anything changed."""
        before = (len(self.members), list(self._needed), [one._after for one in parts.values()])
        for block in reversed(self._function.blocks):
            needed = 0 if block.successors else self._after
            for successor in block.successors:
                needed |= self._needed[successor]
            for index in range(block.last, block.first - 1, -1):
                needed = self._before(index, needed, parts)
            self._needed[block.index] |= needed
        return before != (
            len(self.members), self._needed, [one._after for one in parts.values()],
        )  # fmt: skip

    def _before(self, index: int, needed: int, parts: Mapping[str, _Part]) -> int:
        """The registers that are needed before an instruction, by those after it."""
        one = self._function.instructions[index]
        reads, writes, guard = self._sets[index]
        if index in self._data_guards and not writes & needed and not is_control(one):
            return needed
        if is_control(one):
            return needed | reads
        callee = callee_of(one)
        if callee is not None and callee in parts:
            parts[callee]._after |= needed
            return needed | parts[callee].needed | guard
        if writes & needed:
            self.members.add(index)
            if one.guard is None:
                needed &= ~writes
            if is_evaluated(one):
                needed |= reads
        return needed | guard


def is_control(instruction: Instruction) -> bool:
    """Whether an instruction may branch or end a thread."""
    return instruction.name in _BRANCHES or bool(instruction.targets)


def data_guards(function: Function) -> frozenset[int]:
    """The instructions whose guard is the result of one before it in its block that is not
    evaluated: a comparison of data."""
    found: set[int] = set()
    for block in function.blocks:
        from_data: dict[tuple[str, int], bool] = {}
        for index in range(block.first, block.last + 1):
            one = function.instructions[index]
            if one.guard is not None and from_data.get((one.guard.file, one.guard.number)):
                found.add(index)
            for part in one.registers.writes if one.registers is not None else ():
                if part.file in ("P", "UP"):
                    is_data = one.guard is None and not is_evaluated(one)
                    from_data[part.file, part.first] = is_data
    return frozenset(found)


def _sets(instruction: Instruction, keeps_registers: bool) -> tuple[int, int, int]:
    """The registers that an instruction reads, writes, and has as its guard.

    `keeps_registers`: words of the stack frame are only written at fixed addresses.
    """
    use = instruction.registers
    guard = instruction.guard
    condition = (
        _bits(Registers(guard.file, guard.number)) if guard is not None and guard.number < 7 else 0
    )
    if use is None:
        return condition, 0, condition
    reads = writes = 0
    for registers in use.reads:
        reads |= _bits(registers)
    for registers in use.writes:
        writes |= _bits(registers)
    slot = stack_slot(instruction) if keeps_registers else None
    if slot is not None and instruction.name == "STL":
        writes |= _bits(slot)
    elif slot is not None:
        reads |= _bits(slot)
    return reads, writes, condition


def _bits(registers: Registers) -> int:
    first = _FIRST_BITS.get(registers.file)
    if first is None:
        return 0
    return ((1 << (registers.count or 1)) - 1) << first + registers.first
