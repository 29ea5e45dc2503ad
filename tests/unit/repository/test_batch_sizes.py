"""Where no call says the batch of a kernel, the benchmarks of its package do."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest

from tirlens.evaluation.search_result import Target
from tirlens.repository.search import find_calls
from tirlens.repository.word_index import WordIndex

KERNEL = """
import tilelang
import tilelang.language as T

@tilelang.jit
def scan({parameters}):
    @T.prim_func
    def main(A: T.Tensor((128,), "float16")):
        with T.Kernel(1, threads=128) as i:
            pass
    return main
"""
OPTIONS = """
import argparse
from scans.api import Scan
parser = argparse.ArgumentParser()
parser.add_argument("--batch", type=int, default=2)
parser.add_argument("--seq-len", type=int, default=65536)
args = parser.parse_args()
Scan().unknown(args.batch, args.seq_len)
"""
ROWS = """
import pytest
from scans.api import Scan

@pytest.mark.parametrize("batch_size, heads", [(1, 8), (16, 8), (64, 8)])
def test_bench(batch_size, heads):
    Scan().unknown(batch_size, heads)
"""
OTHER = "from other.api import Op\nbatch = 512\nOp().unknown(batch)\n"


@pytest.mark.parametrize(
    ("parameters", "files", "values"),
    [
        (
            "batch_size, heads, seqlen",
            {"benchmarks/bench_scan.py": OPTIONS},
            {"batch_size": ("2",), "seqlen": ("65536",)},
        ),
        ("B, L", {"benchmarks/bench_scan.py": ROWS}, {"B": ("16",)}),
        ("bs", {"examples/a.py": OPTIONS, "benchmarks/b.py": ROWS}, {"bs": ("16",)}),
        ("batch", {"benchmarks/bench_other.py": OTHER, "tests/test_scan.py": OPTIONS}, {}),
        (
            "batch, width",
            {
                "benchmarks/bench_scan.py": OPTIONS,
                "scans/api.py": "import sys\nfrom scans.kernel import scan\n"
                "scan(4, len(sys.argv))\n",
            },
            {"batch": ("4",)},
        ),
    ],
)
def test_the_values_of_a_kernel_without_calls(
    parameters: str, files: Mapping[str, str], values: Mapping[str, str], tmp_path: Path
) -> None:
    kernel = KERNEL.format(parameters=parameters)
    for path, text in {"scans/__init__.py": "", "scans/kernel.py": kernel, **files}.items():
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    index = WordIndex(tmp_path)
    index.refresh()
    target = Target("scans/kernel.py", "scan")
    search = find_calls(index, [target])[target]
    assert search.calls == () and search.values == values
