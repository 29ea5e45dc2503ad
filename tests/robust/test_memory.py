"""Requirements 13 and 14: memory stays bounded; what has not changed costs nothing."""

from __future__ import annotations

import asyncio
import pkgutil
from pathlib import Path

import psutil
import pytest

from robust.conftest import Start
from support.requests import request_of
from support.robust import amount, kernel, resident_mb, until
from support.rpc import Client
from tirlens import worker_client
from tirlens.advice import rules

pytestmark = [pytest.mark.slow, pytest.mark.timeout(amount(300, 3600))]


def test_13_analyses_and_edits_do_not_grow_the_server(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", kernel(128))
    analyses = amount(160, 2000)
    version, warm_mb = 1, 0.0
    for number in range(1, analyses + 1):
        for _ in range(10):
            version += 1
            client.replace(uri, version, kernel(128 * (number + 1)) + f"# {version}\n")
        client.save(uri)
        client.wait_ready(uri, number)
        client.hints(uri)
        client.lenses(uri)
        client.notifications[:-50] = [n for n in client.notifications[:-50] if "status" in n[0]]
        if number == 80:
            # The results that are kept are as many as ever will be.
            warm_mb = resident_mb(client.process.pid)
    assert len(client.states(uri)) >= 2 * analyses
    assert resident_mb(client.process.pid) - warm_mb < 20


def test_13_files_that_come_and_go_leave_nothing_behind(start: Start, tmp_path: Path) -> None:
    client = start()
    client.initialize(trusted=False)
    warm_mb = 0.0
    for number in range(amount(600, 5000)):
        uri = client.open(tmp_path / f"{number}.py", kernel(128) + f"# {'x' * 20_000}\n")
        client.lenses(uri)
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        if number == 100:
            client.wait(lambda: _has_imported_all(client), 60)
            warm_mb = resident_mb(client.process.pid)
    assert resident_mb(client.process.pid) - warm_mb < 10


def _has_imported_all(client: Client) -> bool:
    """Whether the server has done with what it imports while it has nothing else to do."""
    modules = client.command("tirlens.debugInformation")["modules"]
    needed = {f"{rules.__name__}.{item.name}" for item in pkgutil.iter_modules(rules.__path__)}
    return needed <= set(modules)


def test_13_a_worker_that_has_grown_is_replaced(tmp_path: Path, tvm_python: Path) -> None:
    async def scenario() -> None:
        interpreter = worker_client.find_interpreter(tmp_path, setting=tvm_python)
        client = worker_client.WorkerClient(interpreter, memory_limit_bytes=1)
        request = request_of(tmp_path / "a.py", kernel(1024))
        assert await client.start() is None
        first = client.pid
        assert len((await client.analyze(request)).kernels) == 1
        assert client.pid is None, "it has been ended"
        client.memory_limit_bytes = 1 << 40
        assert len((await client.analyze(request)).kernels) == 1
        second = client.pid
        assert second not in (None, first)
        await client.analyze(request)
        assert client.pid == second, "one within the limit stays"
        await client.close()

    asyncio.run(scenario())


def test_14_saving_without_a_change_and_going_back_cost_no_analysis(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    for number, size in enumerate((1024, 2048, 1024, 2048, 2048), 2):
        client.replace(uri, number, kernel(size))
        client.save(uri)
        client.wait_ready(uri, number)
        flop = client.command("tirlens.report", uri)["json"]["kernels"][0]["flop"]
        assert flop == size
    assert len(client.command("tirlens.debugInformation")["durations_s"]) == 2


LARGE = {
    "700,000 statements": "x = 1\n" * 700_000,
    "11.7 MB": f"x = '{'x' * 93}'\n" * 117_000,
    "one line": "x = [" + "1, " * 3_900_000 + "]\n",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", LARGE)
def test_13_a_document_that_is_too_large_is_refused_and_its_memory_given_back(
    name: str, start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    first = client.open(tmp_path / "first.py", kernel(1024))
    client.wait_ready(first)
    server = psutil.Process(client.process.pid)
    before = server.memory_info().rss
    uri = client.open(tmp_path / "large.py", LARGE[name])
    client.wait_ready(uri)
    assert any("it is longer than" in item["message"] for item in client.diagnostics(uri))
    peak = server.memory_info().rss - before
    assert peak < 40 * len(LARGE[name])
    client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    until(lambda: server.memory_info().rss - before < 64 << 20, 30, "the memory")
    client.wait_ready(first)
