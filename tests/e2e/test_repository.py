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


WITHOUT_GUESS = """
from tvm.script import tirx as T


def scale(plan):
    rows = plan["all"][0]

    @T.prim_func
    def main(A: T.Buffer((rows * 128,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
    return main
"""


@pytest.mark.parametrize("is_called", [True, False])
def test_a_kernel_without_arguments_says_that_other_files_are_searched(
    client: Client, tmp_path: Path, tvm_python: Path, is_called: bool
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "kernel.py").write_text(WITHOUT_GUESS)
    # A search takes so long that the lens before its end is displayed.
    filler = "\n".join(f"def scale_{n}(x):\n    return scale_{n}(x) + {n}" for n in range(60))
    for number in range(300):
        (tmp_path / f"other_{number}.py").write_text(f"# scale {number}\n{filler}\n")
    if is_called:
        call = "from kernel import scale\n\nscale({'all': [1000]})\n"
        (tmp_path / "bench.py").write_text(call)
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "kernel.py")
    client.wait_ready(uri)
    line = WITHOUT_GUESS.splitlines().index("    @T.prim_func") + 1

    def lens() -> str:
        return " | ".join(client.lenses(uri).get(line, []))

    assert lens() == "looking for a call in other files..."
    hover = client.hover(uri, line, 5)
    assert hover is not None and "looking for a call in other files" in hover
    until(lambda: "looking" not in lens(), 60, "the end of the search")
    if is_called:
        until(lambda: " us" in lens(), 60, "the time of the call")
    else:
        assert lens().startswith("needs plan: click to set")
        hover = client.hover(uri, line, 5)
        assert hover is not None and "# tirlens: scale(plan=...)" in hover
