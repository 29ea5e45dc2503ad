"""Requirement 14: a file follows the modules that it imports, be they edited, made or missing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from support.robust import kernel
from support.rpc import Client

pytestmark = pytest.mark.slow

PARALLEL = kernel(1024).replace("1024", "SIZE").replace("(8, thread", "(SIZE // 128, thread")
TEXT = "from helper import SIZE\n" + PARALLEL


@pytest.fixture
def client() -> Iterator[Client]:
    with Client() as made:
        yield made


def _flop(client: Client, uri: str) -> int | None:
    report = client.command("tirlens.report", uri)
    kernels = report["json"]["kernels"] if report else []
    return kernels[0]["flop"] if kernels else None


def _runs(client: Client) -> int:
    return len(client.command("tirlens.debugInformation")["durations_s"])


def test_14_a_save_is_followed_by_the_open_files_that_import_it(
    client: Client, tmp_path: Path, tvm_python: Path
) -> None:
    client.initialize(trusted=True, interpreter=str(tvm_python))
    helper = tmp_path / "helper.py"
    uri = client.open(tmp_path / "a.py", TEXT)
    alone = client.open(tmp_path / "b.py", kernel(1024))
    client.wait_ready(uri)
    client.wait_ready(alone)
    assert _flop(client, uri) is None
    # The module that was missing is written, by whatever editor.
    helper.write_text("SIZE = 1024\n")
    changes = [{"uri": helper.as_uri(), "type": 1}]
    client.notify("workspace/didChangeWatchedFiles", {"changes": changes})
    client.wait_ready(uri, 2)
    assert _flop(client, uri) == 1024
    runs = _runs(client)
    # It is edited and saved here.
    module = client.open(helper)
    client.wait_ready(module)
    for version, size in enumerate((2048, 4096), 2):
        helper.write_text(f"SIZE = {size}\n")
        client.replace(module, version, helper.read_text())
        client.save(module)
        client.wait_ready(uri, version + 1)
        assert _flop(client, uri) == size
    assert _runs(client) == runs + 2, "no other file was analysed, nor this one more than once"
    assert client.states(alone).count("ready") == 1
