"""The editor takes captured calls from the file that has them, and notices when it changes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.robust import until
from support.rpc import Client
from tirlens.captured.file_format import Capture, CapturedCall, merge, to_text
from tirlens.ide import terms

pytestmark = pytest.mark.slow
KERNEL = """
from tvm.script import tirx as T


def scale(rows, factor=2):
    @T.prim_func
    def main(A: T.Buffer((rows * 128,), "float32")):
        for i in T.thread_binding(rows, thread="blockIdx.x"):
            for j in T.thread_binding(128, thread="threadIdx.x"):
                A[i * 128 + j] = A[i * 128 + j] * T.float32(factor)
    return main


scale(7)
"""


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def test_a_capture_file_appears_and_changes(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    (tmp_path / "pyproject.toml").write_text("")
    (tmp_path / "kernel.py").write_text(KERNEL)
    captured = tmp_path / "tirlens-captured.json"

    def write(call: str) -> None:
        calls = CapturedCall("kernel.py", "scale", "main", "tvm", call, 12, ("bench.py:38",))
        captured.write_text(to_text(merge([Capture("h100-sxm", (), (calls,))])))
        change = {"uri": captured.as_uri(), "type": 2}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})

    def call() -> tuple[str, str] | None:
        report = client.command("tirlens.report", uri)
        kernels = report["json"]["kernels"] if report else []
        return (kernels[0]["call"], kernels[0]["call_source"]) if kernels else None

    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "kernel.py")
    until(lambda: call() == ("scale(7)", "call-site"), 60, "the call of the file")
    write("scale(rows=1000)")
    until(lambda: call() == ("scale(rows=1000)", "captured"), 60, "the captured call")
    line = next(n for n, text in enumerate(KERNEL.splitlines()) if "def main" in text)
    hover = client.hover(uri, line, 10)
    assert hover is not None
    link = f"[bench.py:38]({(tmp_path / 'bench.py').as_uri()}#L38), 12 launches"
    assert f"{terms.call_source('captured')} {link}" in hover
    write("scale(rows=500)")
    until(lambda: call() == ("scale(rows=500)", "captured"), 60, "the other captured call")
