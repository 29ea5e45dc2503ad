"""The registers that an instruction reads and writes.

nvdisasm prints the first register of an operand; how many follow is decided by the opcode and its
modifiers. The rules agree with the live ranges that ``nvdisasm -plr`` prints, by which they are
tested. Where no rule is known, the number of registers is None.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from . import matrix_registers
from .encoding import Encoding
from .memory import width_bytes
from .operands import NamedRegister, Operand

_REGISTER_BYTES = 4


def _opcodes(names: str) -> frozenset[str]:
    return frozenset(names.split())


# No operand of these is written.
_WITHOUT_RESULT = _opcodes(
    "ST STG STS STL STSM STAS STTM RED REDG REDS REDAS LDGSTS BAR BRA BRX BRXU JMP JMX JMXU CALL"
    " RET EXIT BSYNC BREAK WARPSYNC YIELD KILL NOP NANOSLEEP DEPBAR LDGDEPBAR ARRIVES MEMBAR"
    " ERRBAR CGAERRBAR CCTL CCTLL CCTLT FENCE WARPGROUP UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL"
    " UTMACMDFLUSH UBLKCP UBLKPF UBLKRED UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA UTCCP UTCSHIFT"
    " UTCBAR SUST SURED UCGABAR_ARV UCGABAR_WAIT PREEXIT ACQBULK SETLMEMBASE BPT RTT"
)
# Predicates are their only results.
_PREDICATE_RESULTS = _opcodes(
    "ISETP FSETP DSETP HSETP2 PSETP CSETP PLOP3 FCHK UISETP UFSETP UPSETP UPLOP3"
)
_LOADS = _opcodes("LD LDG LDS LDL LDC ULDC LDCU LDSM ATOM ATOMG ATOMS")
_STORES = _opcodes("ST STG STS STL STSM STAS RED REDG REDS ATOM ATOMG ATOMS")
_GLOBAL = _opcodes("LD LDG ST STG ATOM ATOMG RED REDG LDGSTS QSPC CCTL")
_DOUBLES = _opcodes("DADD DFMA DMUL DSETP DMNMX FADD2 FFMA2 FMUL2")
_CONVERSIONS = _opcodes("F2F F2I I2F FRND UF2F UF2I UI2F UFRND")
_WIDE = frozenset(("IMAD", "UIMAD"))
_TYPE = re.compile(r"(?:F|BF|U|S|B)\d+$")
_REPEATED = re.compile(r"x(\d+)$")
# The widths of operands of these are in descriptors, or are not documented.
_UNKNOWN_WIDTHS = _opcodes(
    "UTMALDG UTMASTG UTMAREDG UTMAPF UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA UTCCP UTCSHIFT"
    " UBLKCP UBLKRED UBLKPF TEX TLD TLD4 TXD TXQ TMML SULD SUST SUATOM SURED SUQUERY OMMA"
)

#: The number of PT and UPT, the predicates that are always true.
TRUE_PREDICATE = 7


@dataclass(frozen=True)
class Registers:
    """Consecutive registers of one file (see `operands.NamedRegister`).

    `count` is None if it is not known how many there are, but at least one.
    """

    file: str
    first: int
    count: int | None = 1


@dataclass(frozen=True)
class RegisterUse:
    """What an instruction reads and writes; the constants RZ, PT, URZ and UPT are no registers."""

    reads: tuple[Registers, ...]
    writes: tuple[Registers, ...]


def use(
    name: str,
    modifiers: Sequence[str],
    operands: Sequence[Operand],
    guard: tuple[str, int] | None = None,
    encoding: Encoding | None = None,
) -> RegisterUse:
    """The registers of a known opcode; `guard` is the file and the number of its predicate.

    A call has those of its own operands, not those of the function.
    """
    results = results_of(name, modifiers, operands)
    reads: list[Registers] = []
    if guard is not None and guard[1] != TRUE_PREDICATE:
        reads.append(Registers(*guard))
    writes: list[Registers] = []
    matrix = matrix_registers.counts(name, modifiers, operands)
    for position, operand in enumerate(operands):
        is_result = position < results and operand.kind not in ("memory", "constant")
        for number, register in enumerate(operand.registers):
            if matrix is not None and operand.kind == "register" and position < len(matrix):
                count = matrix[position]
            elif operand.kind in ("memory", "constant"):
                count = _address_count(name, modifiers, operand, position, number)
            else:
                count = _count(name, modifiers, operands, position, register, is_result)
            (writes if is_result else reads).append(
                Registers(register.file, register.number, count)
            )
    reads += _unprinted_descriptor(name, operands, encoding)
    if name == "R2P":
        writes += [Registers("P", bit) for bit in _mask_bits(operands)]
    if name == "P2R":
        reads += [Registers("P", bit) for bit in _mask_bits(operands)]
    return RegisterUse(tuple(reads), tuple(writes))


def results_of(name: str, modifiers: Sequence[str], operands: Sequence[Operand]) -> int:
    """How many of the first operands are results."""
    if name in _WITHOUT_RESULT or (name == "USETMAXREG" and "TRY_ALLOC" not in modifiers):
        return 0
    leading = 0
    while leading < len(operands) and operands[leading].kind == "predicate":
        leading += 1
    if name in _PREDICATE_RESULTS:
        return min(leading, 1 if name == "FCHK" else 2)
    if name in ("VOTE", "VOTEU"):
        return len(operands) - 1
    if name == "B2R" or "ENL2" in modifiers:
        return min(2, len(operands)) if name in ("B2R", "LDG", "LD") else 0
    if name == "SYNCS" and leading:
        return leading
    # A result, with the predicates of carries and successes before or after it.
    results = min(leading + 1, len(operands))
    while results < len(operands) and operands[results].kind == "predicate":
        if leading or name not in _WITH_CARRY or operands[results].text.startswith("!"):
            break
        results += 1
    if name in _WITH_CARRY and "X" in modifiers:
        # The last two predicates may be the carries that come in.
        results = min(results, 3)
    return results


_WITH_CARRY = _opcodes(
    "IADD IADD3 LEA LOP3 IMAD SHF UIADD3 ULEA ULOP3 UIMAD ELECT R2UR FLO UFLO MUFU LDG"
)


def _count(
    name: str,
    modifiers: Sequence[str],
    operands: Sequence[Operand],
    place: int,
    register: NamedRegister,
    is_result: bool,
) -> int | None:
    """How many registers an operand that is no address has."""
    if register.file not in ("R", "UR"):
        return 1
    if "64" in register.suffixes:
        return 2
    if name in _UNKNOWN_WIDTHS:
        return None
    if name in _DOUBLES:
        return 2 if not (name == "DSETP" and is_result) else 1
    if name in _WIDE and "WIDE" in modifiers:
        return 2 if is_result or _is_addend(operands, place) else 1
    if name == "IMAD" and "HI" in modifiers:
        return 2 if _is_addend(operands, place) else 1
    if name in ("ISETP", "UISETP", "IMNMX", "UIMNMX"):
        return 2 if {"U64", "S64"} & set(modifiers) else 1
    if name in _CONVERSIONS:
        return _conversion_count(name, modifiers, is_result)
    if name in ("CS2R", "CS2UR"):
        return 1 if "32" in modifiers else 2
    if name in ("LEPC", "ULEPC", "RET", "CALL", "BRX", "JMX", "UGETNEXTWORKID"):
        return 2 if name != "UGETNEXTWORKID" else None
    if name in ("LDTM", "STTM"):
        found = [int(match[1]) for word in modifiers if (match := _REPEATED.match(word))]
        return found[0] if found and "16dp256bit" not in modifiers else None
    if name == "SYNCS" and "EXCH" in modifiers:
        return 2
    if (name in _LOADS and is_result) or (name in _STORES and not is_result):
        return _data_count(name, modifiers)
    return 2 if "64" in modifiers else 1


def _is_addend(operands: Sequence[Operand], place: int) -> bool:
    """Whether an operand is the third source, that is the last one but for predicates."""
    sources = [n for n, one in enumerate(operands) if one.kind != "predicate"]
    return place == sources[-1] and len(sources) == 4


def _conversion_count(name: str, modifiers: Sequence[str], is_result: bool) -> int:
    """The registers of an operand of a conversion; a type that is not named has 32 bits."""
    types = [word for word in modifiers if _TYPE.match(word)]
    kind = name.removeprefix("U")
    if kind in ("F2I", "I2F"):
        # The types of both sides differ: F is the floating-point side.
        wants_float = is_result == (kind == "I2F")
        types = [word for word in types if (word[0] in "FB") == wants_float]
    elif kind == "F2F" and types:
        # The result's type is the first.
        types = types[:1] if is_result else types[1:]
    return 2 if any(word.endswith("64") for word in types) else 1


def _data_count(name: str, modifiers: Sequence[str]) -> int | None:
    width = width_bytes(name, modifiers)
    if width is None:
        return None
    if width == 32:
        # Two operands of 16 bytes each.
        width = 16
    return max(width // _REGISTER_BYTES, 1)


def _tensor_copy_count(modifiers: Sequence[str], place: int) -> int | None:
    """The registers of a tile's copy: target and barrier with the coordinates, map, descriptor."""
    if len(modifiers) != 1 or not re.match(r"[1-5]D$", modifiers[0]):
        return None
    return 2 + int(modifiers[0][0]) if place == 0 else 2


def _address_count(
    name: str, modifiers: Sequence[str], operand: Operand, place: int, number: int
) -> int | None:
    """How many registers a part of an address has."""
    register = operand.registers[number]
    if name == "UTMALDG":
        return _tensor_copy_count(modifiers, place)
    if name in _UNKNOWN_WIDTHS:
        return None
    if "64" in register.suffixes:
        return 2
    if operand.kind == "constant":
        return 1
    if operand.text.startswith("desc[") and number == 0:
        return 2
    if operand.text.startswith("gdesc["):
        return matrix_registers.descriptor_count(name)
    if name in ("UTMACCTL", "UTMACMDFLUSH"):
        return 2
    if name not in _GLOBAL or "U32" in register.suffixes or _is_shared_side(name, operand):
        return 1
    if register.file == "UR":
        return 2
    return 2 if "E" in modifiers and len(operand.registers) == 1 else 1


def _unprinted_descriptor(
    name: str, operands: Sequence[Operand], encoding: Encoding | None
) -> list[Registers]:
    """The descriptor of an access of global memory on Ampere and Ada: ``[R2.64]`` has one in a pair
    of uniform registers that later architectures print (``desc[UR4][R2.64]``)."""
    if encoding is None or name not in _GLOBAL:
        return []
    addresses = [one for one in operands if one.kind == "memory"]
    named = [register for one in addresses for register in one.registers]
    if any(one.text.startswith("desc[") for one in addresses) or not any(
        "64" in register.suffixes for register in named
    ):
        return []
    if any(register.file == "UR" for register in named):
        return []
    word = encoding.low >> 32 if name in ("LDG", "LD") else encoding.high
    return [Registers("UR", word & 0x3F, 2)]


def _is_shared_side(name: str, operand: Operand) -> bool:
    """Whether an operand of a copy to shared memory is its address there, which comes first."""
    return name == "LDGSTS" and not any("64" in one.suffixes for one in operand.registers)


def _mask_bits(operands: Sequence[Operand]) -> tuple[int, ...]:
    """The predicates of a mask, which is the last operand."""
    try:
        mask = int(operands[-1].text, 0)
    except ValueError:
        mask = 0x7F
    return tuple(bit for bit in range(7) if mask >> bit & 1)
