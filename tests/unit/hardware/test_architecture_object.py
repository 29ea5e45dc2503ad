"""Architecture objects, as tilelang's: the catalogue's device with the numbers of the object."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tirlens.hardware import DeviceError, load
from tirlens.hardware.architecture_object import from_architecture

H100 = from_architecture(SimpleNamespace(compute_capability="90"))
PLACEHOLDER = [750, 12080]


@pytest.mark.parametrize("capability", ["9.0", "90", (9, 0), 90, "sm_90a", 9.0])
def test_the_compute_capability_selects_the_device(capability: Any) -> None:
    assert from_architecture(SimpleNamespace(compute_capability=capability)) == H100


def test_a_name_selects_the_board() -> None:
    found = from_architecture(SimpleNamespace(compute_capability="9.0", name="NVIDIA H200"))
    assert found.id == load("h200").id


@pytest.mark.parametrize(
    ("capability", "name", "expected"),
    [
        ("80", "NVIDIA A100-SXM4-80GB", "a100-80-sxm"),
        ("80", "NVIDIA A100-SXM4-40GB", "a100-40-sxm"),
        ("80", "NVIDIA A100 80GB PCIe", "a100-80-pcie"),
        ("80", "NVIDIA A100-PCIE-40GB", "a100-40-pcie"),
        ("70", "Tesla V100-SXM2-32GB", "v100-sxm2"),
        ("70", "Tesla V100-PCIE-32GB", "v100-pcie"),
        ("90", "NVIDIA H100 80GB HBM3", "h100-sxm"),
        ("90", "NVIDIA H100 PCIe", "h100-pcie"),
        ("90", "NVIDIA GH200 480GB", "gh200"),
        ("86", "NVIDIA GeForce RTX 3080", "rtx-3080"),
    ],
)
def test_a_board_of_the_catalogue_is_known_by_its_cuda_name(
    capability: str, name: str, expected: str
) -> None:
    found = from_architecture(SimpleNamespace(compute_capability=capability, name=name))
    assert found == load(expected)


@pytest.mark.parametrize(
    ("capability", "name", "nearest"),
    [
        ("89", "NVIDIA GeForce RTX 4060", "rtx-4090"),
        ("75", "NVIDIA GeForce RTX 2080 Ti", "t4"),
        ("120", "NVIDIA GeForce RTX 5080", "rtx-5090"),
        ("86", "NVIDIA GeForce RTX 3070", "rtx-3090"),
        ("86", "NVIDIA GeForce RTX 3080 Ti", "rtx-3080"),
    ],
)
def test_another_board_is_told_with_the_figures_that_are_used(
    capability: str, name: str, nearest: str
) -> None:
    found = from_architecture(SimpleNamespace(compute_capability=capability, name=name))
    (caveat,) = found.caveats[len(load(nearest).caveats) :]
    assert found.id == nearest
    assert caveat.startswith(
        f"{name} is not in the catalogue: {nearest} of sm_{capability} is used"
    )
    assert f"{found.dram.bytes_per_s / 1e9:.4g} GB/s" in caveat


def test_a_size_in_the_name_that_differs_is_told() -> None:
    named = SimpleNamespace(compute_capability="86", name="NVIDIA GeForce RTX 3080 20GB")
    (caveat,) = from_architecture(named).caveats
    assert "memory: 20 GB here, 10 GB in the entry" in caveat


def test_the_numbers_of_the_object_are_used() -> None:
    half = SimpleNamespace(
        compute_capability="90",
        compute_max_core=H100.sm_count // 2,
        l2_cache_size_bytes=1 << 20,
        bandwidth=[750, 1_000_000],
    )
    found = from_architecture(half)
    assert found.sm_count == H100.sm_count // 2
    assert found.l2.bytes == 1 << 20
    assert found.dram.bytes_per_s == 1e12
    for name, peak in found.peaks.items():
        assert peak.flop_per_s == pytest.approx(H100.peaks[name].flop_per_s / 2)
    assert len(found.caveats) == len(H100.caveats) + 3


@pytest.mark.parametrize(
    "attributes",
    [
        {"bandwidth": PLACEHOLDER},
        {"bandwidth": [0, 0]},
        {"compute_max_core": 0},
        {"l2_cache_size_bytes": None},
        {"bandwidth": "fast"},
    ],
)
def test_placeholders_are_not_used(attributes: dict[str, Any]) -> None:
    assert from_architecture(SimpleNamespace(compute_capability="90", **attributes)) == H100


def test_an_unknown_architecture_is_an_error() -> None:
    with pytest.raises(DeviceError, match=r"compute capability 3\.5"):
        from_architecture(SimpleNamespace(compute_capability="3.5"))
