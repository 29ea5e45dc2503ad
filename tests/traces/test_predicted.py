"""Predicted kernels as rows of the performance report."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.kernels import gemm, scale
from tirlens.captured.order import LaunchOrder, OrderedLaunch, Repeat
from tirlens.cli import main
from tirlens.hardware import load
from tirlens.measured.performance.predicted import predicted_rows
from tirlens.measured.performance.predicted_order import ordered_operations
from tirlens.measured.performance.rates import BOUND_FRACTION
from tirlens.measured.timeline import step_of
from tirlens.model import analyze
from tirlens.model.report import KernelReport

BOUNDS = {
    (False, False): "SLOW",
    (False, True): "FLOP",
    (True, False): "DRAM",
    (True, True): "BOTH",
}
EXAMPLE = Path(__file__).parent.parent / "examples" / "gemm_tilelang.py"


def report(facts: Any, device: str = "h100-sxm", **changes: Any) -> KernelReport:
    return replace(analyze(facts, load(device)), **changes)


@pytest.mark.parametrize("device", ["h100-sxm", "mi300x", "wormhole-n150"])
def test_figures_are_those_of_the_report(device: str) -> None:
    kernel = report(gemm(), device)
    (row,) = predicted_rows([("a.py", kernel)])
    operation = row.operation
    assert (operation.time_s, operation.flop) == (kernel.time_s, kernel.flop)
    assert operation.dram_bytes == kernel.dram_bytes.total
    assert row.share == 1.0
    assert row.flop_fraction == pytest.approx(kernel.peak_fraction)
    assert row.dram_fraction == pytest.approx(kernel.dram_fraction)
    assert operation.attributes.get("math fidelity") == kernel.math_fidelity


@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "wormhole-n150"])
def test_bound_classes_are_those_of_measured_operations(device: str) -> None:
    kernels = [gemm(4096, 4096, 8192), gemm(512, 512, 512), scale(1 << 28)]
    rows = predicted_rows([("a.py", report(facts, device)) for facts in kernels])
    assert rows[-1].bound == "DRAM"
    for row in rows:
        assert row.dram_fraction is not None and row.flop_fraction is not None
        above = (row.dram_fraction >= BOUND_FRACTION, row.flop_fraction >= BOUND_FRACTION)
        assert row.bound == BOUNDS[above]


def test_cores_are_the_sms_that_have_a_block() -> None:
    few, many = predicted_rows(
        [("a.py", report(gemm(512, 512, 4096))), ("a.py", report(gemm(8192, 8192, 4096)))]
    )
    assert (few.operation.cores, many.operation.cores) == (16, 132)
    (bound,) = predicted_rows([("a.py", report(gemm(), "wormhole-n150"))])
    assert bound.operation.cores == 64


def test_captured_calls_count_as_often_as_they_are_launched() -> None:
    kernels = [("a.py", report(gemm(), launches=12)), ("a.py", report(scale(1 << 20), launches=3))]
    first, second = predicted_rows(kernels, by_launches=True)
    assert first.operation.executions == 12
    assert first.operation.time_s == pytest.approx(12 * (kernels[0][1].time_s or 0))
    assert first.share is not None and second.share is not None
    assert first.share + second.share == pytest.approx(1.0)
    # Rates do not depend on how often it ran.
    (once, _) = predicted_rows(kernels)
    assert first.flop_per_s == pytest.approx(once.flop_per_s)
    assert (once.number, second.number) == (1, 2)


def test_what_is_not_known_is_empty_and_versions_count_once() -> None:
    unknown = report(gemm(), time_s=None, status="no-time", flop_per_s=None, dram_bytes_per_s=None)
    earlier = report(gemm(), is_last_version=False)
    row, last = predicted_rows([("a.py", unknown), ("a.py", earlier), ("a.py", report(gemm()))])
    assert (row.share, row.bound, row.operation.time_s) == (None, None, None)
    assert last.share == 1.0


@pytest.mark.slow
def test_the_command(
    tilelang_python: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "rows.csv"
    options = ["report", str(EXAMPLE), "--python", str(tilelang_python), "--no-lower"]
    assert main([*options, "--performance", "--csv", str(table), "--no-color"]) == 0
    header, *_ = (line for line in capsys.readouterr().out.splitlines() if line.strip())
    assert header.split()[:4] == ["ID", "Total", "%", "Bound"]
    with table.open() as file:
        rows = list(csv.DictReader(file))
    assert main([*options, "--performance", "--format", "json"]) == 0
    operations = json.loads(capsys.readouterr().out)["operations"]
    assert [float(row["Device Time"]) for row in rows] == pytest.approx(
        [each["time_s"] * 1e6 for each in operations]
    )
    page = tmp_path / "step.html"
    assert main([*options, "--performance", "--html", str(page), "--format", "json"]) == 0
    embedded = re.search('id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert embedded is not None
    step = json.loads(embedded[1])
    assert [one["title"] for one in step["tables"]] == ["Kernels", "Operations"]
    assert step["timeline"] is None and "no order" in step["notes"][0]
    assert [name for name, _, _ in step["tiles"]][-1] == "cost of launches"
    capsys.readouterr()
    assert main([*options, "--format", "csv"]) == 0
    assert capsys.readouterr().out == table.read_text()


def test_captured_launches_have_a_timeline() -> None:
    kernel = report(gemm(512, 512, 512), launches=5)
    launch_s = next(entry.time_s for entry in kernel.loops if entry.kind == "launch")
    assert kernel.time_s is not None and launch_s
    inner = OrderedLaunch(("gemm",))
    first = replace(inner, graph="begin")
    order = LaunchOrder(
        (inner, OrderedLaunch(None, "torch.matmul"), first, replace(inner, graph="inside")),
        (0, 1, 0, Repeat(2, (2, 3))),
    )
    pairs = list(
        ordered_operations(order, lambda one: kernel if one.call else None, "", "captured.json")
    )
    step = step_of((one for one, _ in pairs), (least_s for _, least_s in pairs))
    assert (step.clock, step.executions, step.untimed, step.unknown_gaps) == ("order", 6, 1, 1)
    assert step.idle_s == pytest.approx(4 * launch_s)
    # Inside of each of the two replays; the gap between them is the stream's.
    assert step.devices[0].graph_gap_s == pytest.approx(2 * launch_s)
    assert step.wall_s == pytest.approx(6 * kernel.time_s - 2 * launch_s)
    assert step.kernels[0].reachable_s == pytest.approx(6 * (kernel.roofline_time_s or 0))
