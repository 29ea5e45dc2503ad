"""Calls that say a part of what a kernel needs, and sizes that are given with a kernel."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from tirlens.evaluation.search_result import Search, Target
from tirlens.repository.search import find_calls
from tirlens.repository.word_index import WordIndex

KERNEL = """
import tilelang
import tilelang.language as T

def build({parameters}):
    M = T.dynamic("M")

    @T.prim_func
    def main(A: T.Tensor((M, 64), "float16"), B: T.Tensor((M, 64), "float16")):
        with T.Kernel(M, threads=128) as i:
            pass
    return main
"""


def _search(root: Path, parameters: str, files: Mapping[str, str]) -> Search:
    kernel = KERNEL.format(parameters=parameters)
    for path, text in {"kernel.py": kernel, **files}.items():
        (root / path).write_text(text)
    index = WordIndex(root)
    index.refresh()
    target = Target("kernel.py", "build")
    return find_calls(index, [target])[target]


def test_sizes_in_a_record_with_the_kernel(tmp_path: Path) -> None:
    program = """
from dataclasses import dataclass
from kernel import build

@dataclass
class Case:
    name: str
    kernel: object
    sizes: dict

CASES = [Case("a", build(n=64), sizes={"M": 48, "N": 64})]
"""
    (call,) = _search(tmp_path, "n=16", {"program.py": program}).calls
    assert (call.expression, dict(call.bindings)) == ("build(n=64)", {"M": 48})


def test_sizes_of_another_mode_are_none(tmp_path: Path) -> None:
    program = """
import sys
from kernel import build
width = len(sys.argv)
build("shared", 2048, 1, width)
build("routed", width, width, 8)
build("shared", width, width, 512)
"""
    found = _search(tmp_path, "mode, hidden, experts, parts", {"program.py": program}).values
    assert found["mode"][0].strip("'\"") == "shared"
    assert (found["hidden"], found["experts"], found["parts"]) == (("2048",), ("1",), ("512",))
