"""What the command line says to wrong usage, and what needs no framework."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tirlens.cli import main
from tirlens.hardware import catalogue

EXAMPLES = Path(__file__).parent.parent / "examples"
MATMUL = str(EXAMPLES / "matmul_tvm.py")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["analyze", "no/such/file.py"], "no such file"),
        (["analyze", MATMUL, "--device", "gtx-1"], "gtx-1"),
        (
            ["analyze", MATMUL, "--device", "a100", "--math-fidelity", "HiFi4"],
            "a100 has no math fidelities",
        ),
        (["analyze", MATMUL, "--model", "qwen3-8b", "--model", "qwen3-32b"], "take several"),
        (["analyze", MATMUL, "--bind", "M"], "NAME=VALUE"),
        (["analyze", MATMUL, "--bind", "M=many"], "NAME=VALUE"),
        (["analyze", MATMUL, "--call", "f("], "--call"),
        (["analyze", MATMUL, "--timeout", "0"], "--timeout"),
        (["analyze", MATMUL, "--timeout", "nan"], "--timeout"),
        (["analyze", MATMUL, "--id-range", "a-b"], "--id-range"),
        (["analyze", MATMUL, "--id-range", "5-2"], "--id-range"),
        (["analyze", MATMUL, "--id-range", "0"], "--id-range"),
        (["analyze", MATMUL, "--device", "a100", "--device", "h100"], "compare"),
        (["compare", MATMUL, "--device", "a100"], "two or more"),
        (["calibrate", "--cpu", "h100"], "takes no device"),
        (["devices", "gtx-1"], "no known device."),
        (["devices", "no.toml"], "no.toml: cannot be read: No such file or directory\n"),
        (["measure", MATMUL, "--append", "no/such.csv"], "no/such.csv cannot be written"),
        (["doctor", "no/such/file.py"], "no such file"),
        (["serve", "--tcp", "nowhere"], "HOST:PORT"),
    ],
)
def test_wrong_usage_is_told_and_is_status_2(
    arguments: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    said = capsys.readouterr()
    assert word in said.err
    assert said.out == ""


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["analyse"],
        ["analyze"],
        ["analyze", MATMUL, "--bad"],
        ["analyze", MATMUL, "--math-fidelity", "HiFi5"],
        ["analyze", MATMUL, "--min-percentage", "-1"],
        ["analyze", MATMUL, "--min-percentage", "101"],
        ["analyze", MATMUL, "--min-percentage", "nan"],
    ],
)
def test_an_option_that_argparse_refuses_is_status_2(arguments: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2


def test_nothing_to_analyse_is_status_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "plain.py").write_text("print('no kernel')\n")
    assert main(["analyze", str(tmp_path)]) == 2
    assert "no kernels" in capsys.readouterr().err


def test_a_kernel_name_that_matches_nothing_names_those_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["analyze", MATMUL, "--kernel", "nope"]) == 2
    assert "matmul_naive" in capsys.readouterr().err


@pytest.mark.parametrize(
    "content", [b"\xff\xfe kernel", b"from tvm.script import tirx as T\nx = (\n"]
)
def test_an_unreadable_file_is_a_problem_at_its_line(
    content: bytes, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "broken.py"
    path.write_bytes(content)
    assert main(["analyze", str(path), "--format", "json"]) == 1
    said = capsys.readouterr()
    (problem,) = json.loads(said.out)["problems"]
    assert problem["kind"] == "syntax"
    assert f"{path}:{problem['line']}:" in said.err


def test_a_file_of_another_encoding_is_told_of_at_the_byte(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "latin.py"
    path.write_bytes("# -*- coding: latin-1 -*-\nname = 'é'\n".encode("latin-1"))
    assert main(["analyze", str(path)]) == 1
    assert f"{path}:2:9: syntax: is not UTF-8" in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices of POSIX")
@pytest.mark.parametrize(
    "where",
    [
        "a pipe that nobody reads",
        pytest.param(
            "a full disk",
            marks=pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux"),
        ),
        "closed",
    ],
)
def test_standard_output_that_takes_nothing_is_told_in_a_line(where: str) -> None:
    words = ["-m", "tirlens", "devices", "h100-sxm"]
    shell = 'exec "$0" "$@"' + (" >&-" if where == "closed" else "")
    pipe, full = os.pipe(), None
    os.close(pipe[0])
    try:
        if where == "a full disk":
            full = os.open("/dev/full", os.O_WRONLY)
        ended = subprocess.run(
            ["sh", "-c", shell, sys.executable, *words],
            stdout=pipe[1] if full is None else full,
            stderr=subprocess.PIPE,
            text=True,
        )
    finally:
        os.close(pipe[1])
        if full is not None:
            os.close(full)
    said = {
        "a pipe that nobody reads": (0, ""),
        "a full disk": (2, "tirlens: standard output cannot be written: No space left on device\n"),
        "closed": (2, "tirlens: standard output is closed\n"),
    }
    assert (ended.returncode, ended.stderr) == said[where]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pipes of POSIX")
def test_the_exit_status_does_not_depend_on_who_reads(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    wrong = ["doctor", str(tmp_path), "--python", str(tmp_path / "none")]
    ended = subprocess.run([sys.executable, "-m", "tirlens", *wrong], stdout=write)
    os.close(write)
    assert ended.returncode == 1


def test_the_catalogue_and_the_sources_of_one_device(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["devices", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert {item["id"] for item in listed} == set(catalogue())
    assert main(["devices", "h100-sxm", "--format", "json"]) == 0
    device = json.loads(capsys.readouterr().out)
    assert device["sources"]
    assert main(["devices", "h100-sxm"]) == 0
    shown = capsys.readouterr().out
    assert "3.35 TB/s" in shown and "DRAM" in shown and "Sources" in shown


def test_doctor_says_what_to_install(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(Path(shutil.which("python3") or "").parent))
    path = tmp_path / "k.py"
    path.write_text("import tilelang\n")
    assert main(["doctor", str(path), "--python", str(tmp_path / "none")]) == 1
    said = capsys.readouterr().out
    assert "imports tilelang" in said
    assert "no such file" in said


PROTECTIONS = {
    "pid_namespace",
    "user_namespace",
    "subreaper",
    "signals_to_ancestors",
    "signals_to_others",
    "network",
    "memory_sum",
    "cgroup",
}


def _doctor(*before: str) -> tuple[dict[str, bool], str]:
    """The protections as JSON, and the table; `before` is a command that runs the commands."""
    command = [*before, sys.executable, "-m", "tirlens", "doctor", "--format"]
    said = [
        subprocess.run([*command, form], capture_output=True, text=True).stdout
        for form in ("json", "table")
    ]
    return {item["id"]: item["present"] for item in json.loads(said[0])["protections"]}, said[1]


@pytest.mark.slow
def test_doctor_says_what_protects_the_machine() -> None:
    present, table = _doctor()
    assert present.keys() == PROTECTIONS
    is_linux = sys.platform == "linux"
    assert {present[name] for name in ("subreaper", "memory_sum")} == {is_linux}
    assert table.count("yes  ") == sum(present.values())
    assert table.count("no   ") == len(present) - sum(present.values())


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="system calls are refused on Linux")
def test_doctor_says_what_a_container_does_not_have() -> None:
    script = Path(__file__).parents[1] / "support" / "without_namespaces.py"
    present, table = _doctor(sys.executable, str(script), "--no-landlock")
    missing = ("pid_namespace", "user_namespace", "signals_to_others")
    assert not any(present[name] for name in missing)
    assert present["subreaper"] and present["memory_sum"]
    assert "no   PID namespace" in table


def test_a_named_file_that_does_not_parse_is_said_beside_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broken, other, inside = tmp_path / "broken.py", tmp_path / "other.py", tmp_path / "in" / "b.py"
    inside.parent.mkdir()
    for file in (broken, inside):
        file.write_text("def f(:\n")
    other.write_text("x = 1\n")
    assert main(["analyze", str(broken), str(other), str(inside.parent)]) == 1
    said = capsys.readouterr().err
    assert f"{broken}:1:" in said
    assert str(inside) not in said, "of a folder, files without kernels are left out"


def test_a_missing_framework_is_said_at_its_import(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\necho \'{"python": "3.11.7", "frameworks": {}, "folders": []}\'\n')
    python.chmod(0o755)
    file = tmp_path / "k.py"
    file.write_text(
        "import os\nimport tilelang\nimport tilelang.language as T\n\n\n@T.prim_func\n"
        "def f(A: T.Tensor((4,), 'float32')):\n    with T.Kernel(1, threads=4):\n        A[0] = 1\n"
    )
    assert main(["analyze", str(file), "--python", str(python)]) == 1
    assert f"{file}:2:1: interpreter: the file needs tilelang" in capsys.readouterr().err
