"""The server that the extension brings, on a machine without any network."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from support.rpc import Client

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="network namespaces of Linux"),
]
BUNDLE = Path(__file__).resolve().parents[2] / "vscode-client/bundle.py"
KERNEL = """
from tvm.script import tirx as T


@T.prim_func
def scale(A: T.Buffer((128000,), "float32")):
    for i in T.thread_binding(1000, thread="blockIdx.x"):
        for j in T.thread_binding(128, thread="threadIdx.x"):
            A[i * 128 + j] = A[i * 128 + j] * T.float32(2)
"""
# A network namespace, for which a user namespace gives the right, has `lo` alone, switched off.
ALONE = ("unshare", "--map-root-user", "--net")


@pytest.fixture
def bundled(tmp_path: Path) -> Path:
    """What the extension brings, made here from this checkout."""
    spec = importlib.util.spec_from_file_location("bundle", BUNDLE)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = tmp_path / "bundled"
    # The wheels stay where they were downloaded.
    module.CLIENT, module.BUNDLED = tmp_path, made  # pyright: ignore[reportAttributeAccessIssue]
    module.build()
    return made


def _descendants(pid: int) -> Iterator[int]:
    """Processes that a process has started, but those that end while they are listed."""
    with suppress(FileNotFoundError, ProcessLookupError):
        for task in Path(f"/proc/{pid}/task").iterdir():
            for child in map(int, (task / "children").read_text().split()):
                yield child
                yield from _descendants(child)


def _network(process: object) -> Path | None:
    """The network namespace of a process, or None if the process has ended."""
    try:
        return Path(f"/proc/{process}/ns/net").readlink()
    except FileNotFoundError:
        return None


def test_an_analysis_needs_no_network(bundled: Path, tmp_path: Path, tvm_python: Path) -> None:
    if not shutil.which("unshare") or subprocess.run([*ALONE, "true"], check=False).returncode:
        pytest.skip("this system lets nobody make a network namespace")
    file = tmp_path / "scale.py"
    file.write_text(KERNEL)
    # As the extension starts it.
    command = ("-I", "-S", "-X", f"pycache_prefix={tmp_path / 'cache'}", str(bundled), "serve")
    program = (*ALONE, sys.executable)
    with Client(program=program, command=command, environment={"HOME": str(tmp_path)}) as client:
        client.initialize(trusted=True, interpreter=str(tvm_python))
        uri = client.open(file)
        client.wait_ready(uri)

        server = client.process.pid
        devices = Path(f"/proc/{server}/net/dev").read_text().splitlines()[2:]
        assert [line.split(":")[0].strip() for line in devices] == ["lo"]
        assert len(Path(f"/proc/{server}/net/route").read_text().splitlines()) <= 1
        network = _network(server)
        assert network is not None
        assert network != _network("self")
        networks = set(map(_network, _descendants(server))) - {None}
        assert networks == {network}, "the analysis runs in a worker"

        (kernel,) = client.command("tirlens.report", uri)["json"]["kernels"]
        assert (kernel["name"], kernel["flop"]) == ("scale", 128000)
        assert kernel["time_s"] > 0
        assert [line for line, _ in client.hints(uri)]
        assert client.diagnostics(uri) == []
