"""What analysed code tries to reach, and does not: each test is named in SECURITY.md."""

from __future__ import annotations

import json
import multiprocessing
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tirlens import repository
from tirlens.worker_client.probing import probe
from tirlens_worker.isolation import capabilities, landlock

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="what the kernel refuses"),
]
WITHOUT_NAMESPACES = Path(__file__).parents[1] / "support/without_namespaces.py"
CANARY = "HUSH-HUSH"
KERNEL = """
from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def k(A: T.Buffer((100 + N,), "float32")):
    for i in T.thread_binding(100 + N, thread="threadIdx.x"):
        A[i] = A[i] + T.float32(1)
"""
# Each counts what it has reached: N must be 0.
# The worker, its guard, the command that has started them, and what this has started else. In a
# namespace the worker is the first process.
OF_OTHERS = """
import glob, os
def parent(pid):
    with open("/proc/%d/stat" % pid) as file:
        return int(file.read().rpartition(")")[2].split()[1])
def others():
    pids, pid = [], os.getppid()
    while pid and b"attack.py" not in open("/proc/%d/cmdline" % pid, "rb").read():
        pids.append(pid)
        pid = parent(pid)
    assert pids
    if pid:
        all_ = [int(path[6:]) for path in glob.glob("/proc/[0-9]*") if int(path[6:]) != os.getpid()]
        pids += [pid, *(item for item in all_ if parent(item) == pid)]
    return ["/proc/%d" % item for item in pids]
"""
ATTACKS = {
    "the environment in /proc": """
N = 0
for path in glob.glob("/proc/[0-9]*/environ"):
    try:
        N += b"HUSH-HUSH" in open(path, "rb").read()
    except OSError:
        pass
""",
    "its own environment": "N = sum('HUSH-HUSH' in value for value in os.environ.values())",
    "the memory of others": """
N = 0
for path in others():
    for name, mode in (("mem", "rb"), ("mem", "r+b"), ("auxv", "rb"), ("maps", "rb")):
        try:
            open(path + "/" + name, mode).read(1)
        except OSError as error:
            # Address 0 is not mapped: whoever gets so far has the memory.
            N += error.errno == 5
        else:
            N += 1
""",
    "the open files of others": """
N = 0
for path in others():
    try:
        found = os.listdir(path + "/fd")
    except OSError:
        continue
    for name in found:
        for flags in (os.O_RDONLY, os.O_WRONLY):
            try:
                os.close(os.open(path + "/fd/" + name, flags | os.O_NONBLOCK))
                N += 1
            except OSError:
                pass
""",
    "a program that it starts": """
import subprocess
command = "for p in /proc/[0-9]*/environ; do tr '\\\\0' '\\\\n' < $p; done 2>/dev/null; true"
N = subprocess.run(["sh", "-c", command], capture_output=True).stdout.count(b"HUSH-HUSH")
""",
}
WHERE: dict[str, list[str]] = {
    "with namespaces": [],
    "without namespaces": [sys.executable, str(WITHOUT_NAMESPACES)],
    "without Landlock": [sys.executable, str(WITHOUT_NAMESPACES), "--no-landlock"],
}


def _analyze(paths: list[Path], python: Path, under: list[str]) -> dict[str, Any]:
    done = subprocess.run(
        [
            *(*under, sys.executable, "-m", "tirlens", "analyze", "--fresh"),
            *(*(path.name for path in paths), "--format", "json", "--python", str(python)),
        ],
        cwd=paths[0].parent,
        env={**os.environ, "GITHUB_TOKEN": CANARY, "SECRET": CANARY, "TIRLENS_DAEMON": "0"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert CANARY not in done.stdout + done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("where", WHERE)
def test_15_analysed_code_reads_and_writes_no_other_process(
    where: str, tmp_path: Path, tvm_python: Path
) -> None:
    paths = {attack: tmp_path / f"{number}_attack.py" for number, attack in enumerate(ATTACKS)}
    for attack, path in paths.items():
        path.write_text(OF_OTHERS + ATTACKS[attack] + KERNEL)
    (tmp_path / ".git").mkdir()
    kernels = _analyze(list(paths.values()), tvm_python, WHERE[where])["kernels"]
    flop = {Path(kernel["file"]).name: kernel["flop"] for kernel in kernels}
    assert {attack: flop[path.name] for attack, path in paths.items()} == dict.fromkeys(paths, 100)


# Root may read any process unless it lacks these, as in containers.
_READING = "-sys_ptrace,-perfmon,-sys_admin"
_WITHOUT_PTRACE = (
    ["setpriv", *(f"--{name}={_READING}" for name in ("bounding-set", "inh-caps"))]
    if os.geteuid() == 0 and shutil.which("setpriv")
    else []
)


LOOK = """
import os
def at(place):
    with open(place, "a") as file:
        file.write(repr(dict(os.environ)))
        try:
            with open("/proc/%d/environ" % os.getppid()) as parent:
                file.write(parent.read())
        except PermissionError:
            file.write("refused")
"""


def test_15_what_starts_in_an_interpreter_sees_no_tokens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A ``.pth`` file in the environment of a project, as the probe and the worker start it."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / ".venv")])
    (packages,) = (tmp_path / ".venv").glob("lib/python*/site-packages")
    seen = tmp_path / "seen"
    (packages / "look.pth").write_text(f"import look; look.at({str(seen)!r})\n")
    (packages / "look.py").write_text(LOOK)
    path = tmp_path / "k.py"
    path.write_text("N = 0\n" + KERNEL)
    done = subprocess.run(
        [*_WITHOUT_PTRACE, sys.executable, "-m", "tirlens", "analyze", "--fresh", "k.py"],
        cwd=tmp_path,
        env={**os.environ, "GITHUB_TOKEN": CANARY, "TIRLENS_DAEMON": "0"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout or done.stderr
    assert "PATH" in seen.read_text() and "refused" in seen.read_text()
    assert CANARY not in seen.read_text()
    monkeypatch.setenv("GITHUB_TOKEN", CANARY)
    seen.unlink()
    probe(tmp_path / ".venv/bin/python")
    assert f"'GITHUB_TOKEN': '{CANARY}'" not in seen.read_text()


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *arguments],
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout.strip()


def _hook(root: Path, program: str) -> None:
    for name in ("post-index-change", "post-checkout", "reference-transaction", "pre-auto-gc"):
        (root / ".git/hooks" / name).write_text(f"#!/bin/sh\n{program}\n")
        (root / ".git/hooks" / name).chmod(0o755)


def _filters(root: Path, program: str) -> None:
    (root / ".gitattributes").write_text("*.py filter=evil.one diff=evil\n* filter=evil.one\n")
    for key in ("clean", "smudge", "process"):
        _git(root, "config", f"filter.evil.one.{key}", program)
    _git(root, "config", "filter.evil.one.required", "true")
    _git(root, "config", "diff.evil.command", program)
    _git(root, "config", "diff.evil.textconv", program)


CONFIGURATIONS: dict[str, Callable[[Path, str], object]] = {
    "fsmonitor": lambda root, program: _git(root, "config", "core.fsmonitor", program),
    "hooks": _hook,
    "a folder of hooks": lambda root, program: (
        _hook(root, program),
        _git(root, "config", "core.hooksPath", ".git/hooks"),
    ),
    "filters": _filters,
    "an external diff": lambda root, program: _git(root, "config", "diff.external", program),
    "a pager": lambda root, program: _git(root, "config", "core.pager", program),
}


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_15_git_executes_nothing_of_a_repository(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tirlens.cli.revision import revision

    root, ran = tmp_path / "work", tmp_path / "ran"
    root.mkdir()
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\nenv >> {ran}\nexit 1\n")
    program.chmod(0o755)
    _git(root, "init", "-q")
    (root / "k.py").write_text("x = 1\n")
    _git(root, "add", ".")
    _git(root, "commit", "-qm", "one")
    CONFIGURATIONS[name](root, str(program))
    (root / "k.py").write_text("x = 2\n")
    ran.unlink(missing_ok=True)
    monkeypatch.chdir(root)
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", str(program))
    monkeypatch.setenv("GIT_PAGER", str(program))
    found = revision(root / "k.py", "HEAD")
    found.write(tmp_path / "base")
    assert (tmp_path / "base/k.py").read_text() == "x = 1\n"
    assert repository.text_at(root, found.commit, root / "k.py") == "x = 1\n"
    assert found.has_changed(root / "k.py")
    assert not ran.exists()


def test_15_git_fetches_nothing(tmp_path: Path) -> None:
    """A partial clone, which lacks the texts of files, from a repository that would be asked."""
    origin, clone, ran = tmp_path / "origin", tmp_path / "clone", tmp_path / "ran"
    origin.mkdir()
    _git(origin, "init", "-q")
    _git(origin, "config", "uploadpack.allowFilter", "true")
    (origin / "k.py").write_text("x = 1\n")
    _git(origin, "add", ".")
    _git(origin, "commit", "-qm", "one")
    url = f"file://{origin}"
    _git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", url, str(clone))
    program = tmp_path / "upload-pack"
    program.write_text(f'#!/bin/sh\ntouch {ran}\nexec git-upload-pack "$@"\n')
    program.chmod(0o755)
    _git(clone, "config", "remote.origin.uploadpack", str(program))
    commit = _git(clone, "rev-parse", "HEAD")
    assert repository.text_at(clone, commit, clone / "k.py") is None
    assert not ran.exists()
    # It would have been.
    assert _git(clone, "cat-file", "blob", "HEAD:k.py") == "x = 1"
    assert ran.exists()


def _in_domain(has_scopes: bool, folder: Path, other: int) -> list[str]:
    """What a process in a Landlock domain cannot do; run in a process of its own."""
    assert capabilities.drop()
    assert landlock.enter_domain(has_scopes)
    (folder / "a").mkdir()
    (folder / "b").mkdir()
    (folder / "a/file").write_text("")
    (folder / "a/file").rename(folder / "b/file")
    os.link(folder / "b/file", folder / "a/link")
    attempts: dict[str, Callable[[], object]] = {
        "environ": lambda: Path(f"/proc/{other}/environ").read_bytes(),
        "mem": lambda: os.open(f"/proc/{other}/mem", os.O_RDONLY),
        "fd": lambda: os.open(f"/proc/{other}/fd/0", os.O_WRONLY),
        "signal": lambda: os.kill(other, 0),
        "own": lambda: Path("/proc/self/environ").read_bytes(),
    }
    refused: list[str] = []
    for name, attempt in attempts.items():
        try:
            attempt()
        except PermissionError:
            refused.append(name)
    return refused


@pytest.mark.skipif(not landlock.can_scope_signals(), reason="no Landlock with scopes")
@pytest.mark.parametrize("has_scopes", [True, False])
def test_15_landlock_hides_other_processes_of_the_user(has_scopes: bool, tmp_path: Path) -> None:
    """Also without scopes, as in kernels before 6.12; files are renamed as before."""
    other = subprocess.Popen(["sleep", "60"], stdin=subprocess.PIPE)
    try:
        with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
            refused = pool.submit(_in_domain, has_scopes, tmp_path, other.pid).result(30)
    finally:
        other.kill()
        other.wait()
    assert refused == ["environ", "mem", "fd", *(["signal"] if has_scopes else [])]
