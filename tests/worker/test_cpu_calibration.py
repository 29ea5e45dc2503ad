"""The calibration's kernels under each supported TVM."""

from __future__ import annotations

from pathlib import Path

import pytest

from tirlens.cli.calibration import process
from tirlens.cli.calibration.cpu import measure
from tirlens.cli.errors import UsageError

pytestmark = pytest.mark.slow

# Small sizes for a quick test; the times are not meaningful.
SIZES = {
    "cores": 2,
    "lanes": 8,
    "vector": 8,
    "l2": 1 << 17,
    "crowded l2": 1 << 17,
    "l3": 1 << 20,
    "dram": 1 << 22,
    "pages 64": 64,
    "last": 1 << 21,
}
ALONE = {
    "call",
    "updates",
    "two sums",
    "two vector sums",
    "two integer sums",
    "max chain",
    "multiply-add chain",
    "integers",
    "narrow sums",
    "wide copies",
    "fill l2",
    "integer chain",
    "float chain",
    "sums",
    "copies",
    "chain",
    "divide",
    "polynomial",
    "exp",
}
BY_SIZE = {
    "crowded walk l2",
    "copy l3",
    "wide copy dram",
    "stream l3",
    "walk dram",
    "stream last 4/4",
    "pages 64",
    "parallel",
}


@pytest.mark.parametrize("host", [True, False])
def test_every_kernel_runs_and_takes_time(each_tvm_python: Path, host: bool) -> None:
    lanes = {} if host else {"lanes": 4, "vector": 4}
    runs, processor = measure(each_tvm_python, {**SIZES, **lanes}, host)
    assert processor
    assert host or processor == "x86-64"
    assert all(least <= second for least, second in runs.values())
    found = {name: least for name, (least, _) in runs.items()}
    assert found.keys() >= ALONE | BY_SIZE
    assert all(0 < seconds < 1e-3 for seconds in found.values()), found
    # Both chains are as long and no clock makes one result wait less than the other does.
    assert 0.4 < found["float chain"] / found["integer chain"] < 2.5
    # Vectors do eight elements at a time, the library one.
    assert found["polynomial"] < found["exp"]
    assert found["copies"] < found["float chain"]


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("echo 'no module named tvm' >&2; exit 1", "no module named tvm"),
        ("exec sleep 60", "within 1 s"),
    ],
)
def test_the_reason_of_a_failure_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    monkeypatch.setattr(process, "TIMEOUT_S", 1.0)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec sh -c "{program}"\n')
    python.chmod(0o755)
    with pytest.raises(UsageError, match=reason):
        measure(python, SIZES)


def test_a_python_that_cannot_be_started_says_so(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="calibrate"):
        measure(tmp_path / "python", SIZES)
