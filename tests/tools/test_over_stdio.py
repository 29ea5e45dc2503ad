"""The tools as an agent calls them: by the SDK's client, over the pipes of ``tirlens mcp``."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import anyio
import pytest

from support.agents import agent
from support.robust import marked, new_mark

pytestmark = pytest.mark.slow

GEMM = "gemm_tilelang.py"


@pytest.fixture
def folder(tmp_path: Path, examples: Path) -> Path:
    shutil.copy(examples / GEMM, tmp_path)
    return tmp_path


def test_estimate_explain_and_devices(folder: Path, tilelang_python: Path) -> None:
    async def session() -> None:
        async with agent("--allow", str(folder), "--python", str(tilelang_python)) as one:
            listed = await one.client.list_tools()
            assert {"estimate", "explain", "devices"} <= {tool.name for tool in listed.tools}
            assert all(tool.annotations.read_only_hint is not None for tool in listed.tools)

            found = await one.ask("estimate", file=GEMM)
            assert found["total"] == 2
            matmul, batched = found["kernels"]
            assert matmul["call"] == "matmul(M=8192, N=8192, K=8192)"
            assert matmul["flop"] == 2 * 8192**3
            assert batched["launch_facts"] == "lowered"
            for kernel in found["kernels"]:
                low_s, high_s = kernel["time_band_s"]
                assert kernel["roofline_time_s"] < kernel["time_s"]
                assert low_s < kernel["time_s"] < high_s
                assert 0 < kernel["confidence"] < 1
                assert "measured times" in kernel["confidence_reasons"][-1]

            pages = [await one.ask("estimate", file=GEMM, limit=1, offset=at) for at in (0, 1)]
            assert [page["kernels"][0] for page in pages] == found["kernels"]
            assert [page.get("next_offset") for page in pages] == [1, None]

            chosen = await one.ask(
                "estimate", file=GEMM, call="batched_matmul(4, 512, 512, 512)", device="a100"
            )
            assert chosen["kernels"][0]["flop"] == 4 * 2 * 512**3
            assert chosen["kernels"][0]["device"].startswith("a100")

            whole = await one.ask("explain", file=GEMM, line=8)
            slowest = whole["inside"][0]
            assert sum(part["share"] for part in whole["inside"]) == pytest.approx(1, abs=0.02)
            line = await one.ask("explain", file=GEMM, line=slowest["line"])
            assert line["time_s"] == slowest["time_s"]
            assert line["kernel_time_s"] == matmul["time_s"]
            assert line["confidence"] == matmul["confidence"]

            off = await one.refused("explain", file=GEMM, line=1000)
            again = await one.ask("explain", file=GEMM, **off["send"])
            assert again["kernel"] == "batched_matmul (main)"

            hopper = await one.ask("devices", id="h100")
            assert hopper["devices"][0]["peak_flop_per_s"]["tensor.float16"] > 9e14

    anyio.run(session)


def test_nothing_outlives_the_session(folder: Path, tilelang_python: Path) -> None:
    mark = new_mark()
    options = ("--allow", str(folder), "--python", str(tilelang_python))

    async def session() -> None:
        async with agent(*options, environment=mark) as one:
            await one.ask("estimate", file=GEMM, tier="source", kernel="matmul")
            assert len(marked(mark)) > 1, "the server and its worker"

    anyio.run(session)
    deadline_s = time.monotonic() + 20
    while marked(mark) and time.monotonic() < deadline_s:
        time.sleep(0.1)
    assert not marked(mark)


def test_what_a_file_prints_is_no_message(folder: Path, tilelang_python: Path) -> None:
    text = (folder / GEMM).read_text()
    loud = 'import os\nprint("{}")\nos.write(1, b"not json\\n")\nos.system("echo again")\n'
    (folder / GEMM).write_text(text.replace("import tilelang\n", f"{loud}import tilelang\n", 1))

    async def session() -> None:
        async with agent("--allow", str(folder), "--python", str(tilelang_python)) as one:
            found = await one.ask("estimate", file=GEMM, tier="source", kernel="matmul")
            assert found["total"] == 1

    anyio.run(session)
