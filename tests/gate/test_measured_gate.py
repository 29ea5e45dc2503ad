"""``tirlens compare --measured``: exit status, verdicts and formats of the measured gate."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from support.sarif_upload import assert_uploadable
from tirlens.cli import main

H100 = "NVIDIA H100 80GB HBM3"
HEADER = "file,kernel,call,measured_device,samples,measured_s,measured_p10_s,measured_p90_s"
# Kernel, call, time, half the distance of the percentiles; without it one execution.
Row = tuple[str, str, float, float | None]
BASE: tuple[Row, ...] = (
    ("matmul", "matmul(4096)", 1e-3, 1e-5),
    ("softmax", "softmax(128)", 2e-4, 1e-6),
)
Measure = Callable[..., Path]


@pytest.fixture
def measure(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Measure:
    """Writes a table of ``tirlens measure`` into an empty working directory."""
    monkeypatch.chdir(tmp_path)

    def write(name: str, *rows: Row, device: str = H100) -> Path:
        lines = [HEADER]
        for kernel, call, time_s, half_s in rows:
            spread = (1, time_s, "", "") if half_s is None else (
                100, time_s, time_s - half_s, time_s + half_s
            )  # fmt: skip
            lines.append(f'k.py,{kernel},"{call}",{device},{",".join(map(str, spread))}')
        path = Path(name)
        path.parent.mkdir(exist_ok=True)
        path.write_text("\n".join(lines) + "\n")
        return path

    return write


def gate(*options: str, limit: str = "5%") -> int:
    return main(["compare", "--measured", "new.csv", "--measured-base", "old.csv",
                 "--fail-above", limit, *options])  # fmt: skip


def verdicts(capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, dict[str, list[str]]]:
    status = gate("--format", "json", *options)
    document = json.loads(capsys.readouterr().out)
    return status, {item["operation"]: item["verdicts"] for item in document["changes"]}


def changed(kernel: str, factor: float, half_s: float | None = 1e-6) -> tuple[Row, ...]:
    return tuple(
        (name, call, time_s * factor, half_s) if name == kernel else (name, call, time_s, half)
        for name, call, time_s, half in BASE
    )


@pytest.mark.parametrize(
    ("rows", "status", "expected"),
    [
        (BASE, 0, "same"),
        (changed("matmul", 1.2), 3, "slower"),
        (changed("matmul", 1.04), 0, "changed"),
        (changed("matmul", 0.8), 0, "faster"),
        (changed("matmul", 1.2, 1.15e-3), 0, "unsure"),
        (changed("matmul", 1.2, None), 3, "unknown-spread"),
        (changed("matmul", 1.04, None), 0, "changed"),
        ((("matmul", "matmul(8192)", 1e-3, 1e-6), BASE[1]), 3, "other-work"),
    ],
)
def test_a_growth_fails_beyond_the_limit_and_the_spread(
    rows: tuple[Row, ...],
    status: int,
    expected: str,
    measure: Measure,
    capsys: pytest.CaptureFixture[str],
) -> None:
    measure("old.csv", *BASE)
    measure("new.csv", *rows)
    assert verdicts(capsys) == (status, {"matmul": [expected], "softmax": ["same"]})


def test_what_is_not_compared_is_allowed_by_an_option(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    measure("old.csv", BASE[0])
    measure("new.csv", *BASE)
    status, found = verdicts(capsys)
    assert (status, found["softmax"]) == (3, ["no-baseline"])
    assert verdicts(capsys, "--allow-uncompared")[0] == 0
    measure("new.csv", *changed("matmul", 1.2))
    assert verdicts(capsys, "--allow-uncompared")[0] == 3


def test_what_is_gone_passes_and_is_said(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    measure("old.csv", *BASE)
    measure("new.csv", BASE[0])
    assert gate() == 0
    assert "gone" in capsys.readouterr().out


def test_another_device_is_never_compared(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    measure("old.csv", *BASE, device="NVIDIA A100-SXM4-80GB")
    measure("new.csv", *BASE)
    assert gate() == 3
    said = capsys.readouterr()
    assert "NVIDIA A100-SXM4-80GB before, NVIDIA H100 80GB HBM3 now" in said.err
    assert "2 of 2 operations fail" in said.out
    assert gate("--allow-uncompared") == 0
    # Without a gate it is a comparison as any other.
    assert main(["compare", "--measured", "old.csv", "new.csv"]) == 0


def test_a_device_that_is_not_known_is_said(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    measure("old.csv", *BASE, device="")
    measure("new.csv", *BASE)
    assert gate() == 0
    assert "the device is not known of the baseline" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--measured", "new.csv"], "takes OLD and NEW"),
        (["--measured-base", "old.csv"], "needs --measured NEW"),
        (["--measured", "new.csv", "--measured-base", "none.csv"], "none.csv: no such file"),
        (["--measured", "new.csv", "--measured-base", "empty"], "empty: no trace in this folder"),
        (["--measured", "no_rows.csv", "new.csv"], "has no operation of a device"),
        (["--measured", "text", "new.csv"], "is no trace"),
        (["--measured", "old.csv", "new.csv", "--base", "HEAD"], "--base and --measured are two"),
        (["--measured", "old.csv", "new.csv", "--fail-above", "x"], "--fail-above 'x' is no limit"),
        (["--measured", "old.csv", "new.csv", "--allow-uncompared"], "needs --fail-above"),
        (["--measured", "old.csv", "new.csv", "--output", "old.csv"], "file that the command"),
        (["--each"], "needs --measured"),
        ([], "needs a FILE with kernels"),
    ],
)
def test_wrong_usage(
    options: list[str], message: str, measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    measure("old.csv", *BASE)
    measure("new.csv", *BASE)
    measure("no_rows.csv")
    Path("text").write_text("import tvm\n")
    Path("empty").mkdir()
    (Path("empty") / "notes.md").write_text("notes\n")
    assert main(["compare", *options]) == 2
    assert message in capsys.readouterr().err


def test_folders_have_the_runs_of_a_side(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    for number, mean_s in enumerate((1.00e-3, 1.01e-3, 0.99e-3)):
        measure(f"old/{number}.csv", ("matmul", "matmul(4096)", mean_s, None))
        measure(f"new/{number}.csv", ("matmul", "matmul(4096)", 1.2 * mean_s, None))
    assert main(["compare", "--measured", "old", "new", "--fail-above", "5%"]) == 3
    assert "slower, 1 ms ± 10 us -> 1.2 ms ± 12 us (+20%)" in capsys.readouterr().out
    # Without the spread of the executions, one run against three is the least that is known.
    options = ["--measured", "new/0.csv", "--measured-base", "old", "--fail-above", "5%"]
    assert main(["compare", *options, "--format", "json"]) == 3
    (change,) = json.loads(capsys.readouterr().out)["changes"]
    assert (change["samples_before"], change["samples"]) == (3, 1)
    assert change["verdicts"] == ["slower"]
    assert change["chance"] == pytest.approx(0.0017, abs=2e-4)


def test_the_limit_of_the_project_is_that_of_a_gate(measure: Measure) -> None:
    Path("pyproject.toml").write_text('[tool.tirlens]\nfail-above = ["time=30%"]\n')
    measure("old.csv", *BASE)
    measure("new.csv", *changed("matmul", 1.2))
    assert main(["compare", "--measured", "new.csv", "--measured-base", "old.csv"]) == 0
    measure("new.csv", *changed("matmul", 1.4))
    assert main(["compare", "--measured", "new.csv", "--measured-base", "old.csv"]) == 3
    assert main(["compare", "--measured", "old.csv", "new.csv"]) == 0


def test_all_formats_say_the_same(measure: Measure, capsys: pytest.CaptureFixture[str]) -> None:
    measure("old.csv", *BASE)
    measure("new.csv", *changed("matmul", 1.2))
    written = [
        word for name in ("r.md", "r.sarif", "r.json", "r.csv") for word in ("--write", name)
    ]
    assert gate("--format", "github", *written) == 3
    out = capsys.readouterr().out
    assert "::error file=new.csv,line=2,title=TIRLens::matmul: slower, 1 ms" in out
    assert ":x: `matmul`" in Path("r.md").read_text()
    assert "1 operation as before" in Path("r.md").read_text()
    document: dict[str, Any] = json.loads(Path("r.sarif").read_text())
    assert_uploadable(document)
    (result,) = document["runs"][0]["results"]
    assert result["ruleId"] == "measured-slower"
    (before,) = [
        row for row in csv.DictReader(io.StringIO(Path("r.csv").read_text()))
        if row["operation"] == "matmul"
    ]  # fmt: skip
    assert float(before["time_growth"]) == pytest.approx(0.2)
    assert json.loads(Path("r.json").read_text())["changes"][0]["refused"] is True
    # An earlier result may be replaced.
    assert gate(*written) == 3


def test_names_of_strangers_give_no_orders(
    measure: Measure, capsys: pytest.CaptureFixture[str]
) -> None:
    evil = "=cmd|' /C calc'!A0\x1b[31m<img src=x>|`"
    measure("old.csv", *BASE)
    measure("new.csv", *BASE, (evil, "k()", 1e-3, None))
    assert gate("--write", "r.csv", "--write", "r.md", "--format", "github") == 3
    said = capsys.readouterr()
    assert "\x1b" not in said.out + said.err + Path("r.csv").read_text() + Path("r.md").read_text()
    assert "\n'=cmd" in Path("r.csv").read_text()
    assert "<img" not in Path("r.md").read_text().replace("`", "").split("=cmd")[0]
    assert "\n::error" in said.out


FILE = """
from tvm.script import tirx as T


def {name}(rows):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((rows, 256), "float32"), B: T.Buffer((rows, 256), "float32")):
        for b in T.thread_binding(rows, thread="blockIdx.x"):
            for t in T.thread_binding(256, thread="threadIdx.x"):
                B[b, t] = A[b, t] * T.float32(2)
    return main


{name}(16384)
"""


@pytest.mark.slow
def test_the_kernels_of_files_are_the_ones_that_count(
    measure: Measure, tvm_python: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("k.py").write_text(FILE.format(name="scale"))
    Path("other.py").write_text(FILE.format(name="unused"))
    scale, foreign = ("scale", "scale(16384)"), ("foreign", "foreign()")
    measure("old.csv", (*scale, 1e-5, 1e-7), (*foreign, 1e-5, 1e-7))
    measure("new.csv", (*scale, 1e-5, 1e-7), (*foreign, 9e-5, 1e-7))
    gate = ["compare", "k.py", "--measured", "new.csv", "--measured-base", "old.csv",
            "--fail-above", "5%", "--python", str(tvm_python)]  # fmt: skip
    assert main(gate) == 0
    assert "1 operation of the runs is of no kernel of these files" in capsys.readouterr().err
    measure("new.csv", (*scale, 2e-5, 1e-7), (*foreign, 1e-5, 1e-7))
    assert main([*gate, "--format", "github", "--write", "r.sarif"]) == 3
    # The message is at the kernel, not at the row of the trace.
    assert "::error file=k.py,line=7,title=TIRLens::scale: slower" in capsys.readouterr().out
    (result,) = json.loads(Path("r.sarif").read_text())["runs"][0]["results"]
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "k.py"
    assert place["region"]["startLine"] == 7
    # A kernel that was not measured is said; files without any measured kernel are refused.
    assert main([*gate[:1], "other.py", *gate[1:]]) == 3
    assert "other.py: unused is not in the runs" in capsys.readouterr().err
    gate[1] = "other.py"
    assert main(gate) == 2
    assert "no operation of the runs is matched" in capsys.readouterr().err


SAMPLES = Path(__file__).parents[1] / "traces" / "samples"


@pytest.mark.parametrize("each", [[], ["--each"]])
@pytest.mark.parametrize(
    "name",
    [
        "nsys_cuda_gpu_kern_sum.csv", "nsys_export_2023.4.sqlite", "ncu_raw_page.csv",
        "torch_rocm.json.gz", "proton_cuda.hatchet", "rocprofv3_kernel_trace.csv",
        "tenstorrent_wormhole_clip.csv", "tvm_report.csv", "tirlens_measure.csv",
    ],
)  # fmt: skip
def test_a_trace_of_any_format_is_as_itself(
    name: str, each: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(SAMPLES / name)
    assert main(["compare", "--measured", path, path, "--format", "json", *each]) == 0
    changes = json.loads(capsys.readouterr().out)["changes"]
    assert changes
    assert {item["relation"] for item in changes} == {"same"}
    assert {item["verdict"] for item in changes} <= {"same", "no-time"}


def test_a_section_of_both_runs_is_compared(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(SAMPLES / "tenstorrent_v2_oft.csv")
    options = ["compare", "--measured", path, path, "--format", "json"]
    assert main(options) == 0
    said = capsys.readouterr()
    assert "section 'Slicing started': 3 of 32 operations" in said.err
    assert json.loads(said.out)["measured"]["now"]["operations"] == 3
    assert main([*options, "--ignore-signposts"]) == 0
    assert json.loads(capsys.readouterr().out)["measured"]["now"]["operations"] == 32
    assert main([*options, "--signpost", "nope"]) == 2
    assert "no signpost 'nope'" in capsys.readouterr().err
