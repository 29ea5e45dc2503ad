"""The arguments of a kernel come from the calls in the other files of its repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.robust import until
from support.rpc import Client

pytestmark = pytest.mark.slow
KERNEL = """
from tvm.script import tirx as T


def scale(rows, factor):
    @T.prim_func
    def main(A: T.Buffer((rows * 128,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                A[i * 128 + j] = A[i * 128 + j] * T.float32(factor)
    return main
"""
BENCHMARK = """
import pytest
from kernel import scale


@pytest.mark.parametrize("rows", [SIZES])
def test_scale(rows):
    assert scale(rows, factor=3) is not None
"""


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def test_the_call_of_a_benchmark(client: Client, tmp_path: Path, tvm_python: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "kernel.py").write_text(KERNEL)
    benchmark = tmp_path / "test_kernel.py"
    benchmark.write_text(BENCHMARK.replace("SIZES", "1000"))
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "kernel.py")

    def call() -> tuple[str, str] | None:
        report = client.command("tirlens.report", uri)
        kernels = report["json"]["kernels"] if report else []
        return (kernels[0]["call"], kernels[0]["call_source"]) if kernels else None

    until(lambda: call() == ("scale(rows=1000, factor=3)", "repository"), 60, "the call")
    report = client.command("tirlens.report", uri)["json"]["kernels"][0]
    assert report["flop"] == 1000 * 128
    assert report["call_site"] == f"{benchmark}:8"
    line = KERNEL.splitlines().index('    def main(A: T.Buffer((rows * 128,), "float32")):')
    hover = client.hover(uri, line, 10)
    assert hover is not None
    link = f"[test_kernel.py:8]({benchmark.as_uri()}#L8)"
    assert "[repository](" in hover and link in hover.replace("\\_", "_")
    # Another size in the benchmark, and a save of the kernel: its arguments follow.
    benchmark.write_text(BENCHMARK.replace("SIZES", "500"))
    client.save(uri)
    until(lambda: call() == ("scale(rows=500, factor=3)", "repository"), 60, "the other call")
