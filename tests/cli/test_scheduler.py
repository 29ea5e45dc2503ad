"""Analyses in a real Dask cluster of two processes, one of which is killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]
EXAMPLES = Path(__file__).parents[1] / "examples"
#: 27 kernels to trace, each with 4 numbers of stages: many steps for two processes.
SPACE = ("block_M=32,64,128", "block_N=32,64,128", "block_K=32,64,128", "num_stages=1..4")
_START_LIMIT_S = 120.0
_SEARCH_LIMIT_S = 240.0


class Cluster:
    """A scheduler and two processes with a thread each, in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.address = ""
        self._processes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Cluster:
        described = self._folder / "scheduler.json"
        self._start("scheduler", "--port", "0", "--host", "127.0.0.1")
        until(described.exists, _START_LIMIT_S)
        self.address = json.loads(described.read_text())["address"]
        for name in ("first", "second"):
            self._start("worker", "--nthreads", "1", "--no-nanny", "--name", name)
        logs = [self._folder / f"{number}.log" for number in (1, 2)]
        until(lambda: all("Registered to" in log.read_text() for log in logs), _START_LIMIT_S)
        return self

    def __exit__(self, *_: object) -> None:
        for process in self._processes:
            process.kill()
            process.wait()

    def kill_one(self) -> None:
        """Kill the second process."""
        self._processes[2].kill()

    def _start(self, role: str, *options: str) -> None:
        log = self._folder / f"{len(self._processes)}.log"
        command = [sys.executable, "-m", "dask", role, "--scheduler-file", "scheduler.json"]
        with log.open("wb") as file:
            self._processes.append(
                subprocess.Popen(
                    [*command, "--no-dashboard", *options],
                    cwd=self._folder,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                )
            )


def until(condition: Callable[[], bool], limit_s: float) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < end_s
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")) as running:
        yield running


def test_a_report_is_that_of_this_machine(
    cluster: Cluster,
    tilelang_python: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    files = [str(EXAMPLES / name) for name in ("gemm_tilelang.py", "attention_tilelang.py")]
    command = ["analyze", *files, "--python", str(tilelang_python), "--format", "json", "--fresh"]
    outputs: list[Any] = []
    for where in (["--scheduler", cluster.address], []):
        main([*command, *where])
        outputs.append(json.loads(capsys.readouterr().out))
    assert outputs[0] == outputs[1]
    assert len(outputs[0]["kernels"]) >= 2


def test_a_process_that_is_killed_costs_nothing(
    cluster: Cluster, tilelang_python: Path, tmp_path: Path
) -> None:
    """Every configuration is estimated, once, and as on this machine."""
    command = [
        sys.executable, "-m", "tirlens", "tune", str(EXAMPLES / "gemm_tilelang.py"),
        "--kernel", "batched_matmul", "--python", str(tilelang_python), "--format", "json",
        "--space", *SPACE,
    ]  # fmt: skip
    found: list[Any] = []
    for where in (["--scheduler", cluster.address], []):
        cache = tmp_path / str(len(found))
        search = subprocess.Popen(
            [*command, *where],
            env={**os.environ, "XDG_CACHE_HOME": str(cache)},
            stdout=subprocess.PIPE,
        )
        if where:
            until(lambda cache=cache: bool(estimated(cache)), _SEARCH_LIMIT_S)
            assert len(estimated(cache)) < 108, "it is killed while the other calls are evaluated"
            cluster.kill_one()
        output, _ = search.communicate(timeout=_SEARCH_LIMIT_S)
        assert search.returncode == 0
        found.append(json.loads(output) | {"seconds": None})
        calls = estimated(cache)
        assert len(calls) == len(set(calls)) == 108
    assert found[0] == found[1]


def estimated(cache: Path) -> list[str]:
    """The calls whose estimates are stored, as often as they are."""
    found: list[str] = []
    for path in cache.glob("tirlens/tuning/*.jsonl"):
        for line in path.read_text().splitlines():
            found += json.loads(line)["estimates"]
    return found


def test_a_scheduler_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    file = str(EXAMPLES / "gemm_tilelang.py")
    assert main(["analyze", file, "--scheduler", "nowhere"]) == 2
    assert "--scheduler nowhere: missing port number" in capsys.readouterr().err
