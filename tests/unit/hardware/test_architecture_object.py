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
