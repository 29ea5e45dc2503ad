"""Commands that a daemon executes: the same as without, and only where one may."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.robust import kernel
from support.terminal import shown
from tirlens.cli.warm import client
from tirlens.cli.warm.messages import receive, send
from tirlens.version import __version__

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="no daemon on Windows")
TIRLENS = (sys.executable, "-m", "tirlens")
BROKEN = "import tilelang\nfrom tvm.script import tirx as T\n\n@T.prim_func\ndef f(A):\n    for\n"


@dataclass(frozen=True)
class Workspace:
    """A folder with a daemon of its own."""

    folder: Path
    environment: Mapping[str, str]

    def run(self, *argv: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*TIRLENS, *argv],
            cwd=self.folder,
            env={**self.environment, **environment},
            capture_output=True,
            text=True,
            check=False,
        )

    def cold(self, *argv: str) -> tuple[int, str, str]:
        found = self.run(*argv, TIRLENS_DAEMON="0")
        return found.returncode, found.stdout, found.stderr

    def warm(self, *argv: str) -> tuple[int, str, str]:
        before = self.executed
        found = self.run(*argv)
        assert self.executed == before + 1, "the daemon has executed it"
        return found.returncode, found.stdout, found.stderr

    @property
    def executed(self) -> int:
        """How many commands the daemon has executed."""
        said = self.run("daemon", "status").stdout
        return int(said.partition(" commands")[0].rpartition(" ")[2])


@pytest.fixture(scope="module")
def workspace() -> Iterator[Workspace]:
    # The path of a socket is short.
    folder = Path(tempfile.mkdtemp(prefix="tirlens-"))
    project = folder / "project"
    project.mkdir()
    (project / "pyproject.toml").touch()
    (project / "broken.py").write_text(BROKEN)
    (project / "empty.py").write_text("x = 1\n")
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    environment |= {"XDG_RUNTIME_DIR": str(folder), "XDG_CACHE_HOME": str(folder / "cache")}
    made = Workspace(project, environment)
    try:
        started = made.run("daemon", "start")
        assert started.returncode == 0, started.stderr
        yield made
    finally:
        made.run("daemon", "stop")
        shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize(
    "argv",
    [
        ("analyze", "broken.py"),
        ("analyze", "broken.py", "--format", "json"),
        ("report", "broken.py", "--color"),
        ("analyze", "missing.py"),
        ("analyze", "empty.py"),
        ("compare", "broken.py", "--device", "h100", "--device", "none"),
        ("analyze", "broken.py", "--output", "/missing/out.txt"),
    ],
)
def test_output_and_status_are_the_same(workspace: Workspace, argv: tuple[str, ...]) -> None:
    assert workspace.warm(*argv) == workspace.cold(*argv)


@pytest.mark.slow
def test_where_no_daemon_is_allowed(workspace: Workspace) -> None:
    before = workspace.executed
    for name, value in (("CI", "true"), ("TIRLENS_DAEMON", "0")):
        assert workspace.run("analyze", "empty.py", **{name: value}).returncode == 2
    assert workspace.executed == before
    again = workspace.run("daemon", "start")
    assert "executes the commands below" in again.stdout
    assert "running already" in workspace.run("daemon", "run").stderr


@pytest.mark.slow
def test_a_folder_that_others_can_enter_is_not_used(workspace: Workspace) -> None:
    folder = Path(workspace.environment["XDG_RUNTIME_DIR"]) / "tirlens"
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    try:
        assert workspace.run("daemon", "status").returncode == 1
        assert "make it private" in workspace.run("daemon", "start").stderr
        assert workspace.run("analyze", "empty.py").returncode == 2
    finally:
        folder.chmod(0o700)


@pytest.mark.slow
def test_a_daemon_ends_when_it_is_idle(tmp_path: Path, workspace: Workspace) -> None:
    other = Workspace(tmp_path, workspace.environment)
    done = other.run("daemon", "run", "--idle-minutes", "0.01")
    assert (done.returncode, done.stderr) == (0, "")
    assert other.run("daemon", "status").returncode == 1


@pytest.mark.slow
def test_a_daemon_of_another_version_declines_and_ends(
    tmp_path: Path, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in workspace.environment.items():
        monkeypatch.setenv(name, value)
    other = Workspace(tmp_path, workspace.environment)
    assert other.run("daemon", "start").returncode == 0
    connection = client.connect(tmp_path)
    assert connection is not None
    with connection:
        send(connection, {"ask": "execute", "version": "another"}, [1, 2])
        answer = receive(connection)
        assert answer is not None and answer[0] == {"accepted": False}
    deadline_s = time.monotonic() + 10
    while client.ask(tmp_path, "status") is not None:
        assert time.monotonic() < deadline_s
        time.sleep(0.05)


@pytest.mark.slow
def test_kernels_with_warm_workers(workspace: Workspace, tvm_python: Path) -> None:
    python = ("--python", str(tvm_python))
    file = workspace.folder / "kernels.py"
    for size in (1024, 2048):
        file.write_text(kernel(size))
        # Executed again, although the first command has stored the result.
        argv = ("analyze", file.name, *python, "--fresh")
        assert workspace.warm(*argv) == workspace.cold(*argv)
    assert _on_terminal(workspace, "1", *argv) == _on_terminal(workspace, "0", *argv)


def _on_terminal(workspace: Workspace, daemon: str, *argv: str) -> str:
    """What a command writes on a terminal of 90 columns."""
    environment = {**workspace.environment, "TIRLENS_DAEMON": daemon}
    return shown([*TIRLENS, *argv], 90, environment, workspace.folder)


@pytest.mark.slow
def test_an_interrupt_ends_the_command_and_not_the_daemon(
    workspace: Workspace, tvm_python: Path
) -> None:
    file = workspace.folder / "long.py"
    file.write_text("while True:\n    pass\n" + kernel(1024))
    argv = ["analyze", "long.py", "--python", str(tvm_python), "--timeout", "200"]
    environment = {**workspace.environment}
    process = subprocess.Popen(
        [*TIRLENS, *argv], cwd=workspace.folder, env=environment, stderr=subprocess.PIPE
    )
    while "executes a command" not in workspace.run("daemon", "status").stdout:
        assert process.poll() is None
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, b"tirlens: interrupted\n")
    assert workspace.warm("analyze", "broken.py") == workspace.cold("analyze", "broken.py")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the state of a process")
def test_a_stopped_daemon_is_a_message(workspace: Workspace) -> None:
    cold = workspace.cold("analyze", "broken.py")
    pid = int(workspace.run("daemon", "status").stdout.split()[2])
    os.kill(pid, signal.SIGSTOP)
    try:
        found = workspace.run("analyze", "broken.py")
        assert (found.returncode, found.stdout) == cold[:2]
        said = (
            f"tirlens: the daemon {pid} is stopped: kill -CONT {pid} continues it, kill -9 ends it"
        )
        assert found.stderr == f"{said}; this command does not use it\n{cold[2]}"
        for action in ("status", "stop", "start"):
            answer = workspace.run("daemon", action)
            assert (answer.returncode, answer.stdout, answer.stderr) == (2, "", f"{said}\n")
    finally:
        os.kill(pid, signal.SIGCONT)
    assert workspace.warm("analyze", "broken.py") == cold


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the state of a process")
def test_a_daemon_that_is_stopped_while_it_executes_is_a_message(
    workspace: Workspace, tvm_python: Path
) -> None:
    file = workspace.folder / "slow.py"
    # A bare call would be left out.
    file.write_text("import time\nslept = time.sleep(9)\n" + kernel(1024))
    argv = ["analyze", "slow.py", "--python", str(tvm_python)]
    process = subprocess.Popen(
        [*TIRLENS, *argv],
        cwd=workspace.folder,
        env={**workspace.environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while "executes a command" not in (said := workspace.run("daemon", "status").stdout):
        assert process.poll() is None
    pid = int(said.split()[2])
    os.kill(pid, signal.SIGSTOP)
    assert process.stderr is not None
    assert f"the daemon {pid} is stopped" in process.stderr.readline()
    os.kill(pid, signal.SIGCONT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "1.02 kFLOP" in output


ORDER = """
import array, json, os, socket, struct, sys
def order(path):
    connection = socket.socket(socket.AF_UNIX)
    try:
        connection.connect(path)
        null = os.open(os.devnull, os.O_WRONLY)
        body = json.dumps({"ask": ASK, "version": VERSION, "argv": ["analyze", "broken.py"],
            "cwd": FOLDER, "environment": {}, "umask": 18, "streams": [["utf-8", "replace"]] * 2})
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [null, null]))
        connection.sendmsg([struct.pack(">I", len(body))], [rights])
        connection.sendall(body.encode())
        return 90 + len(connection.recv(1))
    except OSError:
        return 90
"""
COUNTED = """
from tvm.script import tirx as T


@T.prim_func
def k(A: T.Buffer((N,), "float32")):
    for i in T.thread_binding(N, thread="threadIdx.x"):
        A[i] = A[i] + T.float32(1)
"""
WAYS = {
    "itself": "N = order(PATH)",
    "a program": "import subprocess\nN = int(subprocess.check_output([sys.executable, '-c', TEXT + "
    "'print(order(PATH))'.replace('PATH', repr(PATH))]))",
    "a process of another session": """
import time
reading, writing = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        import ctypes
        ctypes.CDLL(None).prctl(15, b"bash", 0, 0, 0)
        time.sleep(0.3)
        os.write(writing, b"%d" % order(PATH))
    os._exit(0)
N = int(os.read(reading, 10))
""",
}


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel says which process asks")
@pytest.mark.parametrize(
    ("ask", "ways", "where"),
    [
        *(("execute", tuple(WAYS), where) for where in ((), ("--no-landlock",), None)),
        ("status", ("itself",), ()),
        ("stop", ("itself",), None),
    ],
)
def test_15_a_daemon_takes_no_orders_from_analysed_code(
    ask: str,
    ways: tuple[str, ...],
    where: tuple[str, ...] | None,
    workspace: Workspace,
    tvm_python: Path,
) -> None:
    (socket_,) = Path(workspace.environment["XDG_RUNTIME_DIR"], "tirlens").glob("*.sock")
    names = {"ASK": ask, "VERSION": __version__, "FOLDER": str(workspace.folder)}
    text = ORDER
    for name, value in names.items():
        text = text.replace(name, repr(value))
    files = {way: workspace.folder / f"order_{number}.py" for number, way in enumerate(ways)}
    for way, file in files.items():
        file.write_text(f"PATH, TEXT = {str(socket_)!r}, {text!r}\n{text}\n{WAYS[way]}\n{COUNTED}")
    before = workspace.executed
    argv = [*TIRLENS, "analyze", "--fresh", *(file.name for file in files.values())]
    if where is not None:
        script = Path(__file__).parents[1] / "support/without_namespaces.py"
        argv = [sys.executable, str(script), *where, *argv]
    done = subprocess.run(
        [*argv, "--format", "json", "--python", str(tvm_python)],
        cwd=workspace.folder,
        env={**workspace.environment, "TIRLENS_DAEMON": "0"},
        capture_output=True,
        text=True,
    )
    kernels = json.loads(done.stdout)["kernels"]
    flop = {Path(kernel["file"]).name: kernel["flop"] for kernel in kernels}
    assert {way: flop[file.name] for way, file in files.items()} == dict.fromkeys(ways, 90)
    assert workspace.executed == before
