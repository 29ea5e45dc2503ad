"""The integer state of a processor: registers, flags and the stack, as far as they are known.

A value is an integer, the name of a symbol, or None where it is unknown.  Vector registers are not
kept.
"""

from __future__ import annotations

from tirlens_x86.comparisons import Comparison, holds
from tirlens_x86.listing import Memory, memory_of
from tirlens_x86.registers import PARTS, REGISTERS

Value = int | str | None
_ALL = (1 << 64) - 1
# Bytes of the stack whose content is followed, below and above its top.
_BELOW, _ABOVE = 128, 1 << 16
#: Where TVM's runtime allocates workspaces.
WORKSPACES = 0x6000_0000_0000
_WORKSPACES_BYTES = 1 << 44


class Machine:
    """Registers, flags and memory; memory is in cells of the size that was stored."""

    def __init__(self) -> None:
        self.registers: dict[str, Value] = dict.fromkeys(REGISTERS)
        self.memory: dict[int, tuple[int, Value]] = {}
        self.flags: Comparison | None = None

    # Registers and memory

    def get(self, name: str) -> Value:
        part = PARTS.get(name)
        if part is None:
            return None
        value = self.registers[part.register]
        if part.bits == 64 or not isinstance(value, int):
            return value if part.bits == 64 else None
        return (value >> part.low) & ((1 << part.bits) - 1)

    def set(self, name: str, value: Value) -> None:
        part = PARTS.get(name)
        if part is None:
            return
        if part.bits < 32:
            before = self.registers[part.register]
            if not isinstance(before, int) or not isinstance(value, int):
                # The upper part is unknown; the lower one is kept where nothing else is.
                value = value & ((1 << part.bits) - 1) if isinstance(value, int) else None
                self.registers[part.register] = None if part.low else value
                return
            ones = ((1 << part.bits) - 1) << part.low
            value = (before & ~ones) | ((value << part.low) & ones)
        elif isinstance(value, int):
            value &= (1 << part.bits) - 1
        self.registers[part.register] = value

    def address(self, memory: Memory) -> int | None:
        """The address; None if it is unknown."""
        total = memory.displacement
        for name, scale in ((memory.base, 1), (memory.offset, memory.scale)):
            if name:
                value = self.registers.get(name)
                if not isinstance(value, int):
                    return None
                total += value * scale
        return total & _ALL

    def load(self, memory: Memory, bits: int) -> Value:
        if memory.symbol:
            return memory.symbol.partition("@")[0] if memory.symbol.endswith("GOTPCREL") else None
        at = self.address(memory)
        if at is None:
            return None
        found = self.memory.get(at)
        if found is not None and found[0] >= bits:
            value = found[1]
            return value & ((1 << bits) - 1) if isinstance(value, int) else value
        for back in (1, 2, 4, 6):
            outer = self.memory.get(at - back)
            if outer is not None and outer[0] >= bits + 8 * back and isinstance(outer[1], int):
                return (outer[1] >> (8 * back)) & ((1 << bits) - 1)
        return None

    def store(self, memory: Memory, bits: int, value: Value) -> None:
        at = None if memory.symbol else self.address(memory)
        if at is None:
            return
        if not self.is_followed(at):
            return
        for cell in range(at, at + bits // 8):
            self.memory.pop(cell, None)
        if value is not None:
            self.memory[at] = (bits, value)

    def is_followed(self, at: int) -> bool:
        """Whether an address is on the stack or in a workspace, whose content is followed."""
        if WORKSPACES <= at < WORKSPACES + _WORKSPACES_BYTES:
            return True
        top = self.registers["rsp"]
        return isinstance(top, int) and top - _BELOW <= at < top + _ABOVE

    def read(self, operand: str, bits: int) -> Value:
        if operand.startswith("%"):
            return self.get(operand[1:])
        if operand.startswith("$"):
            try:
                return int(operand[1:], 0) & ((1 << bits) - 1)
            except ValueError:
                return operand[1:]
        memory = memory_of(operand)
        return None if memory is None else self.load(memory, bits)

    def write(self, operand: str, bits: int, value: Value) -> None:
        if operand.startswith("%"):
            self.set(operand[1:], value)
        elif memory := memory_of(operand):
            self.store(memory, bits, value)

    # Conditions

    def condition(self, name: str) -> bool | None:
        """Whether a condition of a jump, move or set holds; None if it is unknown."""
        return None if self.flags is None else holds(name, self.flags)
