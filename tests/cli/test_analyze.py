"""The command line on real kernels, in every format."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from support.sarif_upload import assert_uploadable
from tirlens.cli import main

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parent.parent / "examples"


@pytest.fixture
def analyze(capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command and gives its status, output and messages."""

    def run(*arguments: object) -> tuple[int, str, str]:
        status = main([str(item) for item in arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run


def kernels_of(text: str) -> dict[str, dict[str, Any]]:
    return {kernel["definition"]: kernel for kernel in json.loads(text)["kernels"]}


def test_json_of_tvm(analyze: Any, each_tvm_python: Path) -> None:
    path = EXAMPLES / "matmul_tvm.py"
    status, out, err = analyze("analyze", path, "--format", "json", "--python", each_tvm_python)
    assert (status, err) == (0, "")
    kernels = kernels_of(out)
    assert kernels["matmul_naive"]["flop"] == 2 * 1024**3
    assert kernels["matmul_naive"]["line"] == 7
    assert kernels["matmul_tiled"]["flop"] == 2 * 2048**3
    assert kernels["matmul_tiled"]["compulsory_bytes"] == 3 * 2048**2 * 4
    assert kernels["scale_and_add"]["flop"] == 2 * 1_000_000
    assert kernels["scale_and_add"]["global_bytes"] == {"read": 4_000_000, "write": 2_000_000}
    for kernel in kernels.values():
        assert kernel["status"] == "ok"
        assert kernel["framework"]["name"] == "tvm"
        assert sum(loop["time_s"] for loop in kernel["loops"]) == pytest.approx(kernel["time_s"])
        assert sum(loop["flop"] for loop in kernel["loops"]) == kernel["flop"]


LONG = """
from tvm.script import tirx as T

@T.prim_func
def add(A: T.Buffer((4096,), "float32"), B: T.Buffer((4096,), "float32")):
    for bx in T.thread_binding(32, thread="blockIdx.x"):
        for tx in T.thread_binding(128, thread="threadIdx.x"):
            B[bx * 128 + tx] = {sum}
"""


def test_a_long_statement_gives_way_to_its_figures(
    analyze: Any, tvm_python: Path, tmp_path: Path
) -> None:
    path = tmp_path / "long.py"
    path.write_text(LONG.format(sum=" + ".join(["A[bx * 128 + tx]"] * 12)))
    status, out, _ = analyze("analyze", path, "--python", tvm_python)
    assert status == 0
    (head,) = [line.split() for line in out.splitlines() if " where " in line]
    assert " ".join(head) == "id line where trips time share FLOP global DRAM bound"
    (row,) = [line for line in out.splitlines() if "B[bx * 128 + tx] = A[" in line]
    before, _, after = row.partition("…")
    assert before.split()[1] == "8" and "…" not in after
    assert "45.1 kF" in after and "32.8 kB" in after


def test_json_of_tilelang(analyze: Any, tilelang_python: Path) -> None:
    status, out, err = analyze(
        "analyze", EXAMPLES / "gemm_tilelang.py", EXAMPLES / "attention_tilelang.py",
        "--format", "json", "--python", tilelang_python, "--device", "h100",
    )  # fmt: skip
    assert (status, err) == (0, "")
    kernels = kernels_of(out)
    assert kernels["matmul"]["flop"] == 2 * 8192**3
    assert kernels["matmul"]["call_source"] == "call-site"
    assert kernels["batched_matmul"]["call_source"] == "directive"
    assert kernels["batched_matmul"]["call"] == "batched_matmul(16, 1000, 1024, 512)"
    attention = kernels["attention"]
    messages = [caveat["message"] for kernel in kernels.values() for caveat in kernel["caveats"]]
    assert not any("does not compile" in message for message in messages)
    # Causal: of the 64 x 32 blocks of scores those on and below the diagonal, with their tails.
    blocks = sum(-(-(row + 1) * 128 // 64) for row in range(32))
    products = 2 * (2 * 128 * 64 * 128) * blocks * 32 * 8
    assert attention["flop_by_class"]["tensor.float16"] == products
    assert attention["device"] == {
        "id": "h100-sxm",
        "name": attention["device"]["name"],
        "source": "option",
    }


def test_an_attention_that_tilelang_does_not_compile_for_a_device_has_no_time(
    analyze: Any, tilelang_python: Path
) -> None:
    """For sm_80 it waits for ``3 - k * 2`` groups of cp.async: the number is no constant."""
    status, out, _ = analyze(
        "analyze", EXAMPLES / "attention_tilelang.py",
        "--format", "json", "--python", tilelang_python, "--device", "a100", "--timeout", "100",
    )  # fmt: skip
    attention = kernels_of(out)["attention"]
    assert (status, attention["time_s"]) == (1, None)
    assert attention["lowered"]["error"]
    assert any("tilelang does not compile this" in note["message"] for note in attention["caveats"])


def test_call_and_bind(analyze: Any, tilelang_python: Path) -> None:
    path = EXAMPLES / "gemm_tilelang.py"
    both = ("--format", "json", "--no-lower", "--python", tilelang_python)
    _, out, err = analyze("analyze", path, "--call", "batched_matmul(1, 256, 512, 1024)", *both)
    assert "--call selects batched_matmul and not matmul" in err
    (left_out,) = json.loads(out)["not_called"]
    assert (left_out["name"], left_out["line"]) == ("matmul", 8)
    assert left_out["call"] == "batched_matmul(1, 256, 512, 1024)"
    (kernel,) = json.loads(out)["kernels"]
    assert (kernel["call_source"], kernel["flop"]) == ("option", 2 * 256 * 512 * 1024)
    _, out, _ = analyze("analyze", path, "--kernel", "matmul", "--bind", "K=4096", *both)
    assert kernels_of(out)["matmul"]["flop"] == 2 * 8192 * 8192 * 4096
    status, _, err = analyze("analyze", path, "--call", "matmul(1, 2, 3, 4)", *both)
    assert status == 1 and ": trace: matmul(1, 2, 3, 4): " in err


OBJECTS = """
import enum
from dataclasses import dataclass

import tilelang
import tilelang.language as T
import torch


class Mode(enum.Enum):
    COPY = "copy"


@dataclass(frozen=True)
class Config:
    block: int = 128
    dtypes: tuple = ("float16",)


def build(shape, options, dtype, config, mode, names):
    m, n = shape
    assert names == ["a", {1: (2,)}]

    @T.prim_func
    def main(A: T.Tensor((m, n), dtype), B: T.Tensor((m, n), dtype)):
        with T.Kernel(m // config.block, threads=options["threads"]) as i:
            tile = T.alloc_shared((config.block, n), dtype)
            T.copy(A[i * config.block, 0], tile)
            if mode is Mode.COPY:
                T.copy(tile, B[i * config.block, 0])

    return main


@tilelang.jit
def scale(x, y, block: int = 64):
    m = T.dynamic("m")
    x: T.Tensor((m, 64), T.float16)
    y: T.Tensor((m, 64), T.float16)
    with T.Kernel(T.ceildiv(m, block), threads=128) as i:
        tile = T.alloc_shared((block, 64), T.float16)
        T.copy(x[i * block, 0], tile)
        T.copy(tile, y[i * block, 0])
"""
NAMES = "names=['a', {1: (2,)}]"
BUILDS = [
    f"build([512, 64], {{'threads': 256}}, T.float16, Config(block=64), Mode.COPY, {NAMES})",
    f"build((512, 64), dict(threads=64), torch.half, Config(64, ('x',)), Mode('copy'), {NAMES})",
    f"build([512, 64], dict(threads=64), 'float16', config=Config(), mode=Mode.COPY, {NAMES})",
]


def _global_bytes(kernel: Any) -> int:
    return sum(kernel["global_bytes"].values())


def test_calls_with_objects_and_arrays(analyze: Any, tilelang_python: Path, tmp_path: Path) -> None:
    path = tmp_path / "objects.py"
    path.write_text(OBJECTS)
    python = ("--no-lower", "--python", tilelang_python)
    copied = 2 * 512 * 64 * 2
    calls = [word for call in BUILDS for word in ("--call", call)]
    _, out, _ = analyze("analyze", path, *calls, "--format", "json", *python)
    found = {kernel["call"]: _global_bytes(kernel) for kernel in json.loads(out)["kernels"]}
    assert found == dict.fromkeys(BUILDS, copied)
    _, table, _ = analyze("analyze", path, "--call", "scale(512x64 fp16, 512x64 fp16)", *python)
    assert "call: scale(512x64 float16, 512x64 float16) (option)" in table
    # As a directive, too, in the form that the message about missing arguments gives.
    _, _, err = analyze("analyze", path, "--kernel", "build", *python)
    (wanted,) = [line.partition("# tirlens: ")[2] for line in err.splitlines() if "needs" in line]
    form = wanted.partition(" (tried")[0]
    assert form == "build(shape=..., options=..., dtype=..., config=..., mode=..., names=...)"
    given = ["[512, 64]", "{'threads': 64}", "'float16'", "Config()", "Mode.COPY", NAMES[6:]]
    for value in given:
        form = form.replace("...", value, 1)
    path.write_text(OBJECTS.replace("def build", f"# tirlens: {form}\ndef build"))
    _, out, _ = analyze("analyze", path, "--kernel", "build", "--format", "json", *python)
    (kernel,) = json.loads(out)["kernels"]
    assert kernel["call_source"] == "directive"
    assert _global_bytes(kernel) == copied


def test_table_csv_markdown_and_sarif(analyze: Any, tvm_python: Path, tmp_path: Path) -> None:
    base = ("analyze", EXAMPLES / "matmul_tvm.py", "--kernel", "softmax", "--python", tvm_python)
    status, table, _ = analyze(*base)
    assert status == 0
    assert "softmax" in table and "FLOP" in table and "\x1b[" not in table
    _, colored, _ = analyze(*base, "--color")
    assert "\x1b[" in colored
    _, text, _ = analyze(*base, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    assert rows[0]["kind"] == "kernel"
    top = [float(row["time_s"]) for row in rows if row["depth"] == "1"]
    assert sum(top) == pytest.approx(float(rows[0]["time_s"]))
    _, text, _ = analyze(*base, "--format", "csv", "--id-range", "2-3")
    assert [row["id"] for row in csv.DictReader(io.StringIO(text))] == ["0", "2", "3"]
    _, text, _ = analyze(*base, "--format", "markdown")
    assert text.startswith("## softmax\n") and "| id | line |" in text
    target = tmp_path / "out.sarif"
    _, out, _ = analyze(*base, "--format", "sarif", "--output", target)
    assert out == ""
    run = json.loads(target.read_text())["runs"][0]
    assert run["tool"]["driver"]["name"] == "tirlens"
    assert {"cost"} <= {result["ruleId"] for result in run["results"]}
    assert_uploadable(json.loads(target.read_text()))


def test_advice_comes_with_its_edit(analyze: Any, tvm_python: Path) -> None:
    path = EXAMPLES.parent / "advice/kernels/tvm_rewrites.py"
    base = ("analyze", path, "--kernel", "transposed", "--python", tvm_python)
    _, text, _ = analyze(*base, "--format", "json")
    advice = {item["rule"]: item for item in kernels_of(text)["transposed"]["advice"]}
    edit = advice["bank-conflict"]["edit"]
    line = path.read_text().split("\n")[edit["line"] - 1]
    assert edit["line"] == edit["end_line"]
    assert line[edit["column"] : edit["end_column"]] == "32"
    assert edit["new_text"] == "32 + 1"
    _, text, _ = analyze(*base, "--format", "sarif")
    results = json.loads(text)["runs"][0]["results"]
    (found,) = (item for item in results if item["ruleId"] == "bank-conflict")
    (change,) = found["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    assert replacement["insertedContent"] == {"text": "32 + 1"}
    assert replacement["deletedRegion"] == {
        "startLine": edit["line"],
        "startColumn": edit["column"] + 1,
        "endLine": edit["line"],
        "endColumn": edit["end_column"] + 1,
    }


def test_what_cannot_be_analysed_is_status_1(
    analyze: Any, tvm_python: Path, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    path.write_text(
        "from tvm.script import tirx as T\n"
        "@T.prim_func(s_tir=True)\n"
        "def good(a: T.Buffer((8,), 'float32')):\n"
        "    for i in range(8):\n"
        "        a[i] = a[i] + T.float32(1)\n"
        "@T.prim_func(s_tir=True)\n"
        "def bad(a: T.Buffer((8,), 'float32')):\n"
        "    a[0] = missing\n"
    )
    status, out, err = analyze("analyze", path, "--format", "json", "--python", tvm_python)
    assert status == 1
    assert kernels_of(out)["good"]["flop"] == 8
    assert any(problem["line"] == 8 for problem in json.loads(out)["problems"])
    assert f"{path}:8:" in err


def test_a_wrong_directive_and_a_directive_before_the_option(
    analyze: Any, tvm_python: Path, tmp_path: Path
) -> None:
    path = tmp_path / "k.py"
    text = (EXAMPLES / "matmul_tvm.py").read_text()
    path.write_text(
        text.replace(
            "@T.prim_func(s_tir=True)\ndef softmax",
            "# tirlens: device=t4, M=x\n"
            "# tirlens: device=l4\n@T.prim_func(s_tir=True)\ndef softmax",
        )
    )
    status, out, err = analyze(
        "analyze", path, "--format", "json", "--python", tvm_python, "--device", "a100"
    )
    assert status == 1
    kernels = kernels_of(out)
    assert kernels["softmax"]["device"]["id"] == "l4"
    assert kernels["row_sum"]["device"]["id"] == "a100-80-sxm"
    assert "directive" in err and "not on --device a100" in err


def test_project_settings(analyze: Any, tvm_python: Path, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        f"[tool.tirlens]\ndevice = 'l40s'\npython = '{tvm_python}'\ntypo = 1\n"
    )
    path = tmp_path / "k.py"
    path.write_text((EXAMPLES / "matmul_tvm.py").read_text())
    status, out, err = analyze("analyze", path, "--format", "json")
    assert status == 0
    kernel = kernels_of(out)["softmax"]
    assert (kernel["device"]["id"], kernel["device"]["source"]) == ("l40s", "project")
    assert "typo" in err


def test_report_and_page(analyze: Any, tvm_python: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    path = EXAMPLES / "matmul_tvm.py"
    status, out, _ = analyze("report", path, "--html", page, "--python", tvm_python)
    assert status == 0
    assert "Roofline of" in out
    embedded: list[str] = []

    class Tags(HTMLParser):
        is_data = False

        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            # The page loads nothing and leads nowhere.
            assert "src" not in dict(attrs) and "href" not in dict(attrs)
            self.is_data = dict(attrs).get("id") == "data"

        def handle_data(self, data: str) -> None:
            if self.is_data:
                embedded.append(data)

    Tags().feed(page.read_text())
    (file,) = json.loads("".join(embedded))["files"]
    assert [kernel["name"] for kernel in file["kernels"]][:2] == ["matmul_naive", "matmul_tiled"]
    assert all(kernel["roofline"] and kernel["timeline"] for kernel in file["kernels"])
    assert len(file["source"]) == len(path.read_text().splitlines())


@pytest.mark.parametrize("language", ["cuda", "tir"])
def test_generated_code_of_tvm(analyze: Any, tvm_python: Path, language: str) -> None:
    path = EXAMPLES / "matmul_tvm.py"
    options = ("--kernel", "matmul_tiled", "--emit", language, "--format", "json")
    status, out, _ = analyze("lower", path, *options, "--python", tvm_python)
    assert status == 0
    (kernel,) = json.loads(out)["kernels"]
    found = kernel["texts"][language]
    text = found["text"].splitlines()
    assert len(text) == len(found["lines"])
    assert any("__syncthreads" in line or "tvm_storage_sync" in line for line in text)
    source = path.read_text().splitlines()
    products = {source[line - 1].strip() for line, made in zip(found["lines"], text, strict=True)
                if line and "acc" in made and "A_shared" in made}  # fmt: skip
    assert len(products) == 1 and products.pop().startswith("acc[0] = acc[0] + A_shared")


def test_generated_code_of_tilelang(analyze: Any, tilelang_python: Path) -> None:
    path = EXAMPLES / "gemm_tilelang.py"
    options = ("--kernel", "matmul", "--lines", "--python", tilelang_python)
    status, out, err = analyze("lower", path, *options)
    assert status == 0, err
    source = path.read_text().splitlines()
    product = 1 + next(n for n, line in enumerate(source) if "T.gemm(" in line)
    copy = 1 + next(n for n, line in enumerate(source) if "T.copy(A[" in line)
    assert any(
        line.startswith(f"{product:>5} |") and "wgmma_ss" in line for line in out.splitlines()
    )
    assert any(
        line.startswith(f"{copy:>5} |") and "tma_load(A_desc" in line for line in out.splitlines()
    )
    assert "registers a thread" in err or "nvcc" in err


def test_compare(analyze: Any, tvm_python: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text((EXAMPLES / "matmul_tvm.py").read_text())
    git = ["git", "-C", str(tmp_path), "-c", "user.name=t", "-c", "user.email=t@t"]
    for command in (["init", "-q"], ["add", "k.py"], ["commit", "-qm", "first"]):
        subprocess.run([*git, *command], check=True)
    python = ("--python", tvm_python)
    status, out, _ = analyze("compare", path, "--device", "h100", "--device", "t4", *python)
    assert status == 0
    assert "h100" in out and "x)" in out
    path.write_text(
        path.read_text()
        .replace("(8192, 4096)", "(8192, 2048)")
        .replace("range(4096)", "range(2048)")
        .replace("reduce(4096", "reduce(2048")
    )
    status, out, _ = analyze("compare", path, "--base", "HEAD", "--format", "json", *python)
    assert status == 0
    before, now = (
        {k["name"]: k["flop"] for k in variant["kernels"]}
        for variant in json.loads(out)["variants"]
    )
    assert before["row_sum"] == 2 * now["row_sum"]
    assert before["softmax"] == now["softmax"]


def test_an_endless_import_is_given_up(analyze: Any, tvm_python: Path, tmp_path: Path) -> None:
    path = tmp_path / "k.py"
    path.write_text((EXAMPLES / "matmul_tvm.py").read_text() + "\nwhile True:\n    pass\n")
    status, _, err = analyze("analyze", path, "--timeout", "4", "--python", tvm_python)
    assert status == 1
    assert "timeout" in err


def test_report_as_json_is_the_same_document(analyze: Any, tvm_python: Path) -> None:
    named = [EXAMPLES / "matmul_tvm.py", "--python", tvm_python, "--kernel", "matmul_naive"]
    found = [analyze(name, *named, "--format", "json") for name in ("analyze", "report")]
    assert found[0] == found[1]
    assert found[0][0] == 0
    assert list(kernels_of(found[0][1])) == ["matmul_naive"]


@pytest.mark.parametrize("command", ["analyze", "report"])
def test_launches_of_nothing_captured_are_said(
    analyze: Any, tvm_python: Path, command: str
) -> None:
    named = [EXAMPLES / "matmul_tvm.py", "--python", tvm_python, "--kernel", "matmul_naive"]
    status, out, err = analyze(command, *named, "--by-launches")
    assert (status, out) == (2, "")
    assert "no calls of these kernels are captured" in err
