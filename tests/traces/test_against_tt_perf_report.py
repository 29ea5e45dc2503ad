"""The same figures as Tenstorrent's performance report, column by column and row by row.

The samples are excerpts of those of tenstorrent/tt-perf-report; the whole ones agree, too:

    python tests/traces/test_against_tt_perf_report.py FILE...

What differs is listed here with its reason.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import io
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parent.parent))

from support.environments import environment
from tirlens.cli import main

SAMPLES = sorted((Path(__file__).parent / "samples").glob("tenstorrent_*.csv"))
VERSION = "tt_perf_report-1.4.1"
NUMBERS = (
    "Total %", "Device Time", "Op-to-Op Gap", "Cores", "DRAM", "DRAM %", "FLOPs", "FLOPs %",
    "Inner Dim Block Size", "Output Subblock H", "Output Subblock W", "Global Call Count",
)  # fmt: skip
WORDS = (
    "Bound", "OP Code", "Math Fidelity", "Output Datatype", "Input 0 Datatype", "Device",
    "Sub Device ID",
)  # fmt: skip
# Its peaks of Wormhole are those of a data sheet of 72 cores (74 and 148 TFLOP/s in HiFi4 and
# HiFi2); the catalogue has 4096 FLOP a clock and core of tt-metal's tech_reports/GEMM_FLOPS.  That
# of Blackhole differs by the digits of the catalogue.
PEAK_RATIOS = {
    "wormhole": {"HiFi4": 74 / 72 / 1.024, "HiFi2": 148 / 72 / 2.048, "LoFi": 262 / 72 / 4.096},
    "blackhole": {"HiFi4": 1.0, "HiFi2": 1.0, "LoFi": 1.0},
}
PEAK_DIGITS = 1e-3
EXACT = 1e-6
# An operation of the tool is chosen by name, of ours by row: these are the options of both.
WINDOWS = {
    "whole": ["--ignore-signposts"],
    "devices apart": ["--ignore-signposts", "--no-merge-devices"],
    "range": ["--ignore-signposts", "--id-range", "5-20"],
    "signposts": ["--ignore-signposts", "--print-signposts"],
}


def differences(path: Path, options: Sequence[str]) -> dict[str, list[str]]:
    """What differs in the rows of a file, by column."""
    ours = rows_by_id(run_ours(path, options))
    theirs = rows_by_id(run_theirs(path, options))
    if "--print-signposts" not in options:
        # Without this option, the tool lists signposts nonetheless where it ignores them.
        theirs = {i: row for i, row in theirs.items() if not row["OP Code"].endswith("(signpost)")}
    family = "blackhole" if "blackhole" in path.read_text() else "wormhole"
    found: dict[str, list[str]] = defaultdict(list)
    if list(ours) != list(theirs):
        found["rows"].append(f"{list(theirs)} are {list(ours)}")
    for identifier in ours.keys() & theirs.keys():
        our, their = ours[identifier], theirs[identifier]
        for column in NUMBERS:
            if not is_same_number(column, our, their, family):
                found[column].append(f"{identifier}: {their[column]!r} is {our[column]!r}")
        for column in WORDS:
            if our[column] != expected_words(column, our, their):
                found[column].append(f"{identifier}: {their[column]!r} is {our[column]!r}")
    return found


def is_same_number(
    column: str, our: Mapping[str, str], their: Mapping[str, str], family: str
) -> bool:
    if our["OP Code"].endswith("(signpost)"):
        # The tool fills in the grid of the device for a row that used none.
        return not our[column] or column == "Global Call Count"
    if not their[column] or not our[column]:
        # An operation without operands in DRAM moves 0 bytes: no figure in the tool, 0 here.
        is_without_dram = column in ("DRAM", "DRAM %") and our[column] == "0.0"
        # Nothing of a device is before its first operation: the tool has none for the first row.
        is_first = column == "Op-to-Op Gap" and their[column] == "0.0"
        return their[column] == our[column] or is_without_dram or is_first
    expected, tolerance = float(their[column]), EXACT
    if column == "FLOPs %":
        expected *= PEAK_RATIOS[family][our["Math Fidelity"].split()[0]]
        tolerance = PEAK_DIGITS
    return float(our[column]) == pytest.approx(expected, rel=tolerance, abs=1e-12)


def expected_words(column: str, our: Mapping[str, str], their: Mapping[str, str]) -> str:
    text = their[column]
    if text == "nan":
        # The operation has no such operand.
        return ""
    if column == "OP Code":
        # The tool takes a setting that its row does not have for one that is on.
        return text.replace(" SR]", "]") if " SR]" not in our[column] else text
    if column == "Bound" and not text and our["FLOPs %"]:
        # Nor has an operation without operands in DRAM a bound in the tool, or a convolution.
        if float(our["FLOPs %"]) >= 65:
            return "FLOP"
        return "SLOW" if our["DRAM %"] == "0.0" else ""
    if column in ("Device", "Sub Device ID"):
        return text.removesuffix(".0")
    if our["OP Code"].endswith("(signpost)"):
        return text if column == "OP Code" else ""
    return text


def rows_by_id(text: str) -> dict[str, dict[str, str]]:
    return {row["ID"]: row for row in csv.DictReader(text.splitlines())}


def run_ours(path: Path, options: Sequence[str]) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        assert main(["report", str(path), "--format", "csv", *options]) == 0
    return out.getvalue()


def run_theirs(path: Path, options: Sequence[str]) -> str:
    with tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "operations.csv"
        execute_theirs([str(path), "--csv", str(written), "--no-summary", *options])
        return written.read_text()


# The tool imports pandas and matplotlib for longer than it works: once, and a fork for each run.
_RUNS = """
import json, os, sys
from tt_perf_report.perf_report import main
for line in sys.stdin:
    if not (child := os.fork()):
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.argv = ["tt-perf-report", *json.loads(line)]
        main()
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def execute_theirs(arguments: Sequence[str]) -> None:
    tool = _tool()
    assert tool.stdin is not None and tool.stdout is not None
    tool.stdin.write(json.dumps(arguments) + "\n")
    tool.stdin.flush()
    assert tool.stdout.readline() == "0\n"


@functools.cache
def _tool() -> subprocess.Popen[str]:
    """Ends when its standard input does, with this process."""
    command = [str(environment(VERSION)), "-c", _RUNS]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


@pytest.mark.slow
@pytest.mark.parametrize("options", WINDOWS.values(), ids=WINDOWS.keys())
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_the_figures_are_the_same(path: Path, options: list[str]) -> None:
    assert differences(path, options) == {}


@pytest.mark.slow
@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
@pytest.mark.parametrize("grouping", ["op", "memory"])
def test_the_summary_is_the_same(path: Path, grouping: str, tmp_path: Path) -> None:
    options = ["--ignore-signposts", "--group-by", grouping]
    ours = tmp_path / "ours.csv"
    run_ours(path, [*options, "--summary-file", str(ours)])
    execute_theirs([str(path), *options, "--summary-file", str(tmp_path / "theirs")])
    theirs = {row["Op Code"]: row for row in csv.DictReader((tmp_path / "theirs.csv").open())}
    found = {row["Op Code"]: row for row in csv.DictReader(ours.open())}
    assert found.keys() == theirs.keys()
    for name, row in theirs.items():
        assert found[name]["Op Count"] == row["Op Count"]
        for column in ("Total % [%]", "Device Time Sum [μs]"):
            value = float(found[name][column.replace("μ", "u")])
            assert value == pytest.approx(float(row[column]), abs=0.006)
        for column in ("Min FLOPs [%]", "Max FLOPs [%]", "Std FLOPs [%]"):
            assert bool(found[name][column]) == bool(row[column])
        for column in ("Mean FLOPs [%]", "Weighted Mean FLOPs [%]"):
            if row[column]:
                # As far as the peaks agree.
                assert float(found[name][column]) == pytest.approx(float(row[column]), rel=0.13)


if __name__ == "__main__":
    for named in sys.argv[1:]:
        for label, chosen in WINDOWS.items():
            result = differences(Path(named), chosen)
            count = len(rows_by_id(run_ours(Path(named), chosen)))
            found = {column: (len(cells), cells[:3]) for column, cells in result.items()}
            print(f"{named}, {label}: {count} rows,", found or "equal")
