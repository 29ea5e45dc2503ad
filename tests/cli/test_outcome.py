"""The exit status: 1 where a kernel has no figures, 0 where only a notice was given."""

from __future__ import annotations

import pytest

from support.kernels import gemm
from tirlens.cli.outcome import status
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.pipeline import FileReport
from tirlens_worker.facts import Span
from tirlens_worker.protocol import NeedsArguments, Problem

KERNEL = analyze(gemm(), load("h100-sxm"))
IMPORT = Problem("import", "No module named 'flash_attn'", Span(3, 0, 3, 5))


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        (FileReport((KERNEL,)), 0),
        (FileReport((KERNEL,), (IMPORT,)), 0),
        (FileReport((), (IMPORT,)), 1),
        (FileReport((KERNEL,), (Problem("trace", "of another kernel", kernel="other"),)), 1),
        (FileReport((KERNEL,), (Problem("directive", "no such device"),)), 1),
        (FileReport((KERNEL,), (Problem("timeout", "stopped after 20 s"),)), 1),
        (FileReport((KERNEL,), (), (NeedsArguments("other", ("N",), Span(1, 0, 1, 0)),)), 1),
        (FileReport((KERNEL.replace(flop=None, status="needs-bindings"),)), 1),
    ],
)
def test_the_status_of_one_file(report: FileReport, expected: int) -> None:
    assert status([report]) == expected
    assert status([FileReport((KERNEL,)), report]) == expected
