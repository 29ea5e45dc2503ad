"""Requirements 2, 3 and 17: a clean protocol, no survivors, the machine left alone."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

import pytest

from robust.conftest import Start
from support.robust import (
    amount,
    kernel,
    kill_together,
    marked,
    named,
    resident_mb,
    until,
    workers,
)
from support.rpc import Client
from tirlens_worker.isolation import namespace

pytestmark = [pytest.mark.slow, pytest.mark.timeout(amount(300, 1200))]

# Children of user code in all their forms: plain, in a session of their own, ignoring signals.
CHILDREN = """\
import os, signal, subprocess, sys, time
_a = subprocess.Popen(["sleep", "97"])
_b = subprocess.Popen(["sleep", "98"], start_new_session=True)
_c = subprocess.Popen([sys.executable, "-c", "import signal, time\\n"
    "for s in (1, 2, 3, 15): signal.signal(s, signal.SIG_IGN)\\ntime.sleep(99)"])
_w = time.sleep(60)
"""


def _hanging(start: Start, mark: dict[str, str], python: Path, path: Path) -> tuple[Client, str]:
    client = start()
    client.initialize(trusted=True, interpreter=str(python), settings={"timeout": 30})
    uri = client.open(path, CHILDREN + kernel(1024))
    sleeps = ("sleep 97", "sleep 98", "time.sleep(99)")
    until(lambda: all(any(s in c for c in marked(mark).values()) for s in sleeps), 30, "children")
    return client, uri


@pytest.mark.parametrize(
    "how",
    [
        "sigkill",
        "exit",
        "end-of-input",
        "sigterm",
        "guard-sigkill",
        "worker-sigkill",
        "all-sigkill",
    ],
)
def test_03_no_survivors(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path, how: str
) -> None:
    if how == "all-sigkill" and not namespace.is_possible():
        pytest.skip("without a namespace of processes nobody is left to end them")
    client, uri = _hanging(start, mark, tvm_python, tmp_path / "a.py")
    if how == "sigkill":
        client.process.kill()
    elif how == "sigterm":
        client.process.terminate()
    elif how == "end-of-input":
        assert client.process.stdin is not None
        client.process.stdin.close()
    elif how == "exit":
        assert client.request("shutdown") is None
        client.notify("exit")
        assert client.wait_end() == 0
    elif how == "all-sigkill":
        kill_together([client.process.pid, *_guards(mark), *workers(mark)])
    else:
        (victim,) = _guards(mark) if how == "guard-sigkill" else workers(mark)
        go = set(marked(mark)) - {client.process.pid}
        os.kill(victim, signal.SIGKILL)
        until(lambda: not go & set(marked(mark)), 2.0, f"the end of {marked(mark)}")
        client.wait_ready(uri)
        assert client.command("tirlens.devices")
        client.process.kill()
    client.process.wait(3)
    until(lambda: not marked(mark), 2.0, f"the end of {marked(mark)}")


def _guards(mark: dict[str, str]) -> list[int]:
    """What is between the server and its workers."""
    return named(mark, "tirlens-guard")


@pytest.mark.parametrize("pause_s", [0.0, 1.0])
def test_a_worker_that_is_killed_while_idle_costs_the_next_save_no_hints(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path, pause_s: float
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    for size in (2048, 4096):
        for pid in workers(mark):
            os.kill(pid, signal.SIGKILL)
        time.sleep(pause_s)
        ready = client.states(uri).count("ready")
        client.replace(uri, size, kernel(size))
        client.save(uri)
        client.wait_ready(uri, ready + 1)
        assert client.hints(uri)
        assert client.diagnostics(uri) == []
        report = client.command("tirlens.report", uri)["json"]
        assert report["kernels"][0]["flop"] == size
    assert client.stray == []


@pytest.mark.parametrize("how", ["cancel", "save", "close", "timeout"])
def test_03_no_child_of_user_code_survives_its_analysis(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path, how: str
) -> None:
    client = start()
    limit_s = 3 if how == "timeout" else 30
    client.initialize(trusted=True, interpreter=str(tvm_python), settings={"timeout": limit_s})
    warm = client.open(tmp_path / "warm.py", kernel(1024))
    client.wait_ready(warm)
    stay = {client.process.pid, *_guards(mark), *workers(mark)}
    uri = client.open(tmp_path / "a.py", CHILDREN + kernel(1024))
    until(lambda: any("sleep 98" in command for command in marked(mark).values()), 10, "children")
    # The process of the analysis, and what user code has started in it.
    go = set(marked(mark)) - stay
    if how == "cancel":
        client.wait(lambda: _progress(client, "a.py") != [], 10)
        (token,) = _progress(client, "a.py")
        client.notify("window/workDoneProgress/cancel", {"token": token})
    elif how == "save":
        client.replace(uri, 2, kernel(2048))
        client.save(uri)
    elif how == "close":
        client.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
    else:
        client.wait_ready(uri)
    until(lambda: not go & set(marked(mark)), 2.0, f"the end of {marked(mark)}")
    assert stay <= set(marked(mark)), "the worker itself stays warm"
    assert len(set(marked(mark)) - stay) <= 1, "no more than the child that waits"


def _progress(client: Client, name: str) -> list[str]:
    told = [params for method, params in client.notifications if method == "$/progress"]
    return [p["token"] for p in told if p["value"].get("title", "").endswith(" " + name)]


def test_03_restarts_leave_nothing(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path
) -> None:
    for number in range(amount(4, 50)):
        client = start()
        client.initialize(trusted=True, interpreter=str(tvm_python))
        client.open(tmp_path / "a.py", CHILDREN + kernel(1024))
        # Each time at another moment: while probing, importing, analysing.
        time.sleep(0.25 * (number % 8))
        client.process.kill()
        client.process.wait()
    until(lambda: not marked(mark), 2.0, f"the end of {marked(mark)}")


FLOODS = {
    "print": "for _ in range(100): print('y' * 1_000_000)\n",
    "stderr": "import sys\nfor _ in range(100): sys.stderr.write('y' * 1_000_000)\n",
    "write(1)": "import os\nfor _ in range(100): os.write(1, b'y' * 1_000_000)\n",
    "write(2)": "import os\nfor _ in range(100): os.write(2, b'y' * 1_000_000)\n",
    "header": "import os\nfor _ in range(9999): os.write(1, b'Content-Length: 9\\r\\n\\r\\n{')\n",
    "printf": "import ctypes\n_c = ctypes.CDLL(None)\n"
    "for _ in range(100): _c.printf(b'%1000000s', b'y')\n_n = _c.fflush(None)\n",
    "other descriptors": "import os\nfor _d in range(3, 40):\n    try: _n = os.write(_d, b'junk')\n"
    "    except OSError: pass\n",
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_02_floods_of_output_leave_the_protocol_clean(
    start: Start, tmp_path: Path, tvm_python: Path, flood: str
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", flood + kernel(1024))
    client.wait_ready(uri)
    assert client.stray == []
    assert len(client.stderr) < 20_000
    information = client.command("tirlens.debugInformation")
    assert len(str(information)) < 100_000
    # The server and, after what user code wrote into its pipes, a worker too are as before.
    other = client.open(tmp_path / "b.py", kernel(2048))
    client.wait_ready(other)
    assert client.command("tirlens.report", other)["json"]["kernels"][0]["flop"] == 2048
    if flood != FLOODS["other descriptors"]:
        assert client.command("tirlens.report", uri)["json"]["kernels"][0]["flop"] == 1024


WRITE = """\
import os
def _write(data, times):
    for d in range(3, 4096):
        try:
            for _ in range(times):
                os.write(d, data)
        except OSError:
            pass
"""
SPOILT = {
    "gigabytes": "_n = _write(b'y' * (1 << 20), 1500)\n",
    "one message": "_n = _write(b'Content-Length: 1500000000\\r\\n\\r\\n', 1) or "
    "_write(b'y' * (1 << 20), 1500)\n",
    "results": '_r = b\'{"$":"Result","id":%d}\'\n'
    "_n = [_write(b'Content-Length: %d\\r\\n\\r\\n' % len(_r % i) + _r % i, 1)"
    " for i in range(500)]\n",
}


@pytest.mark.parametrize("statement", SPOILT.values(), ids=SPOILT)
def test_04_what_is_written_to_all_descriptors_reaches_no_other_file(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path, statement: str
) -> None:
    client = start()
    client.initialize(trusted=True, interpreter=str(tvm_python))
    warm = client.open(tmp_path / "warm.py", kernel(1024))
    client.wait_ready(warm)
    before, (worker,) = resident_mb(client.process.pid), workers(mark)
    text = WRITE + statement + "_w = __import__('time').sleep(1)\n" + kernel(1024)
    uri = client.open(tmp_path / "a.py", text)
    client.wait_ready(uri)
    (problem,) = client.diagnostics(uri)
    assert "something else than its results was written" in problem["message"]
    assert resident_mb(client.process.pid) - before < 100
    assert worker in workers(mark), "the worker stays"
    for size in (2048, 4096, 8192):
        other = client.open(tmp_path / f"{size}.py", kernel(size))
        client.wait_ready(other)
        assert client.diagnostics(other) == []
        assert client.command("tirlens.report", other)["json"]["kernels"][0]["flop"] == size
    assert client.stray == []


def _tree(folder: Path) -> dict[str, tuple[int, int]]:
    found = {}
    for path in folder.rglob("*"):
        stat = path.lstat()
        found[str(path.relative_to(folder))] = (
            stat.st_mtime_ns if path.is_file() else 0,
            stat.st_size,
        )
    return found


def test_17_nothing_is_written_outside_the_cache_folder(
    start: Start, tmp_path: Path, tvm_python: Path, tilelang_python: Path
) -> None:
    home, project, temporary = (tmp_path / name for name in ("home", "project", "temporary"))
    for folder in (home / ".tilelang" / "cache", project / "package", temporary):
        folder.mkdir(parents=True)
    (home / ".tilelang" / "cache" / "mine").write_text("x")
    (project / "helper.py").write_text("SIZE = 1024\n")
    (project / "package" / "__init__.py").write_text("")
    (project / "package" / "part.py").write_text("from helper import SIZE\n")
    imports = "import helper\nimport package.part\n"
    before = {folder: _tree(folder) for folder in (home, project, temporary)}
    client = start(
        HOME=str(home),
        XDG_CACHE_HOME=str(home / "cache"),
        XDG_CONFIG_HOME=str(home / "config"),
        TMPDIR=str(temporary),
        PYTHONDONTWRITEBYTECODE="",
    )
    client.initialize(trusted=True)
    for python, text in ((tvm_python, kernel(1024)), (tilelang_python, TILELANG)):
        params = {"settings": {"tirlens": {"python": str(python)}}}
        client.notify("workspace/didChangeConfiguration", params)
        uri = client.open(project / f"{python.parts[-3]}.py", imports + text)
        client.wait_ready(uri)
        assert client.diagnostics(uri) == []
    assert client.request("shutdown") is None
    client.notify("exit")
    client.wait_end()
    for folder, tree in before.items():
        changed = {name for name, stamp in _tree(folder).items() if tree.get(name) != stamp}
        allowed = ("cache", "cache/tirlens")
        outside = {n for n in changed if n not in allowed and not n.startswith("cache/tirlens/")}
        assert outside == set()
        assert tree.keys() <= _tree(folder).keys()


TILELANG = """\
import tilelang
import tilelang.language as T


@tilelang.jit
def fill(N=4096):
    @T.prim_func
    def main(A: T.Tensor((N,), "float32")):
        with T.Kernel(N // 128, threads=128) as bx:
            for i in T.Parallel(128):
                A[bx * 128 + i] = T.float32(1)
    return main


kernel = fill(4096)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_17_the_worker_has_low_priority_and_sees_no_gpu(
    start: Start, mark: dict[str, str], tmp_path: Path, tvm_python: Path
) -> None:
    client = start(CUDA_VISIBLE_DEVICES="0")
    client.initialize(trusted=True, interpreter=str(tvm_python))
    uri = client.open(tmp_path / "a.py", kernel(1024))
    client.wait_ready(uri)
    (worker,) = workers(mark)
    assert os.getpriority(os.PRIO_PROCESS, worker) > os.getpriority(os.PRIO_PROCESS, 0)
    assert b"\0CUDA_VISIBLE_DEVICES=\0" in Path(f"/proc/{worker}/environ").read_bytes()
    opened: list[str] = []
    for item in Path(f"/proc/{worker}/fd").iterdir():
        # A worker that forks its next child closes what it has listed here a moment ago.
        with contextlib.suppress(FileNotFoundError):
            opened.append(str(item.readlink()))
    assert opened and not [name for name in opened if "nvidia" in name]
