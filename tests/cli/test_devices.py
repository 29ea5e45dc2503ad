"""``tirlens devices``: this machine's devices, and a file of the user's own."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.terminal import shown
from tirlens.cli import main
from tirlens.hardware import DEFAULT_DEVICE, DeviceError, catalogue, detect, load
from tirlens.ide import labels


@pytest.fixture
def tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("platform.system", lambda: "Linux")
    detect.forget()
    yield tmp_path
    detect.forget()


def _nvidia_smi(folder: Path, rows: str) -> None:
    path = folder / "nvidia-smi"
    path.write_text(f'#!/bin/sh\ncase "$1" in --query*) echo "{rows}";; esac\n', encoding="utf-8")
    path.chmod(0o755)


def test_the_gpu_of_this_machine_with_what_differs(
    tools: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _nvidia_smi(tools, "NVIDIA H100 80GB HBM3, 9.0, 81559, 1980, 450.00")
    assert main(["devices", "--detect"]) == 0
    shown = capsys.readouterr().out
    assert "NVIDIA H100 80GB HBM3, 85.5 GB, up to 1.98 GHz, 450 W, sm_90" in shown
    assert "h100-sxm (NVIDIA H100 SXM5 80 GB)" in shown
    assert "power: limited to 450 W of 700 W" in shown
    assert 'extends = "h100-sxm"' in shown
    assert "estimates are for h100-sxm" in shown
    assert main(["devices", "--detect", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["default_device"] == "h100-sxm"
    (gpu,) = told["gpus"]
    assert (gpu["device"], gpu["exact"], len(gpu["differences"])) == ("h100-sxm", True, 1)
    assert told["cpu"]["cores"] == os.cpu_count()


def test_a_machine_without_a_gpu_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr("platform.system", lambda: "Linux")
    assert main(["devices", "--detect"]) == 0
    shown = capsys.readouterr().out
    assert "no GPU found: neither nvidia-smi nor rocm-smi" in shown
    assert "CPU: " in shown
    assert f"estimates are for {DEFAULT_DEVICE}" in shown


def test_an_unknown_gpu_asks_for_a_file(tools: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _nvidia_smi(tools, "NVIDIA RTX 9999, 99.0, 81559, 1980, 450.00")
    assert main(["devices", "--detect"]) == 0
    assert "not in the catalogue, nor is its architecture" in capsys.readouterr().out


def test_detect_takes_no_id(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "h100", "--detect"]) == 2
    assert "takes no ID" in capsys.readouterr().err


def test_a_file_of_the_user_is_shown_with_what_is_doubtful(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('extends = "h100-sxm"\n[l2]\nbytes_per_s = 5e13\n', encoding="utf-8")
    assert main(["devices", str(path)]) == 0
    shown = capsys.readouterr().out
    assert "NVIDIA H100 SXM5 80 GB, as ours.toml has it (ours)" in shown
    assert "doubtful: l2.bytes_per_s: 191.307 is not" in shown
    assert "ours.toml, without a source" in shown


def test_an_error_in_a_file_of_the_user_has_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "ours.toml"
    path.write_text('extends = "h100-sxm"\n[l2]\nbytes_per_s = 9800\n', encoding="utf-8")
    assert main(["devices", str(path)]) == 2
    said = capsys.readouterr().err
    assert f"{path}:3: l2.bytes_per_s: 9800 is not plausible" in said
    assert "slip of the unit" in said


def test_the_example_in_the_documentation_is_a_device(tmp_path: Path) -> None:
    page = Path(__file__).parents[2] / "server" / "docs" / "devices.md"
    example = page.read_text(encoding="utf-8").split("```toml\n")[1].split("```")[0]
    path = tmp_path / "our-h100.toml"
    path.write_text(example, encoding="utf-8")
    base, device = load("h100-sxm"), load(path)
    assert (device.id, device.name, device.tdp_w) == ("our-h100", "Our H100, 450 W", 450)
    assert device.peaks["tensor.float16"].sustained_fraction == 0.62
    assert device.peaks["tensor.float16"].flop_per_s == base.peaks["tensor.float16"].flop_per_s
    assert device.sources["dram.sustained_fraction"] == "our copy kernel, 2.98 TB/s"
    assert device.sources["dram.bytes"] == base.sources["dram.bytes"]
    path.write_text(example.replace("sustained_fraction = 0.89", "bytes_per_s = 3350"), "utf-8")
    with pytest.raises(DeviceError, match=r"our-h100\.toml:7: dram\.bytes_per_s: 3350 is not"):
        load(path)


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 80, 100, 120, 160])
def test_ids_and_numbers_are_whole_in_a_narrow_terminal(columns: int) -> None:
    page = shown([sys.executable, "-m", "tirlens", "devices"], columns, {"NO_COLOR": "1"})
    lines = page.splitlines()
    assert all(len(line) <= columns for line in lines)
    assert "…" not in page
    rows = {line.split()[0]: line for line in lines[2:] if line.strip()}
    assert set(rows) == set(catalogue())
    for name, row in rows.items():
        assert labels.rate(load(name).dram.bytes_per_s, "B") in row


@pytest.mark.slow
def test_no_color_holds_on_a_terminal() -> None:
    command = [sys.executable, "-m", "tirlens", "devices", "h100-sxm"]
    assert "\x1b[" in shown(command, 100, {"NO_COLOR": ""})
    assert "\x1b[" not in shown(command, 100, {"NO_COLOR": "1"})
