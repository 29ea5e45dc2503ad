"""Notebooks on the command line: their cells in order, with places in the cells."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

IMPORTS = "%pip install apache-tvm\nfrom tvm.script import tirx as T"
SCALE = """\
# Twice each value.
@T.prim_func
def scale(A: T.Buffer((4096,), "float32")):
    for i in T.thread_binding(32, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32({factor})
"""
BROKEN = """\
@T.prim_func
def broken(A: T.Buffer((undefined,), "float32")):
    A[0] = T.float32(1)
"""


def _write(path: Path, *cells: str, notes: str = "# Scaling") -> Path:
    written: list[dict[str, Any]] = [{"cell_type": "markdown", "source": notes, "metadata": {}}]
    written += [
        {"cell_type": "code", "source": cell, "metadata": {}, "outputs": []} for cell in cells
    ]
    path.write_text(json.dumps({"cells": written, "metadata": {}, "nbformat": 4}))
    return path


def _places(entries: Sequence[Any]) -> set[tuple[int, int]]:
    found = {(entry["cell"], entry["line"]) for entry in entries}
    return found.union(*(_places(entry.get("children", ())) for entry in entries))


@pytest.mark.slow
def test_places_in_all_formats(
    tmp_path: Path, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = _write(tmp_path / "notes.ipynb", IMPORTS, SCALE.format(factor=2), BROKEN)

    def run(*arguments: str) -> tuple[str, str]:
        command = ["analyze", str(notebook), "--python", str(tvm_python), *arguments]
        assert main(command) == 1, "one kernel is broken"
        said = capsys.readouterr()
        return said.out, said.err

    table, errors = run()
    assert f"scale  {notebook}:cell 3:3\n" in table
    (row,) = [line for line in table.splitlines() if "A[i * 128 + j] = " in line]
    assert row.split()[1:4] == ["cell", "3:6", "A[i"]
    assert errors.startswith(f"{notebook}:cell 4:2:")
    assert "undefined" in errors

    document = json.loads(run("--format", "json")[0])
    (kernel,) = [item for item in document["kernels"] if item["name"] == "scale"]
    assert (kernel["file"], kernel["cell"], kernel["line"]) == (str(notebook), 3, 3)
    assert {(3, 4), (3, 5), (3, 6)} <= _places(kernel["loops"])
    assert all(cell == 3 for cell, _ in _places([*kernel["caveats"], *kernel["advice"]]))
    (problem,) = document["problems"]
    assert (problem["cell"], problem["line"]) == (4, 2)

    first, *others = csv.DictReader(io.StringIO(run("--format", "csv")[0]))
    assert (first["line"], first["cell"]) == ("3", "3")
    assert {other["cell"] for other in others} == {"3"}

    assert f"`{notebook}:cell 3:3`" in run("--format", "markdown")[0]
    results = json.loads(run("--format", "sarif")[0])["runs"][0]["results"]
    cost = results[0]
    assert cost["message"]["text"].startswith("cell 3:3: scale: ")
    (place,) = cost["locations"]
    assert place["logicalLocations"] == [{"fullyQualifiedName": "cell 3:3"}]
    # A line of a cell is no line of the file, of which an upload needs one.
    region = place["physicalLocation"]["region"]
    assert (region["startLine"], region["endLine"]) == (1, 1)


@pytest.mark.slow
def test_report_compare_and_the_gate(
    tmp_path: Path, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = _write(tmp_path / "notes.ipynb", IMPORTS, SCALE.format(factor=2))

    def run(*arguments: str, status: int = 0) -> str:
        assert main([*arguments, "--python", str(tvm_python)]) == status
        return capsys.readouterr().out

    page = tmp_path / "page.html"
    assert f"scale  {notebook}:cell 3:3\n" in run("report", str(notebook), "--html", str(page))
    # The page displays the text of all Python cells, and its lines are those.
    assert "#%pip install apache-tvm" in page.read_text()
    devices = ("--device", "h100-sxm", "--device", "a100-80-sxm")
    compared = json.loads(run("compare", str(notebook), *devices, "--format", "json"))
    assert [
        (kernel["cell"], kernel["line"])
        for variant in compared["variants"]
        for kernel in variant["kernels"]
    ] == [(3, 3), (3, 3)]

    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(tmp_path)]
    for command in (["init", "-q"], ["add", "notes.ipynb"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    slower = SCALE.format(factor=2).replace("A[i * 128 + j] *", "A[i * 128 + j] * A[j * 32] *")
    _write(notebook, IMPORTS, "x = 1", slower)
    gate = ("compare", str(notebook), "--base", "HEAD", "--fail-above", "0.1%")
    table = run(*gate, status=3)
    (failure,) = [line for line in table.splitlines() if line.startswith(f"{notebook}:cell 4:")]
    assert "scale on h100-sxm: slower" in failure
    assert f"::error file={notebook},title=TIRLens::cell 4:" in run(
        *gate, "--format", "github", status=3
    )
    (change,) = json.loads(run(*gate, "--format", "json", status=3))["changes"]
    assert (change["cell"], change["line"]) == (4, 3)


def test_what_is_no_notebook_is_a_problem_of_the_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    notebook = tmp_path / "cells.ipynb"
    for content, message in (
        ("{", "is no notebook of nbformat 4"),
        (
            '{"cells": [], "metadata": {"language_info": {"name": "R"}}}',
            "is a notebook of the language R, not Python",
        ),
    ):
        notebook.write_text(content)
        assert main(["analyze", str(notebook)]) == 1
        assert f"{notebook}:1:1: syntax: {message}\n" in capsys.readouterr().err


def test_a_syntax_error_is_in_its_cell(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notebook = _write(tmp_path / "cells.ipynb", "import tvm", "x = 1\nfor i in range(3)\n")
    assert main(["analyze", str(notebook)]) == 1
    assert f"{notebook}:cell 3:2:18: syntax: expected ':'" in capsys.readouterr().err


@pytest.mark.slow
def test_graphs_of_the_same_name_in_two_cells_have_sums_of_their_own(
    tmp_path: Path, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = (Path(__file__).parents[1] / "built/data/relax_graph.py").read_text()
    definitions, build = source.rsplit("executable = ", 1)
    cell = f"executable = {build}"
    notebook = _write(tmp_path / "graph.ipynb", definitions, cell, cell.replace("lowered", "Twice"))
    assert main(["analyze", str(notebook), "--python", str(tvm_python), "--format", "json"]) == 0
    out = json.loads(capsys.readouterr().out)
    sums = {
        (item["cell"], item["line"]): item["flop"]
        for item in out["modules"]
        if item["definition"] == "executable"
    }
    assert sums == {(3, 1): 2 * 8 * 128 * 64, (4, 1): 2 * 32 * 32}
