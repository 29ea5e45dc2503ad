"""Warm workers of the real frameworks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.protocol import Result

Run = Callable[..., Result]


def _runner(python: Path, folder: Path, *options: str) -> Iterator[Run]:
    interpreter = worker_client.find_interpreter(folder, setting=python)
    with worker_client.BlockingClient(interpreter, options) as client:

        def run(text: str, *, name: str = "document.py", **options: object) -> Result:
            path = folder / name
            return client.analyze(request_of(path, text, **options))  # type: ignore[arg-type]

        # The first analysis waits for the framework's import; tests measure the warm worker.
        run("")
        yield run


@pytest.fixture(scope="module")
def run_tvm(tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Analyse a text in a warm worker that has apache-tvm."""
    yield from _runner(tvm_python, tmp_path_factory.mktemp("tvm"))


@pytest.fixture(scope="module", params=[(), ("--no-namespace",)], ids=["alone", "shared"])
def run_either(
    request: pytest.FixtureRequest, tvm_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Run]:
    """As `run_tvm`, in a namespace of processes if there can be one, and without."""
    yield from _runner(tvm_python, tmp_path_factory.mktemp("tvm"), *request.param)


@pytest.fixture(scope="module")
def run_tilelang(tilelang_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Analyse a text in a warm worker that has tilelang."""
    yield from _runner(tilelang_python, tmp_path_factory.mktemp("tilelang"))
