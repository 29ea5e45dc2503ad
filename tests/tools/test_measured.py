"""Measured times that are stored beside a file, with the predictions for the same calls."""

from __future__ import annotations

from datetime import datetime, timezone
from pathlib import Path

import pytest

import tirlens
from support.robust import kernel
from tirlens.measured.matching.stored_names import FILE_NAME
from tirlens.measured.matching.stored_times import StoredTime, store

pytestmark = pytest.mark.slow


def stored(device: str, time_s: float, call: str = "scale") -> StoredTime:
    measured_at = datetime(2026, 11, 1, tzinfo=timezone.utc)
    return StoredTime("scale.py", "scale", "scale", call, device, time_s, measured_at, "ncu")


def test_measured_beside_predicted(tmp_path: Path, tvm_python: Path) -> None:
    (tmp_path / "scale.py").write_text(kernel(1 << 20))
    with tirlens.Client(tmp_path, python=tvm_python) as client:
        with pytest.raises(tirlens.ToolError, match="--record") as caught:
            client.measured_times("scale.py")
        assert caught.value.kind == "no-times"
        (predicted,) = client.estimate("scale.py").kernels
        assert predicted.time_s is not None
        times = [stored("h100-sxm", 1.1 * predicted.time_s), stored("a100-80-sxm", 1e-3)]
        store(tmp_path / FILE_NAME, times)
        here, other = client.measured_times("scale.py").measured
        assert (here.measured_on, other.measured_on) == ("h100-sxm", "a100-80-sxm")
        assert here.ratio == pytest.approx(1.1, rel=1e-3)
        assert here.is_in_band is True
        assert (other.ratio, other.is_in_band) == (None, None), "that of another device"
        (there,) = client.measured_times("scale.py", device="a100-80-sxm", limit=1).measured
        assert there.measured_on == there.device == "a100-80-sxm"
        assert there.is_in_band is False
