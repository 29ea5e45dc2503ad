"""What the drivers' tools print, as recorded on real machines, and the entries that it leads to."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from support.robust import is_in_time
from tirlens.hardware import detect, load
from tirlens.hardware.detect import FoundGpu, identify, parse_apple, parse_nvidia, parse_rocm

QUERY = ("name", "compute_cap", "memory.total", "clocks.max.sm", "power.limit")


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # Names and memory as public logs have them.
        ("NVIDIA H100 80GB HBM3, 9.0, 81559, 1980, 700.00", "h100-sxm"),
        ("NVIDIA H100 PCIe, 9.0, 81559, 1755, 350.00", "h100-pcie"),
        ("NVIDIA H100 NVL, 9.0, 95830, 1785, 400.00", "h100-nvl"),
        ("NVIDIA H200, 9.0, 143771, 1980, 700.00", "h200"),
        ("NVIDIA H20, 9.0, 97871, 1980, 500.00", "h20"),
        ("NVIDIA H800, 9.0, 81559, 1980, 700.00", "h800-sxm"),
        ("NVIDIA GH200 480GB, 9.0, 97871, 1980, 900.00", "gh200"),
        ("NVIDIA A100-SXM4-80GB, 8.0, 81920, 1410, 400.00", "a100-80-sxm"),
        ("NVIDIA A100-SXM4-40GB, 8.0, 40960, 1410, 400.00", "a100-40-sxm"),
        ("NVIDIA A100 80GB PCIe, 8.0, 81920, 1410, 300.00", "a100-80-pcie"),
        ("NVIDIA A100-PCIE-40GB, 8.0, 40960, 1410, 250.00", "a100-40-pcie"),
        ("NVIDIA A10, 8.6, 23028, 1695, 150.00", "a10"),
        ("NVIDIA A30, 8.0, 24576, 1440, 165.00", "a30"),
        ("NVIDIA L40S, 8.9, 46068, 2520, 350.00", "l40s"),
        ("NVIDIA L40, 8.9, 46068, 2490, 300.00", "l40"),
        ("NVIDIA L4, 8.9, 23034, 2040, 72.00", "l4"),
        ("NVIDIA B200, 10.0, 183359, 1965, 1000.00", "b200"),
        ("NVIDIA GB200, 10.0, 189471, 2062, 1200.00", "gb200"),
        ("NVIDIA GeForce RTX 5090, 12.0, 32607, 2407, 575.00", "rtx-5090"),
        ("NVIDIA GeForce RTX 3090, 8.6, 24576, 1695, 350.00", "rtx-3090"),
        ("Tesla T4, 7.5, 15360, 1590, 70.00", "t4"),
        ("Tesla V100-SXM2-32GB, 7.0, 32768, 1530, 300.00", "v100-sxm2"),
        ("Tesla V100-PCIE-32GB, 7.0, 32768, 1380, 250.00", "v100-pcie"),
        ("Tesla P100-PCIE-16GB, 6.0, 16384, 1328, 250.00", "p100-pcie"),
        ("Tesla P4, 6.1, 7680, 1114, 75.00", "p4"),
    ],
)
def test_a_board_of_the_catalogue_is_known_by_its_name(line: str, expected: str) -> None:
    (gpu,) = parse_nvidia(line)
    match = identify(gpu)
    assert match.device is not None
    assert (match.device.id, match.exact, match.differences) == (expected, True, ())


@pytest.mark.parametrize(
    ("line", "nearest", "differences"),
    [
        (
            "NVIDIA GeForce RTX 4090, 8.9, 24564, 3165, 450.00",
            "rtx-4090",
            ("clock: up to 3165 MHz here, rated at 2520 MHz",),
        ),
        (
            "NVIDIA GeForce RTX 4090, 8.9, 49140, 2520, 300.00",
            "rtx-4090",
            ("memory: 51.53 GB here, 24 GB", "power: limited to 300 W of 450 W"),
        ),
        (
            "NVIDIA GeForce RTX 3080 Ti, 8.6, 12288, 1710, 320.00",
            "rtx-3080",
            ("not in the catalogue: rtx-3080 is only", "memory: 12.88 GB here"),
        ),
        (
            "NVIDIA A10G, 8.6, 23028, 1710, 150.00",
            "a10",
            ("not in the catalogue: a10 is only",),
        ),
        (
            "NVIDIA H20-3e, 9.0, 143771, 1980, 500.00",
            "h20",
            ("not in the catalogue: h20", "memory: 150.8 GB here, 96 GB"),
        ),
        (
            "NVIDIA GeForce RTX 4070, 8.9, 12282, 3105, 200.00",
            "rtx-4090",
            ("not in the catalogue: rtx-4090", "memory", "clock", "power"),
        ),
    ],
)
def test_what_differs_from_the_entry_is_told(
    line: str, nearest: str, differences: tuple[str, ...]
) -> None:
    match = identify(parse_nvidia(line)[0])
    assert match.device is not None
    assert match.device.id == nearest
    assert [
        told.startswith(start) for told, start in zip(match.differences, differences, strict=True)
    ] == [True] * len(differences)


def test_an_unknown_architecture_has_no_entry() -> None:
    match = identify(FoundGpu("NVIDIA RTX 9999", "NVIDIA", "sm_999"))
    assert (match.device, match.exact) == (None, False)


def test_what_a_board_does_not_tell_is_none() -> None:
    (gpu,) = parse_nvidia("GRID A100-10C, [N/A], 10240, [N/A], [Not Supported]")
    assert gpu == FoundGpu("GRID A100-10C", "NVIDIA", None, 10240 << 20, None, None)


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n",
        'Field "compute_cap" is not a valid field to query.\n',
        "No devices were found\n",
        "Failed to initialize NVML: Driver/library version mismatch\n",
    ],
)
def test_a_driver_that_does_not_run_has_no_gpus(text: str | None) -> None:
    assert parse_nvidia(text) == ()


# From a guide to MIG in public documentation, identifiers shortened.
MIG_LISTING = """\
GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-9c73eb7b)
  MIG 1g.10gb     Device  0: (UUID: MIG-a686709d)
  MIG 1g.10gb     Device  1: (UUID: MIG-53864714)
GPU 1: NVIDIA A100-SXM4-80GB (UUID: GPU-c92e2d5d)
"""


def test_a_gpu_in_parts_is_told() -> None:
    row = "NVIDIA A100-SXM4-80GB, 8.0, 81920, 1410, 400.00\n"
    first, second = detect.with_mig(parse_nvidia(row * 2), MIG_LISTING)
    assert (first.mig, second.mig) == (("1g.10gb", "1g.10gb"), ())
    assert identify(first).differences[0].startswith("MIG: split into 1g.10gb, 1g.10gb;")
    assert identify(second).differences == ()


# Shortened from the recording in wandb/wandb (nexus, gpu_amd.go).
ROCM_5 = """{"card0": {"GPU ID": "0x740c", "Card series": "AMD INSTINCT MI250 (MCM) OAM AC MBA",
"Card model": "0x0b0c", "Card SKU": "D65209"}, "system": {"Driver version": "6.2.4"}}"""
# Keys as of ROCm 6 (rocm-smi 3.0), as tests of public tools have them.
ROCM_6 = """{"card0": {"Card Series": "AMD Instinct MI300X OAM", "Card Model": "0x74a1",
"GFX Version": "gfx942", "VRAM Total Memory (B)": "206158430208"},
"card1": {"Card Series": "AMD Instinct MI210", "GFX Version": "gfx90a",
"VRAM Total Memory (B)": "68719476736"}, "system": {"Driver version": "6.8.5"}}"""


def test_amd_gpus_are_read_in_both_spellings() -> None:
    assert parse_rocm(ROCM_5) == (FoundGpu("AMD INSTINCT MI250 (MCM) OAM AC MBA", "AMD"),)
    found = [identify(gpu) for gpu in parse_rocm(f"WARNING: low power\n{ROCM_6}")]
    assert [match.device.id if match.device else None for match in found] == ["mi300x", "mi210"]
    assert all(match.exact and not match.differences for match in found)


@pytest.mark.parametrize("text", [None, "", "{", "Driver not initialized", '{"system": {}}'])
def test_no_amd_gpus(text: str | None) -> None:
    assert parse_rocm(text) == ()


@pytest.mark.parametrize(
    ("brand", "expected"),
    [
        ("Apple M1\n", "apple-m1"),
        ("Apple M2 Max\n", "apple-m2-max"),
        ("Apple M2 Pro\n", None),
        ("Apple M9\n", None),
    ],
)
def test_apple_chips(brand: str, expected: str | None) -> None:
    (gpu,) = parse_apple(brand)
    device = identify(gpu).device
    assert (device.id if device else None) == expected


def test_an_intel_mac_has_no_entry() -> None:
    assert parse_apple("Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz\n") == ()


def _tool(folder: Path, name: str, body: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the PATH before all others; nothing is known of the machine before and after."""
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    detect.forget()
    yield tmp_path
    detect.forget()


def test_an_old_driver_is_asked_for_less(tools: Path) -> None:
    _tool(
        tools,
        "nvidia-smi",
        """case "$1" in
  *compute_cap*) echo 'Field "compute_cap" is not a valid field to query.'; exit 2;;
  --query*) echo 'Tesla T4, 15109, 1590, 70.00';;
  -L) echo 'GPU 0: Tesla T4 (UUID: GPU-1)';;
esac""",
    )
    assert detect.machine_device() == load("t4")


def test_what_the_entry_does_not_know_is_a_caveat_of_the_machine(tools: Path) -> None:
    _tool(
        tools,
        "nvidia-smi",
        """case "$1" in
  --query*) echo 'NVIDIA GeForce RTX 4070, 8.9, 12282, 2520, 450.00';;
esac""",
    )
    device = detect.machine_device()
    assert device is not None
    assert device.id == "rtx-4090"
    assert [caveat.partition(" of this machine: ")[0] for caveat in device.caveats] == [
        "NVIDIA GeForce RTX 4070",
        "NVIDIA GeForce RTX 4070",
    ]
    assert "rtx-4090 is only the nearest entry" in device.caveats[0]
    assert "memory: 12.88 GB here" in device.caveats[1]


def test_a_tool_that_hangs_is_given_up(tools: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(detect, "TIMEOUT_S", 0.2)
    _tool(tools, "nvidia-smi", "exec sleep 20")
    _tool(tools, "rocm-smi", "exec sleep 20")
    started = time.monotonic()
    assert detect.machine_device() is None
    assert is_in_time(started, 5)


def test_the_driver_is_asked_once_whoever_asks(tools: Path) -> None:
    log = tools / "asked"
    _tool(
        tools,
        "nvidia-smi",
        f"""echo "$1" >> {log}
sleep 0.2
case "$1" in
  --query*) echo 'NVIDIA L4, 8.9, 23034, 2040, 72.00';;
  -L) echo 'GPU 0: NVIDIA L4 (UUID: GPU-1)';;
esac""",
    )
    _tool(tools, "rocm-smi", "exit 1")
    threads = [Thread(target=detect.machine_device) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert detect.machine_device() == load("l4")
    assert len(log.read_text(encoding="utf-8").splitlines()) == 2


def test_the_version_of_a_driver() -> None:
    assert detect.parse_nvidia_driver("580.95.05\n580.95.05\n") == "580.95.05"
    assert detect.parse_nvidia_driver("NVIDIA-SMI has failed because ...\n") is None
    assert detect.parse_nvidia_driver(None) is None
    rocm = '{"system": {"Driver version": "6.10.5"}}'
    assert detect.parse_rocm_driver(rocm) == "6.10.5"
    assert detect.parse_rocm_driver("ERROR: no GPU") is None
