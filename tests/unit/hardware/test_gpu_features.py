"""Which GPUs have an instruction, and the device of kernels that need it."""

from __future__ import annotations

import pytest

from tirlens.hardware import catalogue, load
from tirlens.hardware.gpu_features import device_with, missing_features


@pytest.mark.parametrize(
    ("feature", "has", "lacks"),
    [
        ("tcgen05", "sm_100 sm_100a sm_103a sm_110", "sm_90 sm_120 sm_80 gfx942"),
        ("wgmma", "sm_90 sm_90a", "sm_80 sm_89 sm_100 sm_120 gfx942"),
        ("tma", "sm_90 sm_100 sm_120", "sm_75 sm_80 sm_89 gfx942"),
        ("cluster", "sm_90 sm_100", "sm_86 sm_89"),
        ("cp.async", "sm_80 sm_89 sm_120 gfx90a", "sm_70 sm_75"),
        ("ldmatrix", "sm_75 sm_90", "sm_60 sm_70"),
        ("stmatrix", "sm_90 sm_120", "sm_80 sm_89"),
        ("mma.float8", "sm_89 sm_90 sm_120 gfx942", "sm_80 sm_86"),
        ("mma.bfloat16", "sm_80 sm_90", "sm_75 sm_70"),
        ("mma.float4", "sm_120", "sm_90 sm_100"),
        ("mfma", "gfx90a gfx942 gfx950", "gfx1100 sm_90"),
        ("rdna_wmma", "gfx1100 gfx1200", "gfx942 sm_90"),
        ("simdgroup", "apple7 sm_90", ""),
    ],
)
def test_the_targets_of_a_feature(feature: str, has: str, lacks: str) -> None:
    assert [arch for arch in has.split() if missing_features([feature], arch)] == []
    assert [arch for arch in lacks.split() if not missing_features([feature], arch)] == []


@pytest.mark.parametrize("name", catalogue())
def test_the_features_of_a_device_file_agree_with_its_architecture(name: str) -> None:
    device = load(name)
    known = ("tcgen05", "wgmma", "tma", "cp.async", "mfma")
    if device.arch.startswith("sm_"):
        missing = missing_features(known, device.arch)
        assert {item for item in known if item not in missing} == device.features & set(known)


@pytest.mark.parametrize(
    ("features", "expected"),
    [
        ({"tcgen05"}, "b200"),
        ({"tcgen05", "tma", "cluster"}, "b200"),
        ({"wgmma"}, "h100-sxm"),
        ({"wgmma", "tma"}, "h100-sxm"),
        ({"mma.float4"}, "rtx-5090"),
        ({"mma.float8"}, "rtx-4090"),
        ({"mfma"}, "mi300x"),
        ({"tcgen05", "wgmma"}, None),
        ({"rdna_wmma"}, None),
    ],
)
def test_the_device_of_kernels_that_require_features(
    features: set[str], expected: str | None
) -> None:
    found = device_with(frozenset(features))
    if expected == "mi300x":
        assert found is not None and load(found).arch.startswith("gfx9")
    else:
        assert found == expected
