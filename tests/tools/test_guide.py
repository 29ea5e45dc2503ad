"""The loop of the guide for writers of agents, as it is written there: it optimises a kernel."""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

import tirlens
from support.agents import agent

pytestmark = pytest.mark.slow

PAGE = Path(__file__).parents[2] / "server/docs/agents.md"
GEMM = "gemm_tilelang.py"


@pytest.fixture
def folder(tmp_path: Path, examples: Path) -> Path:
    shutil.copy(examples / GEMM, tmp_path)
    return tmp_path


@pytest.fixture(scope="module")
def guide() -> dict[str, Any]:
    """The names that the first Python block of the guide defines."""
    block = re.search(r"^```python\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert block is not None
    names: dict[str, Any] = {}
    exec(compile(block[1], str(PAGE), "exec"), names)
    return names


def test_the_loop_of_the_guide(
    folder: Path, guide: dict[str, Any], tilelang_python: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Where the command of this environment is.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=":")
    run: Callable[..., Awaitable[list[str]]] = guide["run"]
    python = ("--python", str(tilelang_python))
    before = (folder / GEMM).read_text()
    edits = anyio.run(run, str(folder), GEMM, "matmul", *python)
    assert edits
    assert (folder / GEMM).read_text() == before, "nothing is written"

    async def finish() -> tuple[dict[str, Any], ...]:
        async with agent("--allow", str(folder), "--write", *python) as one:
            subject = {"file": GEMM, "kernel": "matmul"}
            assert await guide["optimise"](one.client, GEMM, "matmul") == edits, "the same again"
            first = await one.ask("estimate", **subject)
            planned = await one.ask("estimate", **subject, apply=edits)
            written = await one.ask("advise", **subject, apply=edits, write=True)
            return first, planned, written, await one.ask("estimate", **subject)

    first, planned, written, after = anyio.run(finish)
    assert written["written"] == edits
    assert (folder / GEMM).read_text() != before
    assert after == planned, "what was predicted of the edits holds for the file with them"
    assert after["kernels"][0]["time_s"] < 0.9 * first["kernels"][0]["time_s"]
    assert after["kernels"][0]["flop"] == first["kernels"][0]["flop"]


def test_the_client_in_python(folder: Path, tilelang_python: Path) -> None:
    text = (folder / GEMM).read_text()
    with tirlens.Client(folder, python=tilelang_python) as client:
        (kernel,) = client.estimate(GEMM, kernel="matmul", tier="source").kernels
        assert kernel.time_s is not None
        assert kernel.time_band_s is not None
        assert kernel.time_band_s[0] < kernel.time_s < kernel.time_band_s[1]
        devices = ["h100-sxm", "a100-80-sxm", "h100-sxm"]
        rows = client.compare(GEMM, kernel="matmul", tier="source", devices=devices).rows
        assert [row.variant for row in rows] == ["h100-sxm", "a100-80-sxm"]
        assert rows[0].time_s == kernel.time_s
        assert rows[1].ratio == pytest.approx(rows[1].time_s / rows[0].time_s)
        with pytest.raises(tirlens.ToolError, match="--write") as caught:
            client.estimate(GEMM, text=text)
        assert caught.value.kind == "read-only"
    client.close()


def test_configurations_are_ranked(folder: Path, tilelang_python: Path) -> None:
    space = ["block_M=64,128", "num_stages=1..3"]
    with tirlens.Client(folder, python=tilelang_python) as client:
        subject = {"file": GEMM, "kernel": "batched_matmul", "space": space}
        found = client.rank(**subject)
        assert [one.rank for one in found.configurations] == list(range(1, 7))
        times = [one.time_s for one in found.configurations]
        assert times == sorted(times)
        pages = [client.rank(**subject, limit=4, offset=at) for at in (0, 4)]
        assert [one for page in pages for one in page.configurations] == [*found.configurations]
        best = found.configurations[0]
        arguments = ", ".join(f"{name}={value}" for name, value in best.arguments.items())
        call = f"batched_matmul(16, 1000, 1024, 512, {arguments})"
        (kernel,) = client.estimate(GEMM, call=call, tier="source").kernels
        assert (kernel.time_s, kernel.time_band_s) == (best.time_s, best.time_band_s)
        assert found.present.time_s in times
        for wrong, said in (
            ("other=1,2", "no parameter other"),
            ("M=1..9000", "more than the 1,000"),
        ):
            with pytest.raises(tirlens.ToolError, match=said):
                client.rank(GEMM, kernel="batched_matmul", space=[wrong])
        with pytest.raises(tirlens.ToolError, match="no autotune list") as caught:
            client.rank(GEMM, kernel="batched_matmul")
        again = client.rank(GEMM, kernel="batched_matmul", **caught.value.send)
        assert again.total == 3


def test_texts_and_files_with_other_ends_of_lines(folder: Path, tilelang_python: Path) -> None:
    path = folder / GEMM
    text = path.read_text()
    path.write_bytes(text.replace("\n", "\r\n").encode())
    path.chmod(0o640)
    with tirlens.Client(folder, python=tilelang_python, write=True) as client:
        (changed,) = client.estimate(
            GEMM,
            kernel="matmul",
            tier="source",
            text=text.replace("num_stages=2)", "num_stages=3)", 1),
        ).kernels
        (kernel,) = client.estimate(GEMM, kernel="matmul", tier="source").kernels
        assert changed.time_s != kernel.time_s
        (item, *_) = (one for one in client.advise(GEMM, kernel="matmul").advice if one.edit)
        client.advise(GEMM, kernel="matmul", apply=[item.id], write=True)
    content = path.read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") == text.count("\n")
    assert item.edit is not None
    assert item.edit.new_text in content.decode().split("\r\n")[item.edit.line - 1]
    assert path.stat().st_mode & 0o777 == 0o640
