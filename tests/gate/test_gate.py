"""``tirlens compare --base --fail-above`` on real kernels in a real repository."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import pytest

from support.sarif_upload import assert_uploadable
from tirlens.cli import main

COMMON = "ROWS = 4096\nTIMES = 1\n"
KERNELS = """
from tvm.script import tirx as T
from ops.common import ROWS, TIMES


@T.prim_func
def first(A: T.Buffer((ROWS * 128,), "float32"), B: T.Buffer((ROWS * 128,), "float32")):
    for bx in T.thread_binding(ROWS, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            for k in range(TIMES):
                B[bx * 128 + tx] = A[(bx * 128 + tx + k * 4096) % (ROWS * 128)] + 1.0


@T.prim_func
def second(A: T.Buffer((4096,), "float32")):
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            A[bx * 128 + tx] = A[bx * 128 + tx] * 2.0
"""
BROKEN = """
from tvm.script import tirx as T


@T.prim_func
def never(A: T.Buffer((32,), "float32")):
    for tx in T.thread_binding(32, thread="threadIdx.x"):
        A[tx] = nobody[tx]
"""


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of kernels, one of which never could be analysed, in its first commit."""
    package = tmp_path / "ops"
    package.mkdir()
    (package / "__init__.py").touch()
    (package / "common.py").write_text(COMMON)
    (package / "kernels.py").write_text(KERNELS)
    (package / "broken.py").write_text(BROKEN)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "first")
    monkeypatch.chdir(tmp_path)
    return package


@pytest.fixture
def gate(capsys: pytest.CaptureFixture[str], tvm_python: Path) -> Any:
    """Runs the gate and gives its status, verdicts by kernel, and the whole document."""

    def run(*options: str) -> tuple[int, dict[str, list[str]], dict[str, Any]]:
        status = main(
            ["compare", "ops", "--base", "HEAD", "--format", "json", "--python", str(tvm_python),
             *options]
        )  # fmt: skip
        document = json.loads(capsys.readouterr().out)
        return status, {c["name"]: c["verdicts"] for c in document["changes"]}, document

    return run


@pytest.mark.parametrize("options", [["--fail-above", "2"], ["--write", "out.txt"]])
def test_wrong_options(
    options: list[str], repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["compare", str(repository), "--base", "HEAD", *options]) == 2
    assert options[0] in capsys.readouterr().err


def test_a_gate_needs_a_base(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    two = ["--device", "a100", "--device", "h100"]
    assert main(["compare", str(repository), "--fail-above", "5%", *two]) == 2
    assert "--base" in capsys.readouterr().err


@pytest.mark.slow
def test_only_what_a_change_makes_worse_is_refused(repository: Path, gate: Any) -> None:
    status, found, document = gate("--fail-above", "5%")
    assert status == 0
    assert found == {"first": ["same"], "second": ["same"]}
    # Without a gate the kernel that cannot be analysed is told by the status, as ever.
    assert gate()[0] == 1

    # The kernel's own file is untouched: what it imports makes it slower.
    (repository / "common.py").write_text(COMMON.replace("TIMES = 1", "TIMES = 64"))
    status, found, document = gate("--fail-above", "5%")
    assert status == 3
    assert found["first"] == ["slower"] and found["second"] == ["same"]
    (refused,) = [item for item in document["changes"] if item["refused"]]
    assert refused["time_growth"] > 0.05 and "line 11" in refused["why"]
    assert gate("--fail-above", "100000%")[0] == 0

    # Several devices at once, and reports for a pull request.
    report = repository.parent / "report"
    status, _, document = gate(
        "--fail-above", "5%", "--device", "a100", "--device", "h100-sxm",
        "--write", f"{report}.md", "--write", f"{report}.sarif",
    )  # fmt: skip
    assert status == 3
    assert {item["device"] for item in document["changes"]} == {"a100-80-sxm", "h100-sxm"}
    assert "| :x: `first` ops/kernels.py:" in Path(f"{report}.md").read_text()
    results = json.loads(Path(f"{report}.sarif").read_text())["runs"][0]["results"]
    assert {result["ruleId"] for result in results} == {"slower"}
    assert len(results) == 2


@pytest.mark.slow
def test_figures_that_are_lost_and_budgets(repository: Path, gate: Any) -> None:
    kernels = repository / "kernels.py"
    kernels.write_text(KERNELS.replace("* 2.0", "* missing"))
    status, found, _ = gate("--fail-above", "5%")
    assert (status, found["second"], found["first"]) == (3, ["lost"], ["same"])

    git(repository, "mv", "kernels.py", "renamed.py")
    renamed = repository / "renamed.py"
    renamed.write_text(KERNELS + "\n# a longer life under another name\n")
    status, found, _ = gate("--fail-above", "5%")
    assert (status, found["second"], found["first"]) == (0, ["same"], ["same"])

    limit = "\n\n# tirlens: max-time=1ns, max-dram=1GB\n@T.prim_func\ndef second"
    renamed.write_text(KERNELS.replace("\n\n@T.prim_func\ndef second", limit))
    status, found, _ = gate()
    assert (status, found["second"]) == (3, ["over-budget"])
    project = repository.parent / "pyproject.toml"
    project.write_text(
        '[tool.tirlens]\nfail-above = "5%"\n[tool.tirlens.budgets]\n"f*" = {max-time = "1ns"}\n'
    )
    status, found, document = gate()
    assert (status, found["first"]) == (3, ["over-budget"])
    assert document["limits"] == {"time": 0.05, "dram": 0.05}


@pytest.mark.slow
def test_the_documented_step_as_it_is_written(tmp_path: Path, tvm_python: Path) -> None:
    page = Path(__file__).parents[2] / "server/docs/ci.md"
    block = re.search(r"run: \|\n((?: {10}.*\n)+)", page.read_text())
    assert block is not None
    upstream, clone = tmp_path / "upstream", tmp_path / "clone"
    kernels = upstream / "kernels"
    kernels.mkdir(parents=True)
    (kernels / "k.py").write_text(KERNELS.replace("from ops.common import ROWS, TIMES", COMMON))
    git(upstream, "init", "-qb", "main")
    git(upstream, "add", ".")
    git(upstream, "commit", "-qm", "first")
    git(tmp_path, "clone", "-q", str(upstream), "clone")
    path = clone / "kernels/k.py"
    path.write_text(path.read_text().replace("TIMES = 1", "TIMES = 64"))
    git(clone, "commit", "-qam", "slower")
    environment = {
        **os.environ,
        "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
        "GITHUB_BASE_REF": "main",
        "VIRTUAL_ENV": str(tvm_python.parents[1]),
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", textwrap.dedent(block[1])],
        cwd=clone, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    (annotation,) = [line for line in done.stdout.splitlines() if line.startswith("::error ")]
    assert annotation.startswith("::error file=kernels/k.py,line=")
    assert "first" in (clone / "cost.md").read_text()
    log = json.loads((clone / "cost.sarif").read_text())
    assert log["runs"][0]["results"]
    assert_uploadable(log)
