"""Properties of cores that short kernels cannot measure: issue width and LLVM's unroll limit."""

from __future__ import annotations

from collections.abc import Mapping

ISSUE_SOURCE = "vendor's optimisation guide: operations that this family of cores renames per clock"
UNROLLED_SOURCE = "LLVM's scheduling model of this family of cores (LoopMicroOpBufferSize)"
# Macro-operations renamed per clock, by family.  Source: Software Optimization Guides for AMD
# Family 17h (Zen, Zen 2), 19h (Zen 3, Zen 4) and 1Ah (Zen 5), "Dispatch".
AMD_ISSUE_PER_CLK: Mapping[int, int] = {0x17: 6, 0x19: 6, 0x1A: 8}
# The same of the servers of family 6, by model number.  Source: Intel's optimisation reference
# manual, the chapters on Skylake, Ice Lake and Golden Cove.
INTEL_ISSUE_PER_CLK: Mapping[int, int] = {
    **dict.fromkeys((0x4F, 0x55), 4),
    **dict.fromkeys((0x6A, 0x6C), 5),
    **dict.fromkeys((0x8F, 0xCF, 0xAD, 0xAE), 6),
}


def issue_per_clk(vendor: str, family: int, model: int) -> int | None:
    """Operations that a core renames per clock; None for an unknown core."""
    if vendor == "AuthenticAMD":
        return AMD_ISSUE_PER_CLK.get(family)
    if vendor == "GenuineIntel" and family == 6:
        return INTEL_ISSUE_PER_CLK.get(model)
    return None


def unrolled_instructions(vendor: str, family: int) -> int | None:
    """Instructions up to which LLVM repeats the body of a loop; None without a scheduling model.

    Source: ``LoopMicroOpBufferSize`` of llvm/lib/Target/X86/X86ScheduleZnver3.td and
    X86ScheduleZnver4.td.
    """
    return 512 if vendor == "AuthenticAMD" and family >= 0x19 else None
