"""Captured calls are candidates of their kernels: after a directive, before all that is guessed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tirlens import source
from tirlens.captured.candidates import CapturedCalls
from tirlens.captured.file_format import Capture, CapturedCall, merge, to_text

TEXT = """
from tvm.script import tirx as T

# DIRECTIVE
def scale(rows, factor=2):
    @T.prim_func
    def main(A: T.Buffer((rows * 128,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            A[i] = A[i] * T.float32(factor)
    return main


def test_add(dtype):
    @T.prim_func
    def add(A: T.Buffer((128,), dtype)):
        for i in T.thread_binding(128, thread="blockIdx.x"):
            A[i] = A[i] + A[i]

    @T.prim_func
    def other(A: T.Buffer((128,), dtype)):
        for i in T.thread_binding(128, thread="blockIdx.x"):
            A[i] = A[i] + A[i]

    build(add), build(other)


scale(7)
"""


def captured(text: str, function: str = "scale", kernel: str = "main", launches: int = 1):
    return CapturedCall(
        "sub/kernel.py", function, kernel, "tvm", text, launches, ("sub/bench.py:3",), {"m": 4}
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "sub").mkdir()
    return tmp_path


def write(folder: Path, *calls: CapturedCall, name: str = "tirlens-captured.json") -> Path:
    path = folder / name
    path.write_text(to_text(merge([Capture("h100-sxm", (), calls)])))
    return path


def sources(folder: Path, text: str = TEXT, found: CapturedCalls | None = None):
    path = folder / "sub" / "kernel.py"
    file = (found or CapturedCalls()).with_calls(source.read(text), path)
    return {kernel.name: kernel.candidates for kernel in file.kernels}


def test_the_most_frequent_call_is_first(folder: Path) -> None:
    write(folder, captured("scale(1)", launches=2), captured("scale(3)", launches=9))
    candidates = sources(folder)["scale"]
    assert [(item.expression, item.source) for item in candidates] == [
        ("scale(3)", "captured"), ("scale(1)", "captured"), ("scale(7)", "call-site"),
    ]  # fmt: skip
    first = candidates[0]
    assert (first.launches, first.bindings, first.required) == (9, {"m": 4}, False)
    assert first.span is not None
    assert (first.span.file, first.span.line) == (str(folder / "sub/bench.py"), 3)


def test_a_directive_is_nearer(folder: Path) -> None:
    write(folder, captured("scale(1)"))
    text = TEXT.replace("# DIRECTIVE", "# tirlens: scale(5)")
    assert [item.source for item in sources(folder, text)["scale"]][:2] == ["directive", "captured"]


def test_kernels_in_one_function_are_told_apart(folder: Path) -> None:
    write(folder, captured("test_add(dtype='float16')", "test_add", "add"))
    found = sources(folder)
    assert [item.source for item in found["test_add.add"]][:1] == ["captured"]
    assert "captured" not in [item.source for item in found["test_add.other"]]


def test_a_file_of_another_folder_has_none(folder: Path) -> None:
    write(folder / "sub", captured("scale(1)"))
    assert [item.source for item in sources(folder)["scale"]] == ["call-site"]


def test_all_files_above_are_read_again_when_they_change(folder: Path) -> None:
    found = CapturedCalls()
    path = write(folder, captured("scale(1)"))
    write(folder, captured("scale(2)"), name="tirlens-captured-decode.json")
    first, second, _ = sources(folder, found=found)["scale"]
    assert {first.expression, second.expression} == {"scale(1)", "scale(2)"}
    write(folder, captured("scale(11)"))
    os.utime(path, ns=(1, 1))
    assert "scale(11)" in [item.expression for item in sources(folder, found=found)["scale"]]
    path.write_text("{}")
    assert len(sources(folder, found=found)["scale"]) == 2
    assert "is no capture file" in found.problems[path]
    path.unlink()
    (folder / "tirlens-captured-decode.json").unlink()
    assert len(sources(folder, found=found)["scale"]) == 1
