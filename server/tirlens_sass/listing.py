"""Reads what ``nvdisasm -c -g -hex`` prints of a cubin; with ``-gi`` also the callers of lines."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from . import memory, operands, registers
from .control_flow import Block, Loop, find_blocks, find_loops, retreating_edges_without_loop
from .encoding import Encoding
from .instruction import Guard, Instruction, SourceLine
from .opcodes import OPCODES

_TARGET = re.compile(r"\s*\.target\s+(\w+)")
_SECTION = re.compile(r"\s*\.section\s+(\S+?),")
_ENTRY = re.compile(r'\s*\.other\s+(\S+?),@"STO_CUDA_ENTRY')
_FUNCTION = re.compile(r"\s*\.type\s+(\S+?),@function")
_LABEL = re.compile(r"\s*([\w.$]+):\s*$")
_LINE = re.compile(r'\s*//## File "([^"]*)", line (\d+)(?P<inlined> inlined at)?')
_INSTRUCTION = re.compile(
    r"\s*/\*(?P<address>[0-9a-f]{4,})\*/\s+(?:@(?P<negated>!?)(?P<guard>U?P)(?P<number>\d|T)\s+)?"
    r"(?P<opcode>[A-Z][\w.]*)(?P<operands>[^;]*);(?:\s*/\* 0x(?P<low>[0-9a-f]{16}) \*/)?"
)
_SECOND_WORD = re.compile(r"\s*/\* 0x([0-9a-f]{16}) \*/\s*$")
_BRANCH_TARGETS = re.compile(r'\(\*"BRANCH_TARGETS ([^"]*)"\*\)')
_PRINTED_COMMENT = re.compile(r"\(\*.*?\*\)")
# Calls return to the next instruction, and reconvergence continues there.
_NO_TARGETS = frozenset(("CALL", "RET", "BSSY", "SSY"))
_TEXT = ".text."
# A label inside a function.
_LOCAL = ".L_"
_ALWAYS = 7


class ListingError(ValueError):
    """The text is no listing of ``nvdisasm -c``."""


@dataclass(frozen=True)
class Function:
    """A function: a kernel, or a subroutine in a section of a kernel.

    Parameters
    ----------
    name
        As in the object file, mangled.
    is_kernel
        Whether it can be launched.
    kernel
        The kernel in whose section it is; of a function of a section without one, its own name.
    instructions
        All of it, with the padding after its end.
    labels
        The index of the instruction after each label.
    """

    name: str
    is_kernel: bool
    kernel: str
    instructions: tuple[Instruction, ...]
    labels: Mapping[str, int] = field(repr=False)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """The basic blocks; each instruction is in one."""
        return find_blocks(self.instructions, self.labels)

    @cached_property
    def loops(self) -> tuple[Loop, ...]:
        """The natural loops, outer ones before those in them."""
        return find_loops(self.blocks)

    @cached_property
    def irreducible_edges(self) -> tuple[tuple[int, int], ...]:
        """Edges between blocks that go back and make no natural loop."""
        return retreating_edges_without_loop(self.blocks)

    def loop_of(self, instruction: int) -> Loop | None:
        """The innermost loop around an instruction, by its index; None outside of all."""
        block = next(one.index for one in self.blocks if one.first <= instruction <= one.last)
        around = [loop for loop in self.loops if block in loop.blocks]
        return max(around, key=lambda loop: loop.depth, default=None)


@dataclass(frozen=True)
class Listing:
    """The functions of a cubin; `architecture` is its target, as ``sm_90a``."""

    architecture: str
    functions: tuple[Function, ...]

    @property
    def kernels(self) -> tuple[Function, ...]:
        """The functions that can be launched."""
        return tuple(one for one in self.functions if one.is_kernel)

    @property
    def unknown_opcodes(self) -> Counter[str]:
        """How often each opcode that is not in `opcodes.OPCODES` is in the code."""
        return Counter(
            one.name
            for function in self.functions
            for one in function.instructions
            if one.opcode is None
        )


def read(text: str) -> Listing:
    """The functions in the output of ``nvdisasm -c``; with ``-g -hex`` everything is known.

    Raises
    ------
    ListingError
        There is no target, or an instruction outside a function.
    """
    reader = _Reader()
    for line in text.splitlines():
        reader.read_line(line)
    if reader.architecture is None:
        raise ListingError("the text has no .target")
    return Listing(reader.architecture, tuple(reader.functions()))


@dataclass
class _Open:
    """A function whose instructions are being read."""

    name: str
    section: str
    found: list[tuple[re.Match[str], tuple[SourceLine, ...]]]
    high: dict[int, int]
    labels: dict[str, int]


class _Reader:
    """What has been read of a listing."""

    def __init__(self) -> None:
        self.architecture: str | None = None
        self._entries: set[str] = set()
        self._names: set[str] = set()
        self._section = ""
        # The line of what follows, then the lines of its callers; whether another caller follows.
        self._lines: tuple[SourceLine, ...] = ()
        self._has_caller = False
        self._open: list[_Open] = []

    def read_line(self, line: str) -> None:
        if match := _INSTRUCTION.match(line):
            self._add(match)
        elif match := _SECOND_WORD.match(line):
            current = self._open[-1] if self._open else None
            if current is not None and current.found:
                current.high[len(current.found) - 1] = int(match[1], 16)
        elif match := _LINE.match(line):
            self._add_line(SourceLine(match[1], int(match[2])), bool(match["inlined"]))
        elif match := _LABEL.match(line):
            self._add_label(match[1])
        elif match := _SECTION.match(line):
            self._section, self._lines = match[1], ()
        elif match := _ENTRY.match(line):
            self._entries.add(match[1])
        elif match := _FUNCTION.match(line):
            self._names.add(match[1])
        elif match := _TARGET.match(line):
            self.architecture = match[1]

    def _add_line(self, line: SourceLine, is_inlined: bool) -> None:
        self._lines = (*self._lines, line) if self._has_caller else (line,)
        self._has_caller = is_inlined

    def _add_label(self, label: str) -> None:
        if not self._section.startswith(_TEXT):
            return
        if label in self._names:
            self._open.append(_Open(label, self._section, [], {}, {}))
            self._lines = ()
        if self._open and self._open[-1].section == self._section:
            self._open[-1].labels[label] = len(self._open[-1].found)

    def _add(self, match: re.Match[str]) -> None:
        if not self._open or self._open[-1].section != self._section:
            raise ListingError(f"an instruction is in no function: {match[0].strip()}")
        self._open[-1].found.append((match, self._lines))

    def functions(self) -> list[Function]:
        return [
            Function(
                name=one.name,
                is_kernel=one.name in self._entries,
                kernel=one.section.removeprefix(_TEXT),
                instructions=tuple(
                    _instruction(match, lines, one.high.get(index))
                    for index, (match, lines) in enumerate(one.found)
                ),
                labels=one.labels,
            )
            for one in self._open
            if one.found
        ]


def _is_target(name: str, label: str) -> bool:
    """Whether control passes to a label for good; ptxas leaves loops by calls that never return."""
    return name not in _NO_TARGETS or (name == "CALL" and label.startswith(_LOCAL))


def _instruction(
    match: re.Match[str], lines: tuple[SourceLine, ...], high: int | None
) -> Instruction:
    name, *modifiers = match["opcode"].split(".")
    guard = None
    if match["guard"]:
        number = _ALWAYS if match["number"] == "T" else int(match["number"])
        guard = Guard(match["guard"], number, bool(match["negated"]))
    read = (guard.file, guard.number) if guard is not None else None
    text = match["operands"]
    found = operands.split(_PRINTED_COMMENT.sub("", text))
    listed = _BRANCH_TARGETS.search(text)
    targets = tuple(
        one.label
        for one in found
        if one.label and one.kind == "label" and _is_target(name, one.label)
    )
    if listed:
        targets = tuple(dict.fromkeys(part.strip() for part in listed[1].split(",")))
    known = OPCODES.get(name)
    encoding = Encoding(int(match["low"], 16), high) if match["low"] and high is not None else None
    return Instruction(
        address=int(match["address"], 16),
        name=name,
        modifiers=tuple(modifiers),
        guard=guard,
        operands=found,
        encoding=encoding,
        source=lines[0] if lines else None,
        callers=lines[1:],
        opcode=known,
        registers=registers.use(name, modifiers, found, read, encoding) if known else None,
        memory=memory.accesses(name, modifiers),
        targets=targets,
    )
