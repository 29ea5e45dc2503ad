"""What no short kernel measures well: instructions begun in a clock, how far LLVM unrolls loops."""

from __future__ import annotations

from collections.abc import Mapping

ISSUE_SOURCE = (
    "vendor's optimisation guide: operations that this family of cores renames in a clock"
)
UNROLLED_SOURCE = "LLVM's scheduling model of this family of cores (LoopMicroOpBufferSize)"
# Software Optimization Guides for AMD Family 17h (Zen, Zen 2), 19h (Zen 3, Zen 4) and 1Ah (Zen 5),
# "Dispatch": macro-operations.
AMD_FAMILIES: Mapping[int, int] = {0x17: 6, 0x19: 6, 0x1A: 8}
# Intel's optimisation reference manual, the chapters on Skylake, Ice Lake and Golden Cove: the
# servers' model numbers of family 6.
INTEL_MODELS: Mapping[int, int] = {
    **dict.fromkeys((0x4F, 0x55), 4),
    **dict.fromkeys((0x6A, 0x6C), 5),
    **dict.fromkeys((0x8F, 0xCF, 0xAD, 0xAE), 6),
}


def issue_per_clk(vendor: str, family: int, model: int) -> int | None:
    """Operations that a core renames in a clock; None of one that is not known."""
    if vendor == "AuthenticAMD":
        return AMD_FAMILIES.get(family)
    if vendor == "GenuineIntel" and family == 6:
        return INTEL_MODELS.get(model)
    return None


def unrolled_instructions(vendor: str, family: int) -> int | None:
    """Instructions up to which LLVM repeats the body of a loop; None where it has no such model.

    ``LoopMicroOpBufferSize`` of llvm/lib/Target/X86/X86ScheduleZnver3.td and X86ScheduleZnver4.td.
    """
    return 512 if vendor == "AuthenticAMD" and family >= 0x19 else None
