"""``tirlens report --measured``: the part with the step, its JSON and its page."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

SAMPLES = Path(__file__).with_name("samples")
US = 1e6


def event(name: str, start_us: float, time_us: float, **fields: Any) -> dict[str, Any]:
    """A kernel of a trace of torch.profiler."""
    args = {"device": 0, "stream": 7, "correlation": int(start_us), **fields}
    return {
        "ph": "X", "cat": "kernel", "name": name, "pid": args["device"], "tid": args["stream"],
        "ts": start_us, "dur": time_us, "args": args,
    }  # fmt: skip


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    """Two streams that overlap, a gap, a hundred small operations."""
    events = [
        event("sm90_xmma_gemm_bf16", 1000, 400),
        event("ncclDevKernel_AllReduce_Sum", 1200, 300, stream=20),
        event("flash_fwd_kernel", 1600, 200),
        *(event("silu_kernel", 1800 + 2 * index, 2) for index in range(100)),
    ]
    path = tmp_path / "step.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    return path


def step(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert main(["report", "--measured", *arguments, "--format", "json"]) == 0
    return json.loads(capsys.readouterr().out)["step"]


def test_the_parts_and_the_idle_time_are_the_wall_time(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = step(capsys, str(trace))
    assert found["wall_s"] * US == pytest.approx(1000) and found["idle_s"] * US == pytest.approx(
        100
    )
    parts = {one["category"]: one["part_s"] * US for one in found["categories"]}
    assert parts == pytest.approx(
        {"product": 300, "collective": 200, "attention": 200, "elementwise": 200}
    )
    alone = {one["category"]: one["alone_s"] * US for one in found["categories"]}
    assert alone["product"] == pytest.approx(200) and alone["collective"] == pytest.approx(100)


def test_small_operations_that_the_table_leaves_out_are_no_gaps(
    trace: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = step(capsys, str(trace), "--min-percentage", "5")
    assert found["idle_s"] * US == pytest.approx(100)
    assert sum(one["executions"] for one in found["kernels"]) == 103


def test_the_table(trace: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["report", "--measured", str(trace), "--no-color"])
    out = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in out.splitlines() if line.strip()}
    assert (
        rows["product"][-6:] == ["400", "us", "30%", "200", "us"][-6:] or "30%" in rows["product"]
    )
    assert "10%" in rows["idle"] and "1" in rows["idle"]
    assert re.search(r"gap of 100 us after ncclDevKernel_AllReduce_Sum, before flash_fwd", out)


def test_the_page(trace: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    assert main(["report", "--measured", str(trace), "--html", str(page)]) == 0
    html = page.read_text()
    embedded = re.search('id="data">(.*?)</script>', html, re.DOTALL)
    assert embedded is not None
    data = json.loads(embedded[1])
    assert data["title"] == "step.json"
    assert [lane["operations"] for lane in data["timeline"]["devices"][0]["lanes"]] == [102, 1]
    assert [table["title"] for table in data["tables"]] == ["Kernels", "Operations"]


@pytest.mark.parametrize(
    "path", sorted(SAMPLES.glob("tenstorrent_*.csv")), ids=lambda path: path.stem
)
def test_devices_that_the_table_merges_are_apart_in_the_timeline(
    path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Idle and busy time are the wall time of all devices, and no gap is negative."""
    found = step(capsys, str(path))
    devices = found["devices"]
    assert len(devices) == (8 if "8_devices" in path.stem else 1)
    for device in devices:
        assert device["busy_s"] + device["idle_s"] == pytest.approx(device["wall_s"])
        assert device["idle_s"] >= 0
    assert found["wall_s"] == pytest.approx(sum(device["wall_s"] for device in devices))


def test_a_range_of_merged_operations_has_no_begins(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "tenstorrent_blackhole_8_devices_deepseek.csv")
    whole = step(capsys, path)
    some = step(capsys, path, "--id-range", "-20")
    assert whole["clock"] == "trace" and some["clock"] == "order"
    assert 0 < some["sum_s"] < whole["sum_s"]


def test_the_gaps_of_the_table_are_the_idle_time_of_the_step(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is launched first waits for its stream; another stream fills the time meanwhile."""
    events: list[dict[str, Any]] = [
        event("gemm", 1000, 100, correlation=1),
        event("late", 1500, 100, correlation=2),
        event("fill", 1100, 380, stream=20, correlation=3),
        *(
            {
                "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9,
                "ts": 900 + number, "dur": 1, "args": {"correlation": number},
            }
            for number in (1, 2, 3)
        ),
        {
            "ph": "X", "cat": "user_annotation", "name": "step", "pid": 9, "tid": 9, "ts": 890,
            "dur": 100, "args": {},
        },
    ]  # fmt: skip
    path = tmp_path / "step.json"
    path.write_text(json.dumps({"schemaVersion": 1, "deviceProperties": [], "traceEvents": events}))
    assert main(["report", "--measured", str(path), "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    gaps = {one["name"]: one["gap_s"] for one in data["operations"] if one["kind"] != "host"}
    assert gaps["late"] * US == pytest.approx(20) and gaps["fill"] == 0
    assert data["step"]["idle_s"] * US == pytest.approx(20)


def test_the_page_of_two_runs(trace: Path, tmp_path: Path) -> None:
    """Products are faster by a fifth, a kernel is new, and the bars are on one scale."""
    data = json.loads(trace.read_text())
    for one in data["traceEvents"]:
        if "gemm" in one["name"]:
            one["dur"] = 320
    data["traceEvents"].append(event("added_kernel", 2100, 50))
    now = tmp_path / "now.json"
    now.write_text(json.dumps(data))
    page = tmp_path / "changes.html"
    main(["compare", "--measured", str(trace), str(now), "--write", str(page)])
    embedded = re.search('id="data">(.*?)</script>', page.read_text(), re.DOTALL)
    assert embedded is not None
    found = json.loads(embedded[1])
    assert found["title"] == "step.json and now.json" and found["timeline"] is None
    bars = {bar["name"]: bar for bar in found["changes"]["bars"]}
    assert bars["sm90_xmma_gemm_bf16"]["length"] == -1
    assert bars["sm90_xmma_gemm_bf16"]["text"] == "-80 us"
    assert bars["added_kernel"]["text"] == "+50 us"
    assert "not there before" in bars["added_kernel"]["note"]
    assert found["changes"]["total"] == "-30 us"
    assert max(stack["width"] for stack in found["stacks"]) == 1
    rows = {row[0]: row for row in found["tables"][0]["rows"]}
    assert rows["sm90_xmma_gemm_bf16"][4][0] == "-20%"
    assert rows["added_kernel"][-1] == "new"


def test_the_page_has_the_memory_of_operands_where_the_trace_says_it(
    trace: Path, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    for path, has_memory in ((SAMPLES / "tenstorrent_wormhole_clip.csv", True), (trace, False)):
        main(["report", "--measured", str(path), "--html", str(page)])
        embedded = re.search('id="data">(.*?)</script>', page.read_text(), re.DOTALL)
        assert embedded is not None
        stacks = {stack["name"]: stack for stack in json.loads(embedded[1])["stacks"]}
        assert ("by operation and memory" in stacks) is has_memory
        if has_memory:
            parts = stacks["by operation and memory"]["parts"]
            assert any(part["name"].startswith("Matmul (in0:") for part in parts)
