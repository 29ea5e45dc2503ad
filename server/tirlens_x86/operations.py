"""What an instruction does: its kind, the width of its data, the registers that it uses.

Kinds follow the tables of uops.info and of Agner Fog's "Instruction tables".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from tirlens_x86.listing import Instruction, memory_of
from tirlens_x86.registers import PARTS, SUFFIX_BITS

Kind = Literal[
    "add", "multiply", "multiply_add", "extremum", "divide", "root", "convert", "shuffle",
    "vector_integer", "vector_product", "integer", "integer_product", "integer_divide",
    "move", "zero", "gather", "scatter", "branch", "call", "mask", "none",
]  # fmt: skip

_VECTOR = re.compile(r"%([xyz])mm(\d+)")
_VECTOR_BYTES = {"x": 16, "y": 32, "z": 64}
_MULTIPLY_ADD = re.compile(r"^vf(n?m(add|sub|addsub|subadd))(132|213|231)")
_SCALAR_BYTES = {"ss": 4, "sd": 8, "sh": 2}
_EXTREMA = ("vmax", "vmin", "vpmax", "vpmin")
_SHUFFLES = (
    "vperm", "vshuf", "vinsert", "vextract", "vunpck", "vpunpck", "vbroadcast", "vpbroadcast",
    "vpshuf", "vpinsr", "vpextr", "vpalign", "valign", "vmovshdup", "vmovsldup", "vmovddup",
    "vpslldq", "vpsrldq", "vcompress", "vexpand", "vpermt2", "vpermi2", "vmovhlps", "vmovlhps",
    "vmovhp", "vmovlp",
)  # fmt: skip
_CONVERSIONS = (
    "vcvt", "vpmovsx", "vpmovzx", "vpmovd", "vpmovw", "vpmovq", "vpmovus", "vround", "vrndscale",
)  # fmt: skip
# Shuffles whose operand in memory is one element.
_ELEMENTS = ("vbroadcasts", "vpinsr", "vpextr", "vpbroadcast", "vinsertps", "vextractps")
_PRODUCTS = ("vpmul", "vpmadd", "vpdp")
# Vector instructions whose destination is an operand too.
_MERGING = ("vpdp", "vpermt2", "vpermi2", "vgather", "vpgather", "vpternlog")
# Instructions that write no register.
_COMPARISONS = frozenset({"cmp", "test", "bt"})
_TESTS = ("vptest", "vucomis", "vcomis", "kortest", "ktest", "vtestp")
_WRITES_FLAGS = frozenset(
    [
        "add",
        "sub",
        "and",
        "or",
        "xor",
        "inc",
        "dec",
        "neg",
        "imul",
        "shl",
        "shr",
        "sar",
        "sbb",
        "adc",
    ]
)


@dataclass(frozen=True)
class Operation:
    """What an instruction does besides its effect on control flow.

    Attributes
    ----------
    kind
        The unit that it needs, besides those for memory.
    width_bytes
        The width of its data.
    load_bytes, store_bytes
        What it reads from and writes to memory; 0 without an access.
    reads, writes
        Registers, and ``flags``; those of an address are in `address`.
    address
        Registers of the address.
    is_general
        Whether its data are in general registers.
    has_wide_index
        Whether a gather or scatter has indices of 64 bits.
    """

    kind: Kind
    width_bytes: int
    load_bytes: int
    store_bytes: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    address: tuple[str, ...]
    is_general: bool = True
    has_wide_index: bool = False


def operation_of(instruction: Instruction) -> Operation:
    """What an instruction does."""
    one = instruction
    return _operation(one.mnemonic, one.operands, one.mask, one.broadcast)


@lru_cache(maxsize=50_000)
def _operation(mnemonic: str, operands: tuple[str, ...], mask: str, broadcast: int) -> Operation:
    is_vector = mnemonic[0] == "v"
    width = _width(mnemonic, operands)
    memory = next((found for one in operands if (found := memory_of(one))), None)
    parts = (memory.base, memory.offset) if memory else ()
    address = tuple(_register(name) for name in parts if name)
    registers = [_register(one[1:]) for one in operands if one.startswith("%")]
    kind = _kind(mnemonic, operands)
    base = mnemonic[:-1] if mnemonic[-1:] in SUFFIX_BITS and not is_vector else mnemonic
    if kind in ("branch", "none"):
        reads = ("flags",) if kind == "branch" and mnemonic != "jmp" else ()
        return Operation(kind, 8, 0, 0, reads, (), ())
    if kind == "call":
        return Operation(kind, 8, 0, 0, (), (), ())
    if kind == "zero":
        return Operation(kind, width, 0, 0, (), tuple(registers[-1:]), ())
    if mnemonic.startswith("lea"):
        return Operation("integer", 8, 0, 0, address, tuple(registers), ())
    is_comparison = base in _COMPARISONS or mnemonic in _COMPARISONS or mnemonic.startswith(_TESTS)
    target = operands[-1] if operands else ""
    stores = bool(target) and memory_of(target) is not None and not is_comparison
    load = store = 0
    if memory is not None:
        access = _access_bytes(mnemonic, operands, width) // broadcast
        is_read = not stores or not mnemonic.startswith(("v", "mov", "set", "k", "pop"))
        load, store = access * is_read, access * stores
    writes: list[str] = []
    reads = list(registers)
    if not stores and not is_comparison and registers:
        writes.append(registers[-1])
        if not _reads_target(mnemonic, operands, mask):
            reads = registers[:-1]
    if mask:
        reads.append(mask)
    if is_comparison or base in _WRITES_FLAGS:
        writes.append("flags")
    if mnemonic.startswith(("cmov", "set", "sbb", "adc")):
        reads.append("flags")
    if kind == "integer_divide":
        reads += ["rax", "rdx"]
        writes += ["rax", "rdx"]
    return Operation(
        kind,
        width,
        load,
        store,
        tuple(reads),
        tuple(writes),
        address,
        mnemonic[0] not in "vk",
        kind in ("gather", "scatter") and mnemonic[-3] == "q",
    )


def _register(name: str) -> str:
    """One name for all sizes of a register."""
    if match := _VECTOR.match("%" + name):
        return "v" + match[2]
    part = PARTS.get(name)
    return part.register if part else name


def _width(mnemonic: str, operands: tuple[str, ...]) -> int:
    vectors = [_VECTOR_BYTES[match[1]] for one in operands if (match := _VECTOR.search(one))]
    if mnemonic[0] == "v":
        is_scalar = not mnemonic.startswith(("vp", "vbroadcast", "vcvtph"))
        if is_scalar and mnemonic[-2:] in _SCALAR_BYTES:
            return _SCALAR_BYTES[mnemonic[-2:]]
        if "gather" in mnemonic or "scatter" in mnemonic:
            data = operands[-1] if "gather" in mnemonic else operands[0]
            match = _VECTOR.search(data)
            return _VECTOR_BYTES[match[1]] if match else 16
        if mnemonic in ("vmovd", "vmovq"):
            return 4 if mnemonic == "vmovd" else 8
        return max(vectors, default=16)
    for one in reversed(operands):
        if one[1:] in PARTS:
            return PARTS[one[1:]].bits // 8
    return SUFFIX_BITS.get(mnemonic[-1:], 64) // 8


def _access_bytes(mnemonic: str, operands: tuple[str, ...], width: int) -> int:
    """Bytes of the operand in memory."""
    if mnemonic.startswith(_ELEMENTS):
        return 8 if mnemonic.endswith(("sd", "q")) else 4
    if mnemonic.startswith(("vinsert", "vextract")):
        return 32 if mnemonic.endswith("x4") and "64" in mnemonic else 16
    if mnemonic.startswith(("vpmovsx", "vpmovzx", "vpmovd", "vpmovw", "vpmovq")):
        letters = "bwdq"
        narrow, wide = sorted(mnemonic[-2:], key=letters.find)
        return max(width >> (letters.find(wide) - letters.find(narrow)), 1)
    if mnemonic.startswith(("vcvtph2ps", "vcvtps2ph", "vcvtps2pd", "vcvtdq2pd")):
        return width // 2
    if mnemonic.startswith(("vmovlp", "vmovhp", "vmovddup")) and width == 16:
        return 8
    if mnemonic.startswith(("movz", "movs")) and len(mnemonic) > 4:
        return SUFFIX_BITS.get(mnemonic[4], 32) // 8
    return width


def _reads_target(mnemonic: str, operands: tuple[str, ...], mask: str) -> bool:
    """Whether the register that an instruction writes is an operand too."""
    if mnemonic[0] == "v":
        return bool(mask or _MULTIPLY_ADD.match(mnemonic)) or mnemonic.startswith(_MERGING)
    if mnemonic[0] == "k":
        return False
    if mnemonic.startswith(("mov", "set", "pop", "lea", "cvt")):
        return False
    return not (mnemonic.startswith("imul") and len(operands) == 3)


def _kind(mnemonic: str, operands: tuple[str, ...]) -> Kind:
    if mnemonic[0] == "v":
        return _vector_kind(mnemonic, operands)
    if mnemonic[0] == "k":
        return "mask"
    if mnemonic[0] == "j" or mnemonic.startswith("ret"):
        return "branch"
    if mnemonic.startswith("call"):
        return "call"
    if mnemonic.startswith(("nop", "prefetch")):
        return "none"
    if mnemonic.startswith(("idiv", "div")):
        return "integer_divide"
    if mnemonic.startswith(("imul", "mul")):
        return "integer_product"
    if mnemonic.startswith(("xor", "sub")) and len(operands) == 2 and operands[0] == operands[1]:
        return "zero"
    return "move" if mnemonic.startswith(("mov", "push", "pop")) else "integer"


def _vector_kind(mnemonic: str, operands: tuple[str, ...]) -> Kind:
    if mnemonic == "vzeroupper":
        return "none"
    if _MULTIPLY_ADD.match(mnemonic):
        return "multiply_add"
    if mnemonic.startswith(("vxor", "vpxor", "vpcmpeq", "vpsub")) and len(set(operands[:2])) == 1:
        return "zero"
    if mnemonic.startswith(("vgather", "vpgather")):
        return "gather"
    if mnemonic.startswith(("vscatter", "vpscatter")):
        return "scatter"
    if mnemonic.startswith(_EXTREMA):
        return "extremum" if mnemonic[1] != "p" else "vector_integer"
    if mnemonic.startswith(("vmovd", "vmovq")) and "ddup" not in mnemonic and "dq" not in mnemonic:
        crosses = any(one[1:] in PARTS for one in operands)
        return "convert" if crosses else "move"
    if mnemonic.startswith(_SHUFFLES):
        has_memory = any(memory_of(one) for one in operands)
        # A broadcast from memory is a load.
        return "move" if has_memory and "broadcast" in mnemonic else "shuffle"
    if mnemonic.startswith(("vmov", "vlddqu")):
        return "move"
    if mnemonic.startswith(_CONVERSIONS):
        return "convert"
    if mnemonic.startswith("vdiv"):
        return "divide"
    if mnemonic.startswith("vsqrt"):
        return "root"
    if mnemonic.startswith(("vmul",)):
        return "multiply"
    if mnemonic.startswith(("vadd", "vsub", "vcmp", "vhadd")):
        return "add"
    if mnemonic.startswith(_PRODUCTS):
        return "vector_product"
    return "vector_integer"
