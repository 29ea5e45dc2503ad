"""The functions and instructions of an assembly listing in AT&T syntax, as LLVM prints it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NamedTuple

_LABEL = re.compile(r"^([.\w$@]+):")
_INSTRUCTION = re.compile(r"^\s+([a-z]\w*)(?:\s+(.+))?$")
_LINE = re.compile(r"^\s+\.loc\s+\d+\s+(\d+)")
_TYPE = re.compile(r"^\s+\.type\s+([.\w$@]+),@function")
_MEMORY = re.compile(r"^([-+.\w$@]*)\(([^)]*)\)$")
# Labels of debug information and of constants, to which nothing jumps.
_DEBUG_LABELS = (".Ltmp", ".Lfunc", ".LCPI", ".L.str")
# Prefixes that LLVM writes as instructions of their own.
_PREFIXES = frozenset({"rep", "lock", "notrack", "data16"})


class Memory(NamedTuple):
    """An address: ``displacement(base, offset, scale)``; `symbol` is the name before it."""

    displacement: int
    base: str
    offset: str
    scale: int
    symbol: str


@dataclass(frozen=True)
class Instruction:
    """One instruction.

    Attributes
    ----------
    mnemonic
        The name, with the suffix of its size.
    operands
        Sources first, the destination last, without write masks.
    mask
        The mask register of the destination (``k1``); empty without one.
    line
        The line of the source; 0 where there is none.
    broadcast
        The elements that the operand in memory is repeated to (``{1to16}``); 1 without.
    """

    mnemonic: str
    operands: tuple[str, ...]
    mask: str
    line: int
    broadcast: int = 1

    @property
    def memory(self) -> Memory | None:
        """The address of the operand in memory; None without one."""
        return next((found for one in self.operands if (found := memory_of(one))), None)


@dataclass(frozen=True)
class Function:
    """The instructions of a function, and the index of the instruction after each label."""

    name: str
    instructions: tuple[Instruction, ...]
    labels: dict[str, int]


def read(text: str) -> dict[str, Function]:
    """The functions of a listing by name."""
    functions = {match[1] for match in map(_TYPE.match, text.splitlines()) if match}
    found: dict[str, tuple[list[Instruction], dict[str, int]]] = {}
    instructions: list[Instruction] = []
    labels: dict[str, int] = {}
    line = 0
    for text_line in text.splitlines():
        if label := _LABEL.match(text_line):
            if label[1] in functions:
                instructions, labels = found.setdefault(label[1], ([], {}))
                line = 0
            elif not label[1].startswith(_DEBUG_LABELS):
                labels[label[1]] = len(instructions)
        elif place := _LINE.match(text_line):
            line = int(place[1])
        elif (match := _INSTRUCTION.match(text_line)) and match[1] not in _PREFIXES:
            instructions.append(_instruction(match[1], match[2] or "", line))
    return {name: Function(name, tuple(made), at) for name, (made, at) in found.items() if made}


def essential(text: str) -> str:
    """The lines of a listing that `read` uses: functions, labels, instructions and source lines."""
    kept = [
        line.partition("#")[0].rstrip()
        for line in text.splitlines()
        if _TYPE.match(line)
        or _LINE.match(line)
        or (_INSTRUCTION.match(line) and not line.lstrip().startswith("."))
        or (_LABEL.match(line) and not line.startswith(_DEBUG_LABELS))
    ]
    return "\n".join(kept) + "\n"


def _instruction(mnemonic: str, text: str, line: int) -> Instruction:
    text = text.partition("#")[0].strip()
    mask = re.search(r"\{%(k\d)\}", text)
    broadcast = re.search(r"\{1to(\d+)\}", text)
    text = re.sub(r"\s*\{[^}]*\}", "", text)
    return Instruction(
        mnemonic,
        tuple(_split(text)),
        mask[1] if mask else "",
        line,
        int(broadcast[1]) if broadcast else 1,
    )


def _split(text: str) -> list[str]:
    """The operands, which commas outside of parentheses separate."""
    parts = re.split(r",\s*(?![^()]*\))", text)
    return [part.strip() for part in parts if part.strip()]


def memory_of(operand: str) -> Memory | None:
    """The address that an operand is; None for a register, a constant or a label."""
    match = _MEMORY.match(operand)
    if match is None:
        return None
    base, offset, scale = ([part.strip().lstrip("%") for part in match[2].split(",")] + ["", ""])[
        :3
    ]
    displacement, symbol = 0, ""
    if match[1]:
        try:
            displacement = int(match[1], 0)
        except ValueError:
            symbol = match[1]
    return Memory(displacement, base, offset, int(scale or 1), symbol)
