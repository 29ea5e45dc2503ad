"""The order in which devices are listed to choose from."""

from __future__ import annotations

from itertools import pairwise

from tirlens import hardware
from tirlens.ide.device_list import compared_peak, core_name, device_groups

GROUPS = device_groups(map(hardware.load, hardware.catalogue()))


def test_every_device_is_listed_once() -> None:
    listed = [device.id for _, members in GROUPS for device, _ in members]
    assert sorted(listed) == sorted(hardware.catalogue())


def test_gpus_come_before_cpus_and_vendors_stay_together() -> None:
    kinds = [members[0][0].kind for _, members in GROUPS]
    assert kinds == sorted(kinds, key=["gpu", "accelerator", "cpu"].index)
    vendors = [members[0][0].vendor for _, members in GROUPS]
    changes = sum(left != right for left, right in pairwise(vendors))
    assert changes == len(set(vendors)) - 1
    assert vendors[:1] == ["NVIDIA"]


def test_within_a_group_the_fastest_is_first() -> None:
    for _, members in GROUPS:
        rates = [peak[1] for _, peak in members if peak is not None]
        assert rates == sorted(rates, reverse=True)


def test_units_have_their_vendors_name() -> None:
    names = {device.vendor: core_name(device) for _, members in GROUPS for device, _ in members}
    assert (names["NVIDIA"], names["AMD"], names["Apple"]) == ("SMs", "CUs", "cores")


def test_devices_are_compared_by_their_matrix_units() -> None:
    assert compared_peak(hardware.load("h100-sxm")) == ("float16", 9.894e14)
