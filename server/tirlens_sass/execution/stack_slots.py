"""Words of a thread's stack frame at fixed addresses, which keep registers that do not fit.

The counter of a loop may be one of them.  They are registers of a file of their own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..instruction import Instruction
from ..memory import width_bytes
from ..registers import Registers
from .evaluators import Threads, of
from .lanes import Lanes

#: The file of the words of the stack frame, by their offset in words.
STACK = "stack"
_ADDRESS = re.compile(r"\[R1(?:\+(0x[0-9a-f]+))?\]$")
_WORD_BYTES = 4


def stack_slot(instruction: Instruction) -> Registers | None:
    """The words that a load or store of local memory accesses; None at an address that varies."""
    if instruction.name not in ("LDL", "STL"):
        return None
    match = _ADDRESS.match(instruction.operands[0 if instruction.name == "STL" else 1].text)
    width = width_bytes(instruction.name, instruction.modifiers) or 0
    offset = int(match[1] or "0", 16) if match is not None else 0
    if match is None or width % _WORD_BYTES or offset % _WORD_BYTES:
        return None
    return Registers(STACK, offset // _WORD_BYTES, width // _WORD_BYTES)


def has_arrays(instructions: Sequence[Instruction]) -> bool:
    """Whether stores at other addresses may overwrite the words of the frame."""
    return any(one.name == "STL" and stack_slot(one) is None for one in instructions)


@of("STL")
def _store(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    slot = stack_slot(one)
    return () if slot is None else (threads.read(one.operands[1], _bits(slot)),)


@of("LDL")
def _load(one: Instruction, threads: Threads) -> Sequence[Lanes]:
    slot = stack_slot(one)
    return () if slot is None else (threads.words(slot, _bits(slot)),)


def _bits(slot: Registers) -> int:
    return 64 if (slot.count or 1) > 1 else 32
