"""Where nvcc and nvdisasm are found, in which order, and what is said where they are not."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tirlens.cli import main
from tirlens.worker_client import toolchain, toolchain_installation
from tirlens.worker_client.toolchain import find_toolchain, version_of

#: The places in the order in which they are searched: where a tool is, and its source.
PLACES = {
    "home/bin": "CUDA_HOME",
    "path": "PATH",
    "env/lib/python3.11/site-packages/nvidia/cu13/bin": "package nvidia-cuda-{}",
    "cache/tirlens/toolchain/nvidia/cu13/bin": "TIRLens's cache",
}


def put(folder: Path, name: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    program = folder / (name + toolchain._SUFFIX)
    program.write_text("#!/bin/sh\necho 'Cuda compilation tools, release 13.5, V13.5.37'\n")
    program.chmod(0o755)


@pytest.fixture
def environ(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setattr(toolchain, "toolchain_folder", lambda: tmp_path / "cache/tirlens/toolchain")
    monkeypatch.setattr(toolchain_installation, "toolchain_folder", toolchain.toolchain_folder)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "user")
    return {"CUDA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path / "path")}


@pytest.mark.parametrize("first", range(len(PLACES)))
def test_the_first_place_that_has_a_tool(
    tmp_path: Path, environ: dict[str, str], first: int
) -> None:
    """Each tool for itself: nvcc is in the places from `first` on, nvdisasm in the last alone."""
    folders = list(PLACES)
    for folder in folders[first:]:
        put(tmp_path / folder, "nvcc")
    put(tmp_path / folders[-1], "nvdisasm")
    found = find_toolchain(tmp_path / "env/bin/python", environ)
    assert found.missing == ()
    assert found.nvcc is not None and found.nvdisasm is not None
    assert found.nvcc.source == PLACES[folders[first]].format("nvcc")
    assert found.nvcc.path.parent == tmp_path / folders[first]
    assert found.nvdisasm.source == "TIRLens's cache"


def test_packages_of_cuda_12_and_of_no_environment(tmp_path: Path, environ: dict[str, str]) -> None:
    put(tmp_path / "env/lib/python3.9/site-packages/nvidia/cuda_nvcc/bin", "nvcc")
    found = find_toolchain(tmp_path / "env/bin/python", environ)
    assert found.nvcc is not None and found.missing == ("nvdisasm",)
    assert found.compiler.nvcc == str(found.nvcc.path) and found.compiler.nvdisasm == ""
    assert find_toolchain(None, environ).missing == ("nvcc", "nvdisasm")


@pytest.mark.skipif(os.name == "nt", reason="a script is no program there")
def test_version(tmp_path: Path, environ: dict[str, str]) -> None:
    put(tmp_path / "path", "nvcc")
    (tmp_path / "path/nvdisasm").write_text("no program")
    found = find_toolchain(None, environ)
    assert found.nvcc is not None and version_of(found.nvcc) == "13.5.37"
    assert found.missing == ("nvdisasm",)


def test_what_is_printed_where_there_is_none(
    tmp_path: Path,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.delenv("CUDA_HOME", raising=False)
    monkeypatch.delenv("CUDA_PATH", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert main(["toolchain", "--python", str(tmp_path / "env/bin/python")]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["nvcc", "nvdisasm"]
    assert all("tirlens toolchain install" in line for line in lines)


@pytest.mark.slow
def test_a_failed_installation_leaves_what_is_there(
    tmp_path: Path,
    environ: dict[str, str],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    put(tmp_path / "cache/tirlens/toolchain/nvidia/cu13/bin", "nvcc")
    monkeypatch.setattr(toolchain_installation, "PACKAGES", ("nvidia-cuda-nvcc",))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "none"))
    assert main(["toolchain", "install"]) == 1
    assert "not installed" in capsys.readouterr().err
    assert find_toolchain(None, {"PATH": ""}).nvcc is not None
    assert [path.name for path in (tmp_path / "cache/tirlens").iterdir()] == ["toolchain"]
