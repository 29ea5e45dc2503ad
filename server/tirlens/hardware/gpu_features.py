"""Which GPUs have the instructions that the source of a kernel requires.

Sources: PTX ISA 9.0, "Target ISA Notes" of each instruction; AMD's CDNA 1 to 4 and RDNA 3 and 4 ISA
guides, "Matrix Arithmetic Instructions" (MFMA: gfx908 to gfx950) and "WMMA" (gfx11 and gfx12).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache

from tirlens.hardware.catalogue import aliases, architectures

_SM = re.compile(r"sm_(\d+)[af]?")


@dataclass(frozen=True)
class _Feature:
    """The instruction in words, the targets that have it, and the first of these."""

    instruction: str
    targets: re.Pattern[str] | int
    first: str

    def is_on(self, arch: str) -> bool:
        if isinstance(self.targets, re.Pattern):
            return self.targets.fullmatch(arch) is not None
        found = _SM.fullmatch(arch)
        # HIP's headers have functions of their own for what NVIDIA's do by an instruction.
        return found is None or int(found.group(1)) >= self.targets


# In the order in which a device is looked for: the rarest first.
_FEATURES: Mapping[str, _Feature] = {
    "tcgen05": _Feature("tcgen05", re.compile(r"sm_1(00|01|03|10)[af]?"), "sm_100"),
    "mma.float4": _Feature("mma of fp4 or fp6", re.compile(r"sm_12\d[af]?"), "sm_120"),
    "clusterlaunchcontrol": _Feature(
        "clusterlaunchcontrol", re.compile(r"sm_1\d\d[af]?"), "sm_100"
    ),
    "wgmma": _Feature("wgmma", re.compile(r"sm_90a?"), "sm_90"),
    "tma": _Feature("TMA", re.compile(r"sm_(9|1\d)\d[af]?"), "sm_90"),
    "cluster": _Feature("thread block clusters", re.compile(r"sm_(9|1\d)\d[af]?"), "sm_90"),
    "stmatrix": _Feature("stmatrix", 90, "sm_90"),
    "mma.float8": _Feature("mma of fp8", 89, "sm_89"),
    "mma.bfloat16": _Feature("mma of bf16", 80, "sm_80"),
    "mma.tf32": _Feature("mma of tf32", 80, "sm_80"),
    "mma.float64": _Feature("mma of fp64", 80, "sm_80"),
    "mma.sp": _Feature("mma.sp", 80, "sm_80"),
    "cp.async": _Feature("cp.async", 80, "sm_80"),
    "ldmatrix": _Feature("ldmatrix", 75, "sm_75"),
    "mfma": _Feature("mfma", re.compile(r"gfx9(08|0a|4\d|5\d)"), "gfx908"),
    "rdna_wmma": _Feature("rdna_wmma", re.compile(r"gfx1[12]\d\d"), "gfx1100"),
}


def is_feature(name: str) -> bool:
    """Whether this is the name of a feature."""
    return name in _FEATURES


def missing_features(features: Iterable[str], arch: str) -> tuple[str, ...]:
    """Those of `features` that GPUs of the architecture `arch` do not have."""
    return tuple(name for name in features if name in _FEATURES and not _FEATURES[name].is_on(arch))


def describe_requirement(feature: str) -> str:
    """What a feature needs: ``tcgen05 (sm_100)``."""
    found = _FEATURES[feature]
    return f"{found.instruction} ({found.first})"


@cache
def device_with(features: frozenset[str]) -> str | None:
    """The id of a device of the catalogue that has all `features`; None without one.

    Of several it is the one of the first architecture with the rarest feature.
    """
    wanted = [_FEATURES[name].first for name in _FEATURES if name in features]
    suitable = [
        name
        for name, arch in architectures().items()
        if arch.startswith(("sm_", "gfx")) and not missing_features(features, arch)
    ]
    first = [name for arch in wanted if (name := aliases().get(arch)) in suitable]
    return next(iter((*first, *suitable)), None)
