"""The devices that come with the package, and what the reader says of a wrong file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.hardware import DEFAULT_DEVICE, DeviceError, catalogue, for_target, load
from tirlens.hardware.catalogue import DATA, aliases
from tirlens.hardware.reader import number_keys, read_device, tomllib


@pytest.mark.parametrize("identifier", catalogue())
def test_every_number_has_a_source(identifier: str) -> None:
    table = tomllib.loads((DATA / f"{identifier}.toml").read_text(encoding="utf-8"))
    device = load(identifier)
    assert device.id == identifier
    assert set(number_keys(table)) - set(device.sources) == set()


@pytest.mark.parametrize("identifier", catalogue())
def test_figures_agree_with_each_other(identifier: str) -> None:
    device = load(identifier)
    assert device.l2.bytes_per_s * device.l2.sustained_fraction > device.dram.bytes_per_s * 0.5
    assert device.dram.latency_s > device.l2.latency_s
    assert device.limits.shared_bytes_per_block <= device.limits.shared_bytes_per_sm
    for name, peak in device.peaks.items():
        if name.startswith("tensor."):
            assert peak.flop_per_s >= device.peaks["fp64"].flop_per_s, name


def test_names_are_unique_and_lead_to_their_device() -> None:
    names = [alias for identifier in catalogue() for alias in load(identifier).aliases]
    assert len(names) == len({name.lower() for name in names})
    assert not set(aliases()) & set(catalogue())
    assert load(DEFAULT_DEVICE).name == "NVIDIA H100 SXM5 80 GB"


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("h100", "h100-sxm"),
        ("H100-SXM", "h100-sxm"),
        ("sm_90", "h100-sxm"),
        ("sm_80", "a100-80-sxm"),
        ("rtx4090", "rtx-4090"),
        ("gfx942", "mi300x"),
        ("cpu", "x86-avx2"),
    ],
)
def test_other_names(name: str, expected: str) -> None:
    assert load(name).id == expected


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"kind": "cuda", "arch": "sm_90a"}, "h100-sxm"),
        ({"kind": "cuda", "arch": "sm_100a"}, "b200"),
        ({"kind": "cuda", "arch": "sm_86"}, "rtx-3090"),
        ({"kind": "cuda", "tag": "nvidia/geforce-rtx-3090"}, "rtx-3090"),
        ({"kind": "cuda", "tag": "nvidia/nvidia-a100"}, "a100-80-sxm"),
        ({"kind": "hip", "mcpu": "gfx942"}, "mi300x"),
        ({"kind": "llvm"}, "x86-avx2"),
        ({"kind": "llvm", "mcpu": "skylake-avx512"}, "x86-avx512"),
        ({"kind": "llvm", "mtriple": "aarch64-linux-gnu"}, "arm-neoverse"),
        ({"kind": "cuda"}, None),
        ({"kind": "cuda", "arch": "sm_10"}, None),
        ({}, None),
    ],
)
def test_device_of_a_target(target: dict[str, str], expected: str | None) -> None:
    device = for_target(target)
    assert (device.id if device else None) == expected


def test_an_unknown_name_says_what_is_known() -> None:
    with pytest.raises(DeviceError, match=r'"h1000" is no known device.*h100-sxm.*\.toml'):
        load("h1000")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("bytes_per_s = 4.8e12", "bytes_per_s = 4800", r"dram\.bytes_per_s: 4800 .*4\.8e\+12"),
        ("clock_hz = 1.83e9", "clock_hz = 1830", r"clock_hz: 1830 .*slip of the unit"),
        ("sm_count = 132", "sm_count = 13.5", r"sm_count: must be a whole number, not 13\.5"),
        ("sm_count = 132", 'sm_count = "132"', r"sm_count: must be a number"),
        ("sm_count = 132", "sms = 132", r"sms: unknown key; known are id"),
        ("sm_count = 132\n", "", r"sm_count: missing"),
        ("warp_size = 32", "warpsize = 32", r"limits\.warpsize: unknown key"),
        ("[peaks.fp32]", "[peaks.single]", r"peaks\.single: unknown arithmetic class"),
        ('kind = "gpu"', 'kind = "tpu"', r'kind: must be "gpu" or "cpu"'),
        ("[limits]", "[limits", r"not a TOML file"),
        ("band = 0.25", "band = true", r"band: must be a number"),
    ],
)
def test_a_wrong_file_is_told_by_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = (DATA / "h200.toml").read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "mine.toml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(DeviceError, match=message) as caught:
        load(path)
    assert str(path) in str(caught.value)


def test_a_file_of_the_user_may_leave_sources_out(tmp_path: Path) -> None:
    text = (DATA / "h200.toml").read_text(encoding="utf-8").split("[sources]")[0]
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    assert read_device(path).sources == {}


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(DeviceError, match="cannot be read"):
        load(tmp_path / "none.toml")
