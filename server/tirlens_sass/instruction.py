"""One instruction of machine code."""

from __future__ import annotations

from dataclasses import dataclass

from .encoding import Control, Encoding
from .memory import MemoryAccess
from .opcodes import Opcode
from .operands import Operand
from .registers import TRUE_PREDICATE, RegisterUse


@dataclass(frozen=True)
class SourceLine:
    """A line of the source from which an instruction was compiled, counted from 1."""

    file: str
    line: int


@dataclass(frozen=True)
class Guard:
    """The predicate without which an instruction has no effect: ``@!P0``."""

    file: str
    number: int
    is_negated: bool

    @property
    def is_constant(self) -> bool:
        """Whether it always holds, or never."""
        return self.number == TRUE_PREDICATE

    @property
    def text(self) -> str:
        """As nvdisasm prints it."""
        number = "T" if self.is_constant else str(self.number)
        return f"@{'!' if self.is_negated else ''}{self.file}{number}"


@dataclass(frozen=True)
class Instruction:
    """An instruction.

    Parameters
    ----------
    address
        The offset in its section in bytes.
    name, modifiers
        The opcode and the words after it: ``LDG`` and ``("E", "128")``.
    guard
        The predicate; None if it is always executed.
    operands
        All operands in the order of the text.
    encoding
        Its two words; None in a listing without ``-hex``.
    source
        The line it was compiled from; None in a listing without ``-g``.
    callers
        The lines at which the source line was inlined, from the inside out; empty without ``-gi``.
    opcode
        What is known of `name`; None of an opcode that `opcodes.OPCODES` does not have.
    registers
        The registers that it reads and writes; None of an unknown opcode.
    memory
        Its accesses of memory but for operands in constant banks; empty if there are none, and of
        an unknown opcode.
    targets
        The labels to which it may branch.
    """

    address: int
    name: str
    modifiers: tuple[str, ...]
    guard: Guard | None
    operands: tuple[Operand, ...]
    encoding: Encoding | None
    source: SourceLine | None
    callers: tuple[SourceLine, ...]
    opcode: Opcode | None
    registers: RegisterUse | None
    memory: tuple[MemoryAccess, ...]
    targets: tuple[str, ...]

    @property
    def full_name(self) -> str:
        """The opcode with its modifiers."""
        return ".".join((self.name, *self.modifiers))

    @property
    def control(self) -> Control | None:
        """The scheduling; None in a listing without ``-hex``."""
        return self.encoding.control if self.encoding is not None else None

    @property
    def text(self) -> str:
        """The instruction without its encoding."""
        guard = f"{self.guard.text} " if self.guard is not None else ""
        return f"{guard}{self.full_name} {', '.join(o.text for o in self.operands)}".rstrip()
