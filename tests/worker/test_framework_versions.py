"""The counts of the example kernels do not depend on the version of the framework."""

from __future__ import annotations

from pathlib import Path

import pytest

from support import environments
from tirlens import pipeline, source, worker_client

pytestmark = pytest.mark.slow
Counts = dict[str, tuple[int | None, int | None]]


def _counts(python: Path, path: Path) -> Counts:
    text = path.read_text()
    read = source.read(text)
    options = pipeline.Options(device="h100-sxm")
    request = pipeline.analysis_request(1, str(path), text, read, options)
    interpreter = worker_client.find_interpreter(path, setting=python)
    with worker_client.BlockingClient(interpreter) as client:
        report = pipeline.file_report(read, client.analyze(request), options, str(path))
    assert [problem.message for problem in report.problems] == []
    return {
        kernel.definition: (kernel.flop, kernel.global_bytes.total) for kernel in report.kernels
    }


@pytest.mark.parametrize("version", ["0.25.0.post1"])
@pytest.mark.parametrize("name", ["matmul_tvm.py", "triangular_tvm.py"])
def test_counts_are_those_of_the_newest_version(
    examples: Path, tvm_python: Path, version: str, name: str
) -> None:
    counts = _counts(environments.environment(f"tvm-{version}"), examples / name)
    assert counts and counts == _counts(tvm_python, examples / name)
