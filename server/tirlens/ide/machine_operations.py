"""What a line of a kernel became in machine code: its instructions, by kind, in few words.

Opcodes are written as NVIDIA does. Loads and stores have their width in bits in place of the
modifiers that tell no kind: ``LDG.128``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tirlens_sass import Function, Instruction, callee_of, is_slow_path

# Kinds of operations in the order in which they are listed.
_KINDS = ("copy", "product", "local", "shared", "special", "float", "lanes", "barrier", "other")
_PLAIN_ACCESSES = {
    **dict.fromkeys(("LDG", "STG", "LD", "ST"), "copy"),
    **dict.fromkeys(("LDL", "STL"), "local"),
    **dict.fromkeys(("LDS", "STS"), "shared"),
}
_ATOMICS = frozenset(("ATOM", "ATOMG", "ATOMS", "RED", "REDG", "REDS"))
# Modifiers of atomics that tell where and how, not what.
_SCOPES = frozenset(("E", "STRONG", "GPU", "SM", "SYS", "CTA", "FTZ", "RN"))
_BULK_COPIES = {
    "UTMALDG": "TMA load",
    "UTMASTG": "TMA store",
    "UTMAREDG": "TMA reduction",
    "UBLKCP": "bulk copy",
    "UBLKRED": "bulk reduction",
}
_FLOAT_UNITS = frozenset(("fma", "fp16", "fp64"))
_FLOAT_COMPARISONS = frozenset(("FMNMX", "FMNMX3", "FSETP", "FSEL"))
_CONVERSIONS = frozenset(("F2FP", "I2FP", "F2IP", "I2IP"))
_INTEGER_PRODUCTS = frozenset(("IMAD", "IMUL", "IDP", "IDP4A", "IMAD32I", "IMUL32I"))
_BETWEEN_LANES = frozenset(("SHFL", "MATCH", "VOTE", "REDUX", "CREDUX"))
_MBARRIER = {"PHASECHK": "waits for an mbarrier", "ARRIVE": "arrives at an mbarrier"}
_WIDEST_NARROW_BYTES = 4
_ADDRESS = re.compile(r"\[([^\[\]]*?)(?:\+?(-?0x[0-9a-f]+))?\]$")
_WAITS_FOR = re.compile(r"0x([0-9a-f]+)$")


@dataclass(frozen=True)
class Operation:
    """`count` instructions of one kind, such as ``LDG.128``; `note` is what is not in the name."""

    name: str
    count: int
    note: str = ""

    @property
    def text(self) -> str:
        """In words: ``LDG.32 x8 (not vectorised: adjacent addresses)``."""
        times = f" x{self.count}" if self.count > 1 else ""
        return f"{self.name}{times}" + (f" ({self.note})" if self.note else "")


@dataclass(frozen=True)
class LineCode:
    """What a line became.

    Parameters
    ----------
    operations
        Its instructions but for integers, addresses, moves and branches, the same ones together.
    instructions
        The number of all of its instructions; each is counted once, in loops too.
    registers
        The general registers that they read or write; None if the number is not known.
    """

    operations: tuple[Operation, ...]
    instructions: int
    registers: int | None

    @property
    def text(self) -> str:
        """The operations, and the number of the other instructions."""
        rest = self.instructions - sum(operation.count for operation in self.operations)
        words = ("other", "others") if self.operations else ("instruction", "instructions")
        others = [f"{rest} {words[rest > 1]}"] if rest else []
        return ", ".join([*(operation.text for operation in self.operations), *others])


def code_by_line(
    function: Function, lines: Sequence[int], has_spills: bool | None = None
) -> dict[int, LineCode]:
    """What each line became, by the line of each instruction; instructions on line 0 are left out.

    Local memory is of an array if the function has no spills; None if that is not known.
    """
    adjacent = _adjacent_accesses(function)
    by_line: dict[int, list[int]] = {}
    for index, line in enumerate(lines):
        if line > 0:
            by_line.setdefault(line, []).append(index)
    return {
        line: _line_code(
            [(function.instructions[index], adjacent.get(index, "")) for index in found], has_spills
        )
        for line, found in sorted(by_line.items())
    }


def _line_code(
    instructions: Sequence[tuple[Instruction, str]], has_spills: bool | None
) -> LineCode:
    counts: Counter[tuple[int, str, str]] = Counter()
    for instruction, adjacent in instructions:
        found = _operation(instruction, has_spills)
        if found is not None:
            kind, name, note = found
            counts[_KINDS.index(kind), name, note or adjacent] += 1
    operations = tuple(
        Operation(name, count, note)
        # Sorting keeps the order of the instructions in each kind.
        for (_, name, note), count in sorted(counts.items(), key=lambda item: item[0][0])
    )
    registers = _registers(instruction for instruction, _ in instructions)
    return LineCode(operations, len(instructions), registers)


def _operation(one: Instruction, has_spills: bool | None) -> tuple[str, str, str] | None:
    """Kind, name and note of an instruction; None of integers, addresses, moves, branches."""
    name, unit = one.name, one.opcode.unit if one.opcode is not None else None
    width = one.memory[0].bytes_per_lane if one.memory else None
    if one.opcode is None:
        return "other", one.full_name, "not a known opcode"
    if name in _PLAIN_ACCESSES and width is not None:
        kind = _PLAIN_ACCESSES[name]
        return kind, f"{name}.{8 * width}", _LOCAL[has_spills] if kind == "local" else ""
    if name == "LDGSTS" and width is not None:
        return "copy", f"LDGSTS.{8 * width}", f"cp.async {width} B"
    if name in _BULK_COPIES:
        return "copy", one.full_name, _BULK_COPIES[name]
    if name in _ATOMICS:
        kept = [word for word in one.modifiers if word not in _SCOPES]
        kind = "shared" if name in ("ATOMS", "REDS") else "copy"
        return kind, ".".join((name, *kept)), "atomic"
    if unit == "tensor":
        return "product", one.full_name, ""
    if name == "WARPGROUP" and "DEPBAR" in one.modifiers:
        return "product", "WARPGROUP.DEPBAR", _wait(one)
    if one.memory and one.memory[0].space in ("shared", "cluster", "tensor"):
        return "shared", one.full_name, ""
    if unit == "xu" or name in _CONVERSIONS or one.full_name == "HADD2.F32":
        return "special", one.full_name, ""
    if (unit in _FLOAT_UNITS and name not in _INTEGER_PRODUCTS) or name in _FLOAT_COMPARISONS:
        return None if _is_move(one) else ("float", name, "")
    if name in _BETWEEN_LANES:
        return "lanes", one.full_name, ""
    if name == "BAR":
        return "barrier", ".".join((name, *one.modifiers[:1])), ""
    if name == "SYNCS":
        does = next((word for word in one.modifiers if word in _MBARRIER), None)
        return ("barrier", f"SYNCS.{does}", _MBARRIER[does]) if does is not None else None
    if name == "CALL":
        return "other", "CALL", "slow path" if is_slow_path(callee_of(one) or "") else ""
    return ("other", one.full_name, "") if unit == "tex" else None


def _wait(one: Instruction) -> str:
    left = _WAITS_FOR.search(one.operands[-1].text) if one.operands else None
    in_flight = int(left[1], 16) if left is not None else 0
    return f"leaves {in_flight} in flight" if in_flight else "waits for all"


_LOCAL = {
    None: "local memory",
    False: "an array in local memory",
    True: "local memory: spills or an array",
}


def _is_move(one: Instruction) -> bool:
    """Whether it only yields a constant: the compiler does so on units that are idle."""
    sources = one.operands[1:]
    return len(sources) > 2 and sum(operand.text in ("-RZ", "RZ") for operand in sources[:2]) == 2


def _registers(instructions: Iterable[Instruction]) -> int | None:
    used: set[int] = set()
    for one in instructions:
        if one.registers is None:
            return None
        for registers in (*one.registers.reads, *one.registers.writes):
            if registers.file != "R":
                continue
            if registers.count is None:
                return None
            used.update(range(registers.first, registers.first + registers.count))
    return len(used)


def _adjacent_accesses(function: Function) -> dict[int, str]:
    """Why narrow accesses are not one wide one, by the index of each that has a neighbour.

    Neighbours access adjacent addresses by the same registers, with the same content, in one
    basic block: what the machine code itself shows.
    """
    found: dict[int, str] = {}
    for block in function.blocks:
        written: Counter[tuple[str, int]] = Counter()
        groups: dict[object, dict[int, int]] = {}
        for index in range(block.first, block.last + 1):
            one = function.instructions[index]
            place = _place(one, written)
            if place is not None:
                key, offset = place
                groups.setdefault(key, {})[offset] = index
            for registers in one.registers.writes if one.registers is not None else ():
                for number in range(registers.count or 1):
                    written[registers.file, registers.first + number] += 1
        for offsets in groups.values():
            found.update(_neighbours(offsets, function.instructions))
    return found


def _place(
    one: Instruction, written: Mapping[tuple[str, int], int]
) -> tuple[tuple[object, ...], int] | None:
    """What a narrow access has in common with its neighbours, and its offset in bytes."""
    if one.name not in _PLAIN_ACCESSES or len(one.memory) != 1:
        return None
    width = one.memory[0].bytes_per_lane
    operand = next((operand for operand in one.operands if operand.kind == "memory"), None)
    address = _ADDRESS.search(operand.text) if operand is not None else None
    if width is None or width > _WIDEST_NARROW_BYTES or operand is None or address is None:
        return None
    versions = tuple((r.file, r.number, written[r.file, r.number]) for r in operand.registers)
    # A pair of registers is an address of 64 bits.
    versions += tuple(
        (r.file, r.number + 1, written[r.file, r.number + 1])
        for r in operand.registers
        if "64" in r.suffixes
    )
    base = operand.text[: address.start(1)] + address[1]
    return (one.full_name, base, versions), int(address[2] or "0", 16)


def _neighbours(offsets: Mapping[int, int], instructions: Sequence[Instruction]) -> dict[int, str]:
    found: dict[int, str] = {}
    for offset, index in offsets.items():
        width = instructions[index].memory[0].bytes_per_lane or 0
        near = [offsets[at] for at in (offset - width, offset + width) if at in offsets]
        if near:
            guards = {instructions[at].guard for at in (index, *near)}
            why = "adjacent addresses" if len(guards) == 1 else "each has its own guard"
            found[index] = f"not vectorised: {why}"
    return found
