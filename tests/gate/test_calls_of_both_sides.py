"""The gate where the arguments of a kernel come from other files, and change with the edit."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

pytestmark = pytest.mark.slow

#: A factory without a call in its own file; each row is read `times` times.
KERNEL = """
from tvm.script import tirx as T

TIMES = 1


def rows(M: int, N: int, dtype: str):
    @T.prim_func
    def main(A: T.Buffer((M * N,), dtype), B: T.Buffer((M * N,), dtype)):
        for bx in T.thread_binding(M, thread="blockIdx.x"):
            for tx in T.thread_binding(128, thread="threadIdx.x"):
                for k in range(N // 128):
                    B[bx * N + k * 128 + tx] = A[bx * N + k * 128 + tx] + T.cast(1, dtype)
    return main
"""
USE = """
from kern import rows

if __name__ == "__main__":
    rows({m}, 2048, "float32")
"""
#: The same statement 16 times.
SLOW = KERNEL.replace(
    "                for k in range",
    "                for again in range(16):\n                  for k in range",
)
CAPTURED = {
    "schema_version": 1,
    "device": "h100-sxm",
    "commands": ["python bench.py"],
    "kernels": [
        {
            "file": "kern.py", "function": "rows", "kernel": "main", "framework": "tvm",
            "calls": [{"call": "rows(M=512, N=2048, dtype='float32')", "launches": 2,
                       "at": ["bench.py:3"]}],
        }
    ],
}  # fmt: skip


def git(folder: Path, *arguments: str) -> None:
    command = ["git", "-c", "user.name=t", "-c", "user.email=t@t", *arguments]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)


@pytest.fixture
def commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Commits files, as the first commit of a repository in which tests are."""
    monkeypatch.chdir(tmp_path)
    git(tmp_path, "init", "-q")

    def run(**files: str) -> Path:
        for name, text in files.items():
            (tmp_path / f"{name}.py").write_text(text)
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-qm", "files")
        return tmp_path

    return run


@pytest.fixture
def gate(capsys: pytest.CaptureFixture[str], tvm_python: Path) -> Any:
    """Runs the gate on ``kern.py``; its status, and the verdicts by call."""

    def run(*options: str, file: str = "kern.py") -> tuple[int, dict[str, list[str]]]:
        status = main(
            ["compare", file, "--base", "HEAD", "--fail-above", "5%", "--format", "json",
             "--python", str(tvm_python), *options]
        )  # fmt: skip
        found = json.loads(capsys.readouterr().out)["changes"]
        return status, {item["call"] or item["name"]: item["verdicts"] for item in found}

    return run


def call(m: int) -> str:
    return f"rows(M={m}, N=2048, dtype='float32')"


def test_a_call_in_another_file_is_that_of_both_sides(commit: Any, gate: Any) -> None:
    root = commit(kern=KERNEL, use=USE.format(m=8192))
    (root / "kern.py").write_text(KERNEL + "\n# nothing but a comment\n")
    assert gate() == (0, {call(8192): ["same"]})
    (root / "kern.py").write_text(SLOW)
    status, found = gate()
    assert (status, found) == (3, {call(8192): ["slower"]})
    # The other file has the call in the working tree alone, or in the commit alone.
    git(root, "rm", "-q", "--cached", "use.py")
    git(root, "commit", "-qm", "without")
    assert gate() == (3, {call(8192): ["slower"]})


def test_a_size_that_the_edit_changes_is_compared_with_both(commit: Any, gate: Any) -> None:
    root = commit(kern=KERNEL, use=USE.format(m=8192))
    (root / "use.py").write_text(USE.format(m=1024))
    # The kernel's own file is unchanged.
    assert gate()[0] == 0
    (root / "kern.py").write_text(KERNEL + "\n# a comment\n")
    assert gate() == (0, {call(1024): ["same"], call(8192): ["same"]})
    (root / "kern.py").write_text(SLOW)
    assert gate() == (3, {call(1024): ["slower"], call(8192): ["slower"]})


def test_sizes_in_the_file_itself(commit: Any, gate: Any) -> None:
    directive = "\n\n# tirlens: rows({}, 2048, 'float32')\ndef rows"
    root = commit(kern=KERNEL.replace("\n\ndef rows", directive.format(8192)))
    (root / "kern.py").write_text(SLOW.replace("\n\ndef rows", directive.format(1024)))
    status, found = gate()
    assert status == 3
    assert found == {
        "rows(1024, 2048, 'float32')": ["slower"],
        "rows(8192, 2048, 'float32')": ["slower"],
    }
    # Defaults of the definition: the text of the call is the same.
    defaults = "def rows(M: int = {}, N: int = 2048, dtype: str = 'float32')"
    signature = "def rows(M: int, N: int, dtype: str)"
    commit(kern=KERNEL.replace(signature, defaults.format(8192)))
    (root / "kern.py").write_text(KERNEL.replace(signature, defaults.format(1024)))
    assert gate() == (0, {"rows()": ["same"]})
    (root / "kern.py").write_text(SLOW.replace(signature, defaults.format(1024)))
    assert gate() == (3, {"rows()": ["slower"]})


def test_captured_calls_are_those_of_both_sides(commit: Any, gate: Any) -> None:
    root = commit(kern=KERNEL)
    captured = root / "tirlens-captured.json"
    captured.write_text(json.dumps(CAPTURED))
    (root / "kern.py").write_text(SLOW)
    # The file of captured calls is not committed, then it is, then another size is captured.
    assert gate() == (3, {call(512): ["slower"]})
    git(root, "add", captured.name)
    git(root, "commit", "-qm", "captured")
    assert gate() == (3, {call(512): ["slower"]})
    captured.write_text(json.dumps(CAPTURED).replace("M=512", "M=4096"))
    assert gate() == (3, {call(4096): ["slower"], call(512): ["slower"]})


def test_a_parameter_more(commit: Any, gate: Any) -> None:
    root = commit(kern=KERNEL, use=USE.format(m=8192))
    (root / "kern.py").write_text(SLOW.replace("dtype: str)", "dtype: str, fast: bool)"))
    (root / "use.py").write_text(USE.format(m=8192).replace('"float32"', '"float32", True'))
    # Neither side can be called as the other one; the arrays are the same.
    status, found = gate()
    assert status == 3
    assert list(found.values()) == [["slower"]]


def test_what_cannot_be_compared_fails_unless_it_is_allowed(
    commit: Any, gate: Any, capsys: pytest.CaptureFixture[str], tvm_python: Path
) -> None:
    root = commit(kern=KERNEL, use=USE.format(m=8192))
    (root / "kern.py").write_text(SLOW.replace("dtype: str)", "dtype: str, fast: bool)"))
    (root / "use.py").write_text(USE.format(m=1024).replace('"float32"', '"float32", True'))
    status, found = gate()
    assert status == 3
    assert list(found.values()) == [["other-work"]]
    assert gate("--allow-uncompared")[0] == 0
    main(
        ["compare", "kern.py", "--base", "HEAD", "--fail-above", "5%", "--python", str(tvm_python)]
    )
    lines = capsys.readouterr().out.splitlines()
    assert any(line.endswith("; 1 not compared") for line in lines)


def test_a_submodule_that_becomes_slower(
    commit: Any, gate: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    library = tmp_path_factory.mktemp("library")
    git(library, "init", "-q")
    (library / "kern.py").write_text(KERNEL)
    git(library, "add", ".")
    git(library, "commit", "-qm", "first")
    root = commit(use=USE.format(m=8192))
    git(root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(library), "lib")
    git(root, "commit", "-qm", "lib")
    assert gate(file="lib/kern.py")[0] == 0
    (root / "lib/kern.py").write_text(SLOW)
    git(root / "lib", "commit", "-qam", "slower")
    status, found = gate(file="lib/kern.py")
    assert (status, *found.values()) == (3, ["slower"])
