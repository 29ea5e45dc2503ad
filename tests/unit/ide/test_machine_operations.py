"""What a line became in machine code, from its instructions."""

from __future__ import annotations

import lzma
from collections import Counter
from pathlib import Path

import pytest

from tirlens.ide.machine_operations import code_by_line
from tirlens_sass import Function, read

HEAD = """
\t.target\tsm_90a
\t.section\t.text.k,"ax",@progbits
        .type           k,@function
        .other          k,@"STO_CUDA_ENTRY STV_DEFAULT"
k:"""
DATA = Path(__file__).parents[2] / "sass" / "data"


def function(*instructions: str) -> Function:
    rows = [f"        /*{16 * n:04x}*/    {one} ;" for n, one in enumerate(instructions)]
    listing = "\n".join((HEAD, *rows, ""))
    return read(listing).functions[0]


def text(*instructions: str, has_spills: bool | None = None) -> str:
    return code_by_line(function(*instructions), [7] * len(instructions), has_spills)[7].text


NOT_VECTORISED = "(not vectorised: adjacent addresses)"


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        # Loads and stores by their width, whatever their caching.
        (
            (
                "LDG.E.128.CONSTANT R4, desc[UR4][R2.64]",
                "LDG.E.128 R8, desc[UR4][R2.64+0x200]",
                "STG.E.U16 desc[UR4][R2.64], R4",
            ),
            "LDG.128 x2, STG.16",
        ),
        # Narrow accesses that one wide access could do.
        (
            tuple(
                f"LDG.E R{4 + n}, desc[UR4][R2.64{f'+{4 * n:#x}' if n else ''}]" for n in range(4)
            ),
            f"LDG.32 x4 {NOT_VECTORISED}",
        ),
        (
            ("LDG.E.U16 R4, [R2.64+-0x2]", "LDG.E.U16 R5, [R2.64]"),
            f"LDG.16 x2 {NOT_VECTORISED}",
        ),
        (("STS [R3+UR5+0x4], R1", "STS [R3+UR5], R0"), f"STS.32 x2 {NOT_VECTORISED}"),
        (
            ("@P0 LDG.E R4, [R2.64]", "@P1 LDG.E R5, [R2.64+0x4]"),
            "LDG.32 x2 (not vectorised: each has its own guard)",
        ),
        # Machine code does not show that these are adjacent: other addresses, a register that
        # changes between them, a block of its own, a width that is the widest.
        (("LDG.E R4, [R2.64]", "LDG.E R5, [R2.64+0x80]"), "LDG.32 x2"),
        (("LDG.E R4, [R2.64]", "LDG.E R5, [R6.64+0x4]"), "LDG.32 x2"),
        (
            ("LDG.E R4, [R2.64]", "IADD3 R3, R3, 0x8, RZ", "LDG.E R5, [R2.64+0x4]"),
            "LDG.32 x2, 1 other",
        ),
        (
            ("LDG.E R4, [R2.64]", "@P0 EXIT", "LDG.E R5, [R2.64+0x4]"),
            "LDG.32 x2, 1 other",
        ),
        (("LDG.E.64 R4, [R2.64]", "LDG.E.64 R6, [R2.64+0x8]"), "LDG.64 x2"),
        (("LDG.E R4, [R2.64]", "STG.E [R2.64+0x4], R4"), "LDG.32, STG.32"),
        # Asynchronous copies.
        (
            ("LDGSTS.E.BYPASS.LTC128B.128 [R5], desc[UR4][R2.64]", "LDGDEPBAR"),
            "LDGSTS.128 (cp.async 16 B), 1 other",
        ),
        (
            ("UTMALDG.2D [UR8], [UR4]", "UTMASTG.2D [UR8], [UR4]"),
            "UTMALDG.2D (TMA load), UTMASTG.2D (TMA store)",
        ),
        # Products and what waits for them.
        (
            (
                "HGMMA.64x128x16.F32 R24, gdesc[UR16], R24",
                "HGMMA.64x128x16.F32 R24, gdesc[UR20], R24, gsb0",
                "WARPGROUP.DEPBAR.LE gsb0, 0x0",
                "WARPGROUP.DEPBAR.LE gsb0, 0x1",
            ),
            (
                "HGMMA.64x128x16.F32 x2, WARPGROUP.DEPBAR (waits for all),"
                " WARPGROUP.DEPBAR (leaves 1 in flight)"
            ),
        ),
        (
            ("LDSM.16.M88.4 R4, [R2]", "HMMA.16816.F32 R8, R4, R2, R8"),
            "HMMA.16816.F32, LDSM.16.M88.4",
        ),
        # Numbers, and moves that only look like them.
        (
            ("MUFU.EX2 R0, R1", "FFMA.FTZ R0, R1, R2, R3", "FADD R0, R1, R2", "FADD R0, R0, R2"),
            "MUFU.EX2, FFMA, FADD x2",
        ),
        (("HADD2.F32 R0, -RZ, R1.H0_H0", "HADD2 R2, R0, R1"), "HADD2.F32, HADD2"),
        (("HFMA2.MMA R56, -RZ, RZ, 0, 0", "IMAD R0, R1, R2, R3"), "2 instructions"),
        # Lanes, barriers, atomics, calls.
        (
            ("SHFL.BFLY PT, R3, R2, 0x10, 0x1f", "BAR.SYNC.DEFER_BLOCKING 0x0"),
            "SHFL.BFLY, BAR.SYNC",
        ),
        (
            ("SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [R7+URZ], R2", "SYNCS.EXCH.64 URZ, [UR8], UR4"),
            "SYNCS.PHASECHK (waits for an mbarrier), 1 other",
        ),
        (("RED.E.ADD.F32.FTZ.RN.STRONG.GPU [R2.64], R5",), "RED.ADD.F32 (atomic)"),
        (("CALL.REL.NOINC `($__cuda_sm20_sqrt_rn_f32_slowpath)",), "CALL (slow path)"),
        (("QUUX.A R0, R1",), "QUUX.A (not a known opcode)"),
    ],
)
def test_operations_of_a_line(instructions: tuple[str, ...], expected: str) -> None:
    assert text(*instructions) == expected


@pytest.mark.parametrize(
    ("has_spills", "expected"),
    [
        (False, "STL.128 (an array in local memory), LDL.32 (an array in local memory)"),
        (True, "STL.128 (local memory: spills or an array), LDL.32 (local memory: spills or an"),
        (None, "STL.128 (local memory), LDL.32 (local memory)"),
    ],
)
def test_local_memory_is_an_array_where_nothing_is_spilled(
    has_spills: bool | None, expected: str
) -> None:
    found = text("STL.128 [R1+0x10], R4", "LDL R3, [R1+0x10]", has_spills=has_spills)
    assert found.startswith(expected)


@pytest.mark.parametrize(
    ("instructions", "expected"),
    [
        # R2 to R3 for an address of 64 bits, R4 to R7 for the result.
        (("LDG.E.128 R4, desc[UR4][R2.64]", "FADD R4, R4, R5"), 6),
        (("UMOV UR4, 0x1",), 0),
        (("QUUX.A R0, R1",), None),
    ],
)
def test_registers_of_a_line(instructions: tuple[str, ...], expected: int | None) -> None:
    found = code_by_line(function(*instructions), [7] * len(instructions))
    assert found[7].registers == expected


def test_lines_are_in_order_and_line_0_is_none() -> None:
    found = code_by_line(function("FADD R0, R1, R2", "FMUL R0, R1, R2", "EXIT"), [9, 3, 0])
    assert {line: code.text for line, code in found.items()} == {3: "FMUL", 9: "FADD"}


@pytest.mark.parametrize("recorded", sorted(DATA.glob("*.sass.xz")), ids=lambda path: path.name)
def test_kinds_of_real_listings(recorded: Path) -> None:
    for one in read(lzma.decompress(recorded.read_bytes()).decode()).functions:
        (code,) = code_by_line(one, [1] * len(one.instructions)).values()
        counted: Counter[str] = Counter()
        for operation in code.operations:
            counted[operation.name.partition(".")[0]] += operation.count
        # The listing's own words.
        names = Counter(instruction.name for instruction in one.instructions)
        for name in ("LDG", "STG", "LDS", "LDGSTS", "HMMA", "HGMMA", "MUFU", "SHFL", "FADD", "LDL"):
            assert counted[name] == names[name], name
        assert code.instructions == names.total()
