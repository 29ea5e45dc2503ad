"""``tirlens compare --python OLD --python NEW`` with two versions of tilelang."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support import environments
from tirlens.cli import main
from tirlens_worker.facts import TileLoad
from tirlens_worker.frameworks.lowering.lower import UnmergedArrays

KERNELS = Path(__file__).with_name("versions_tilelang.py")


@pytest.fixture(scope="module")
def pythons() -> list[str]:
    """The options for both interpreters, that of the older version first."""
    found = (environments.environment(f"tilelang-0.1.{version}") for version in (8, 9))
    return [word for python in found for word in ("--python", str(python))]


def compare(pythons: list[str], *options: str) -> int:
    kernels = ["compare", str(KERNELS), "--device", "h100-sxm", "--timeout", "200"]
    return main([*kernels, *pythons, *options])


@pytest.mark.slow
def test_what_the_newer_version_does_otherwise(
    pythons: list[str], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    pages = [tmp_path / name for name in ("changes.json", "changes.md", "changes.sarif")]
    written = [word for page in pages for word in ("--write", str(page))]
    limits = ["--no-compile", "--diff", "cuda", "--fail-above", "20%"]
    assert compare(pythons, *limits, *written) == 3
    document: dict[str, Any] = json.loads(pages[0].read_text())
    assert [one["name"] for one in document["variants"]] == ["tilelang 0.1.8", "tilelang 0.1.9"]
    found = {change["name"]: change for change in document["changes"]}
    staged, scaled, explicit = (
        found[f"{name} (main)"] for name in ("staged", "scaled", "explicit")
    )

    assert staged["verdicts"] == ["slower"]
    assert 0.2 < staged["time_growth"] < 1
    figures = {one["name"]: (one["before"], one["now"]) for one in staged["figures"]}
    assert figures["A"] == ("read by cp.async 16 B at a time", "read 16 B at a time")
    assert staged["causes"][0]["aspect"] == "copies"
    assert staged["why"] == staged["reason"]
    assert "mainly copies" in staged["reason"]
    code = staged["code"]
    assert code["lines"]["cuda"]["added"] > 0
    assert list(code["diffs"]) == ["cuda"]
    diff = code["diffs"]["cuda"].splitlines()
    assert diff[:2] == ["--- tilelang 0.1.8", "+++ tilelang 0.1.9"]
    # What the newer version does no more with the guarded array.
    assert any(line.startswith("-") and "cp_async" in line for line in diff)

    assert scaled["verdicts"] == ["same"]
    assert scaled["causes"] == scaled["figures"] == []
    assert explicit["verdicts"] == ["new"]
    assert "wgmma_gemm" in explicit["why"]
    assert "reason" not in explicit

    table = capsys.readouterr().out
    assert "tilelang 0.1.8" in table
    assert "lines of cuda that differ" in table
    assert "\n+++ tilelang 0.1.9\n" in table
    text = pages[1].read_text()
    assert "<summary>`staged (main)` on h100-sxm</summary>" in text
    assert "~~~~diff\n--- tilelang 0.1.8\n" in text
    assert "staged" in pages[2].read_text()


@pytest.mark.slow
def test_the_instructions_of_both_versions(
    pythons: list[str],
    capsys: pytest.CaptureFixture[str],
    cuda_home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CUDA_HOME", str(cuda_home))
    assert compare(pythons, "--kernel", "staged", "--format", "json") == 0
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    opcodes = change["code"]["opcodes"]
    copies, loads = (opcodes[name] for name in ("LDGSTS", "LDG"))
    # The copies of A, not of B, are by registers in the newer version.
    assert copies["before"] > copies["now"] > 0
    assert loads["now"] > loads["before"]


@pytest.mark.slow
def test_one_interpreter_lacks_the_framework(
    pythons: list[str], tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = ["--python", str(tvm_python)]
    assert compare([*other, *pythons[2:]], "--kernel", "scaled", "--no-compile") == 1
    table = " ".join(capsys.readouterr().out.split())
    assert "before: the file needs tilelang" in table


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--python", "a"], "compare needs"),
        (["--python", "a", "--python", "b", "--python", "c"], "two --python"),
        (["--python", "a", "--python", "b", "--base", "HEAD"], "one --python"),
        (
            ["--python", "a", "--python", "b", "--model", "qwen3-32b", "--model", "qwen3-8b"],
            "one --model",
        ),
        (["--device", "h100", "--device", "a100", "--diff", "tir"], "--diff"),
        (["--python", "a", "--python", "b", "--write", "out.txt"], "--write"),
    ],
)
def test_wrong_options(options: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", str(KERNELS), *options]) == 2
    assert said in capsys.readouterr().err


def test_other_commands_take_one_interpreter(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["analyze", str(KERNELS), "--python", "a", "--python", "b"])
    assert ended.value.code == 2
    assert "one --python" in capsys.readouterr().err


def load_of(buffer: str, shared: str, route: str, by_producer: bool = False) -> TileLoad:
    return TileLoad(buffer, shared, route, by_producer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("filled_from", "loads", "wanted"),
    [
        # Versions that keep the names.
        ({"A": {"X"}}, {load_of("A", "X", "tma")}, {load_of("A", "X", "tma")}),
        ({}, {load_of("A", "all", "tma")}, {load_of("A", "all", "tma")}),
        ({"A": {"X"}}, {load_of("A", "all", "async")}, {load_of("A", "X", "async")}),
        # One way into two arrays.
        (
            {"A": {"X", "Y"}},
            {load_of("A", "all", "tma", True)},
            {load_of("A", "X", "tma", True), load_of("A", "Y", "tma", True)},
        ),
        # Two ways: it is not known which is into which array.
        ({"A": {"X", "Y"}}, {load_of("A", "all", "tma"), load_of("A", "all", "thread")}, set()),
    ],
)
def test_names_of_merged_arrays(
    filled_from: dict[str, set[str]], loads: set[TileLoad], wanted: set[TileLoad]
) -> None:
    arrays = UnmergedArrays()
    arrays.filled_from = filled_from
    assert arrays.with_names(loads) == wanted
