"""The opcodes of sm_70 to sm_120 that are known, with the unit that executes each.

An opcode that is not in the table is reported with its name and is given no meaning.

Sources, by the letter of each group below:

- ``b``: NVIDIA, CUDA Binary Utilities, "Instruction Set Reference" (Volta, Turing, Ampere and Ada,
  Hopper, Blackwell): the opcodes, and their categories.
- ``n``: NVIDIA, Nsight Compute, Profiling Guide, "Pipelines": the kinds of instruction that each
  pipeline executes.
- ``g``: NVIDIA, CUDA C++ Programming Guide, "Arithmetic Instructions": kinds that share a rate.
- ``j``: Jia et al., arXiv:1804.06826, section 4.1 (latencies), and the control information of the
  compiler: what sets a scoreboard barrier has no fixed latency.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

SOURCES = {
    "b": 'NVIDIA, CUDA Binary Utilities, "Instruction Set Reference"',
    "n": 'NVIDIA, Nsight Compute, Profiling Guide, "Pipelines"',
    "g": 'NVIDIA, CUDA C++ Programming Guide, "Arithmetic Instructions"',
    "j": "Jia et al., arXiv:1804.06826",
}
UNITS = {
    "fma": "32-bit floating point, and integer multiplication",
    "alu": "integer and logic operations, comparisons, minima, selections and moves",
    "fp16": "packed 16-bit floating point",
    "fp64": "64-bit floating point",
    "xu": "special functions, conversions and counts of bits",
    "tensor": "matrix products",
    "uniform": "the datapath of values that all lanes of a warp share",
    "lsu": "loads, stores, atomics and shuffles",
    "tex": "textures and surfaces",
    "tma": "bulk copies between global and shared memory",
    "adu": "barriers of a block, loads from constant banks, indirect branches",
    "cbu": "branches, calls, convergence",
    "control": "what no unit executes: waits, hints, special registers",
}


@dataclass(frozen=True)
class Opcode:
    """A known opcode: the unit that executes it, and the sources of this.

    `unit` is a key of `UNITS`; None where no source says which.
    """

    name: str
    unit: str | None
    sources: tuple[str, ...]


# Unit, sources, opcodes.
_GROUPS = (
    ("fma", "bng", "FADD FADD32I FFMA FFMA32I FMUL FMUL32I FSWZADD IMAD IMUL IDP IDP4A"),
    ("fma", "b", "FADD2 FFMA2 FMUL2 IMAD32I IMUL32I"),
    ("alu", "bng", "IADD IADD3 IADD32I VIADD LOP LOP3 LOP32I SHF SHL SHR LEA ISCADD BMSK SGXT"),
    ("alu", "bng", "ISETP ICMP FSETP FSET FMNMX IMNMX VIMNMX VIADDMNMX SEL FSEL IABS PRMT"),
    ("alu", "bn", "MOV MOV32I PLOP3 PSETP P2R R2P VABSDIFF VABSDIFF4 CSET CSETP FCMP"),
    ("alu", "b", "FMNMX3 VIMNMX3 VIADD2 VHMNMX F2FP I2FP F2IP I2IP"),
    ("fp16", "bng", "HADD2 HADD2_32I HFMA2 HFMA2_32I HMUL2 HMUL2_32I"),
    ("fp16", "b", "HMNMX2 HSET2 HSETP2"),
    ("fp64", "bng", "DADD DFMA DMUL DSETP DMNMX"),
    ("xu", "bng", "MUFU F2F F2I I2F I2I FRND POPC FLO BREV"),
    ("xu", "bj", "FCHK"),
    ("tensor", "bn", "HMMA IMMA BMMA DMMA QMMA OMMA HGMMA IGMMA QGMMA BGMMA"),
    ("tensor", "b", "UTCHMMA UTCIMMA UTCQMMA UTCOMMA UTCMXQMMA UTCCP UTCSHIFT"),
    ("uniform", "bn", "UMOV UIADD3 UIMAD ULOP ULOP3 ULEA USHF USHL USHR USEL UISETP UPLOP3"),
    ("uniform", "bn", "UFLO UPOPC UBREV UBMSK USGXT UPRMT UP2UR UR2UP UPSETP R2UR S2UR VOTEU"),
    ("uniform", "b", "UIADD3X UVIADD UVIMNMX UVIADDMNMX UFADD UFFMA UFMUL UFMNMX UFSEL UFSET"),
    ("uniform", "b", "UFSETP UFRND UF2F UF2FP UF2I UF2IP UI2F UI2FP UI2I UI2IP UIABS UIMNMX"),
    ("uniform", "b", "UREDUX UCGABAR_ARV UCGABAR_WAIT UGETNEXTWORKID"),
    ("uniform", "b", "USETMAXREG UISETP3 UVOTE ULEPC UMEMSETS UVIRTCOUNT"),
    ("lsu", "bn", "LD LDG LDS LDL LDSM ST STG STS STL STSM STAS LDGSTS ATOM ATOMG ATOMS RED"),
    ("lsu", "b", "REDG REDS REDAS SHFL MATCH CCTL CCTLL CCTLT QSPC MEMBAR ERRBAR CGAERRBAR"),
    ("lsu", "b", "LDGDEPBAR ARRIVES SYNCS SYNCSU LDTM STTM LDT STT FENCE UTCATOMSWS UTCBAR LDGMC"),
    ("tex", "bn", "TEX TLD TLD4 TXD TXQ TMML SUATOM SULD SURED SUST SUQUERY"),
    ("tma", "bn", "UTMALDG UTMASTG UTMAREDG UTMAPF UTMACCTL UTMACMDFLUSH UBLKCP UBLKPF UBLKRED"),
    ("adu", "bn", "BAR LDC BRX BRXU JMX JMXU B2R R2B"),
    ("uniform", "bn", "ULDC LDCU"),
    ("cbu", "bn", "BRA JMP CALL RET EXIT BSSY BSYNC BREAK BMOV BPT KILL RTT WARPSYNC YIELD RPCMOV"),
    ("cbu", "b", "WARPGROUP WARPGROUPSET ENDCOLLECTIVE COLLECTIVE"),
    ("", "b", "ELECT VOTE MOVM SWZ REDUX CREDUX"),
    (
        "control",
        "b",
        "NANOSLEEP ACQBULK NOP S2R CS2R CS2UR DEPBAR GETLMEMBASE SETLMEMBASE LEPC PMTRIG SETCTAID",
    ),
    ("control", "b", "PREEXIT ACQSHMINIT PIXLD AL2P ISBERD LDTRAM SETMAXREG IDE"),
)
OPCODES: Mapping[str, Opcode] = {
    name: Opcode(name, unit or None, tuple(SOURCES[letter] for letter in letters))
    for unit, letters, names in _GROUPS
    for name in names.split()
}
