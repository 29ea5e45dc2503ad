"""Analyses of texts that build kernels, in each supported apache-tvm."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.protocol import Result

Run = Callable[[str], Result]
# Relax takes ten seconds of a core, of which other tests may have most.
_LIMIT_S = 100.0


@pytest.fixture(scope="module")
def run(each_tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Analyse a text in a warm worker."""
    folder = tmp_path_factory.mktemp("built")
    interpreter = worker_client.find_interpreter(folder, setting=each_tvm_python)
    with worker_client.BlockingClient(interpreter) as client:
        yield lambda text: client.analyze(
            request_of(folder / "document.py", text, limit_s=_LIMIT_S)
        )
