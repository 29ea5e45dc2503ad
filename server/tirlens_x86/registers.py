"""The general-purpose registers: their names at each size, and the suffixes of mnemonics."""

from __future__ import annotations

from typing import NamedTuple


class Part(NamedTuple):
    """Bits ``low`` to ``low + bits`` of a 64-bit register."""

    register: str
    bits: int
    low: int = 0


def _parts() -> dict[str, Part]:
    found: dict[str, Part] = {}
    for letter in "abcd":
        name = f"r{letter}x"
        found[f"e{letter}x"], found[f"{letter}x"] = Part(name, 32), Part(name, 16)
        found[f"{letter}l"], found[f"{letter}h"] = Part(name, 8), Part(name, 8, 8)
    for short in ("si", "di", "bp", "sp"):
        name = f"r{short}"
        found[f"e{short}"], found[short] = Part(name, 32), Part(name, 16)
        found[f"{short}l"] = Part(name, 8)
    for number in range(8, 16):
        name = f"r{number}"
        found[f"{name}d"], found[f"{name}w"] = Part(name, 32), Part(name, 16)
        found[f"{name}b"] = Part(name, 8)
    names = ["rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp"]
    for name in [*names, *(f"r{number}" for number in range(8, 16))]:
        found[name] = Part(name, 64)
    return found


#: By name.
PARTS = _parts()
#: The 64-bit registers.
REGISTERS = tuple(sorted({part.register for part in PARTS.values()}))
#: Bits of the operands by the last letter of a mnemonic.
SUFFIX_BITS = {"b": 8, "w": 16, "l": 32, "q": 64}
