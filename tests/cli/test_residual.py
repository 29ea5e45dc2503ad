"""``tirlens residual``: the reasons of residuals, and a bundle from which nothing leaks."""

from __future__ import annotations

import csv
import getpass
import io
import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

# Each word with CANARY is something of the user: none may be in a bundle.
KERNELS = '''
"""Docstring: CANARY of a module."""
from tvm.script import tirx as T

CANARY_TEXT = "CANARY constant"
CANARY_SIZE = 1 << 22


# CANARY comment
def CANARY_factory(CANARY_rows):
    """CANARY docstring."""

    @T.prim_func(s_tir=True)
    def CANARY_scale(CANARY_in: T.Buffer((CANARY_rows, 256), "float32"),
                     CANARY_out: T.Buffer((CANARY_rows, 256), "float32")):
        T.func_attr({"CANARY_attribute": "CANARY value"})
        for CANARY_block in T.thread_binding(CANARY_rows, thread="blockIdx.x"):
            for CANARY_thread in T.thread_binding(256, thread="threadIdx.x"):
                # CANARY comment
                with T.sblock("CANARY_sblock"):
                    CANARY_row, CANARY_column = T.axis.remap("SS", [CANARY_block, CANARY_thread])
                    T.sblock_attr({"CANARY_block_attribute": "CANARY"})
                    CANARY_out[CANARY_row, CANARY_column] = (
                        CANARY_in[CANARY_row, CANARY_column] * T.float32(2)
                    )
    return CANARY_scale


kernel = CANARY_factory(16384)
'''
TRACE = (
    "file,kernel,call,bindings,measured_device,samples,measured_s,measured_p10_s,measured_p90_s,"
    "dram_read_bytes,dram_write_bytes,gpu_time_s,registers_per_thread,CANARY_column\n"
    "CANARY_model.py,CANARY_factory,CANARY_factory(16384),,{device},100,{time},{time},{time},"
    "{read},16777216,,,CANARY cell\n"
)
Residual = Callable[..., int]


@pytest.fixture
def residual(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tvm_python: Path) -> Residual:
    """Runs the command on a kernel of 33.5 MB, in a folder with a name of the user."""
    folder = tmp_path / "CANARY_home"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("CANARY_VARIABLE", "CANARY of the environment")
    Path("CANARY_model.py").write_text(KERNELS)

    def run(*options: str, time: float = 5e-5, read: float = 67e6,
            device: str = "NVIDIA H100 80GB HBM3") -> int:  # fmt: skip
        Path("CANARY_trace.csv").write_text(TRACE.format(device=device, time=time, read=read))
        return main(["residual", "CANARY_model.py", "--measured", "CANARY_trace.csv",
                     "--python", str(tvm_python), *options])  # fmt: skip

    return run


@pytest.mark.slow
def test_a_residual_has_its_mechanism(
    residual: Residual, capsys: pytest.CaptureFixture[str]
) -> None:
    assert residual("--format", "json") == 0
    (row,) = json.loads(capsys.readouterr().out)["residuals"]
    assert row["in_band"] == "above"
    (mechanism,) = row["mechanisms"]
    assert mechanism["name"] == "dram-bytes"
    assert mechanism["evidence"].startswith("DRAM bytes 2.5x the prediction: 83.8 MB, not 33.6 MB")
    assert residual("--format", "csv") == 0
    (cells,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert cells["mechanisms"] == "dram-bytes"
    assert residual("--format", "markdown") == 0
    assert "DRAM bytes 2.5x" in capsys.readouterr().out
    assert residual(read=0) == 0
    assert "no counter of the trace disagrees" in capsys.readouterr().out.replace("\n", " ")


@pytest.mark.slow
def test_the_report_of_a_trace_names_the_mechanism_too(
    residual: Residual, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert residual("--format", "json") == 0
    (expected,) = json.loads(capsys.readouterr().out)["residuals"]
    report = ["report", "CANARY_model.py", "--measured", "CANARY_trace.csv",
              "--python", str(tvm_python)]  # fmt: skip
    assert main(report) == 0
    assert "DRAM bytes 2.5x the prediction" in capsys.readouterr().out
    assert main([*report, "--format", "json"]) == 0
    (kernel,) = json.loads(capsys.readouterr().out)["kernels"]
    assert kernel["mechanisms"] == expected["mechanisms"]


@pytest.mark.slow
def test_nothing_of_the_user_is_in_a_bundle(
    residual: Residual, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert residual("--bundle", "bundle.json", "--yes", device="NVIDIA H100 of CANARY") == 0
    printed = capsys.readouterr().err
    text = Path("bundle.json").read_text()
    # It is displayed before it is written, as a whole.
    assert text in printed
    for word in (
        "canary", str(Path.cwd()), str(Path.home()), str(tvm_python), socket.gethostname(),
        getpass.getuser(), "model.py",
    ):  # fmt: skip
        assert re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is None, word
    assert "canary" not in text.lower()
    assert "float32" in text
    document = json.loads(text)
    (kernel,) = document["kernels"]
    assert kernel["device"] == "h100-sxm"
    assert kernel["measured"]["device_name"] is None
    assert kernel["measured"]["counters"] == {"dram_read_bytes": 67e6, "dram_write_bytes": 16777216}


@pytest.mark.slow
def test_a_maintainer_evaluates_the_bundle(
    residual: Residual, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    assert residual("--bundle", "bundle.json", "--yes", "--format", "json") == 0
    (before,) = json.loads(capsys.readouterr().out)["residuals"]
    bundle = tmp_path / "bundle.json"
    Path("bundle.json").rename(bundle)
    monkeypatch.chdir(tmp_path)
    assert main(["residual", "bundle.json", "--format", "json"]) == 0
    (now,) = json.loads(capsys.readouterr().out)["residuals"]
    same = ("measured_s", "predicted_s", "predicted_band_s", "ratio", "in_band", "device")
    assert {name: now[name] for name in same} == {name: before[name] for name in same}
    assert [item["name"] for item in now["mechanisms"]] == ["dram-bytes"]
    assert now["predicted_when_written_s"] == before["predicted_s"]
    assert now["kernel"].startswith("kernel")
    # The band of another version of the model is not that of the bundle.
    data = json.loads(bundle.read_text())
    data["kernels"][0]["predicted"]["time_s"] = 1e-3
    bundle.write_text(json.dumps(data))
    assert main(["residual", "bundle.json"]) == 0
    assert "predicted 1 ms by TIRLens" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
def test_without_an_answer_nothing_is_written(
    residual: Residual, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert residual("--bundle", "bundle.json") == 1
    assert "give --yes" in capsys.readouterr().err
    for answer, written in (("n\n", False), ("", False), ("y\n", True)):
        terminal = io.StringIO(answer)
        terminal.isatty = lambda: True  # type: ignore[method-assign]
        monkeypatch.setattr(sys, "stdin", terminal)
        assert residual("--bundle", "bundle.json") == (0 if written else 1)
        assert "Write bundle.json? [y/N]" in capsys.readouterr().err
        assert Path("bundle.json").exists() is written


@pytest.mark.slow
def test_names_are_kept_where_the_user_asks_for_it(residual: Residual) -> None:
    assert residual("--bundle", "bundle.json", "--yes", "--keep-names") == 0
    text = Path("bundle.json").read_text()
    assert "CANARY_in" in text
    assert "CANARY_factory" in text
    for word in ("comment", "docstring", "constant", "CANARY_home", "CANARY_block", "value"):
        assert word not in text


def damaged(text: str) -> dict[str, str]:
    return {
        "cut": text[: len(text) // 2],
        "other": '{"a": 1}',
        "python": "import tvm\n",
        "version": text.replace('"tirlens_residual_bundle": 1', '"tirlens_residual_bundle": 2'),
        "device": text.replace('"h100-sxm"', '"\\u001b[31m/etc/passwd"'),
    }


@pytest.mark.slow
def test_a_damaged_bundle_is_refused(
    residual: Residual, capsys: pytest.CaptureFixture[str]
) -> None:
    assert residual("--bundle", "bundle.json", "--yes") == 0
    capsys.readouterr()
    for name, text in damaged(Path("bundle.json").read_text()).items():
        Path(f"{name}.json").write_text(text)
        assert main(["residual", f"{name}.json"]) == 2
        said = capsys.readouterr().err
        assert said.startswith("tirlens: ")
        assert "\x1b" not in said
        assert "Traceback" not in said


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "needs --measured TRACE, or one bundle"),
        (["none.json"], "needs --measured TRACE, or one bundle"),
        (["a.py", "--yes"], "--yes needs --bundle"),
        (["--measured", "none.csv"], "none.csv: no such file"),
    ],
)
def test_wrong_usage(
    options: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    assert main(["residual", *options]) == 2
    assert message in capsys.readouterr().err


def test_the_command_is_completed_and_explained() -> None:
    command = [sys.executable, "-m", "tirlens", "residual", "--help"]
    text: Any = subprocess.run(
        command, capture_output=True, text=True, check=True, env={**os.environ, "COLUMNS": "200"}
    ).stdout
    for option in ("--measured", "--bundle", "--keep-names", "--yes", "--signpost"):
        assert option in text
