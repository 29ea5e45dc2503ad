"""Requirements 3 and 19: cancelling is never taken for a crash, and wears no worker out."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from robust.conftest import Start
from support.requests import request_of
from support.robust import kernel
from tirlens import worker_client

pytestmark = pytest.mark.slow


def test_19_cancelling_while_the_worker_imports_keeps_the_worker(
    tmp_path: Path, tilelang_python: Path
) -> None:
    """Saving every second must not start the import of torch over and over."""

    async def scenario() -> None:
        interpreter = worker_client.find_interpreter(tmp_path, setting=tilelang_python)
        client = worker_client.WorkerClient(interpreter)
        text = "import torch\nimport tilelang.language as T\n"
        request = request_of(tmp_path / "a.py", text)
        for _ in range(4):
            task = asyncio.ensure_future(client.analyze(request))
            await asyncio.sleep(0.3)
            client.cancel()
            result = await task
            assert [problem.kind for problem in result.problems] in (["cancelled"], [])
        worker = client.pid
        assert worker is not None
        assert (await client.analyze(request)).problems == ()
        assert client.pid == worker
        await client.close()

    asyncio.run(scenario())


def test_19_cancelled_again_and_again_is_not_quarantined(tmp_path: Path, tvm_python: Path) -> None:
    async def scenario() -> None:
        interpreter = worker_client.find_interpreter(tmp_path, setting=tvm_python)
        client = worker_client.WorkerClient(interpreter)
        gate = tmp_path / "gate"
        waits = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\n"
        request = request_of(tmp_path / "a.py", waits + kernel(1024))
        await client.start()
        for moment_s in (0.0, 0.01, 0.1, 0.3, 0.3):
            task = asyncio.ensure_future(client.analyze(request))
            await asyncio.sleep(moment_s)
            client.cancel()
            assert [problem.kind for problem in (await task).problems] == ["cancelled"]
        gate.touch()
        result = await client.analyze(request)
        assert (len(result.kernels), result.problems) == (1, ())
        await client.close()

    asyncio.run(scenario())


def test_19_debug_information_tells_versions_and_durations_and_no_source(
    start: Start, tmp_path: Path, tvm_python: Path
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    for number in range(1, 54):
        text = kernel(128 * number, "secret_kernel") + "secret_name = 'secret value'\n"
        if number == 1:
            uri = client.open(tmp_path / "secret_file.py", text)
        else:
            client.replace(uri, number, text)
            client.save(uri)
        client.wait_ready(uri, number)
    information = client.command("tirlens.debugInformation")
    said = json.dumps(information)
    # The module `secrets` is in the list of imported modules.
    assert not [word for word in ("secret_", "secret value") if word in said]
    assert len(information["durations_s"]) == 50
    (worker,) = information["workers"]
    assert worker["interpreter"] == str(tvm_python)
    assert worker["frameworks"]["tvm"].startswith("0.27")
    assert {"tirlens", "python", "platform", "packages"} <= information.keys()
