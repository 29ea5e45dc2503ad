"""What a hover says of a kernel, beyond the figures that other tests compare."""

from __future__ import annotations

from dataclasses import replace

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.ide import hovers
from tirlens.model import analyze


def test_the_band_says_what_makes_it_wide() -> None:
    report = replace(
        analyze(gemm(), load("h200")),
        time_band_s=(1e-6, 2e-6),
        uncertainty={"rate": 0.1, "reuse": 0.2, "launch": 0.001, "waits": 0.0},
    )
    assert "| band | 1 us to 2 us: re-reads 22%, rate 11% |" in hovers.kernel(report)
    assert "| band | 1 us to 2 us |" in hovers.kernel(replace(report, uncertainty={}))
    assert "| band |" not in hovers.kernel(replace(report, time_band_s=None))
