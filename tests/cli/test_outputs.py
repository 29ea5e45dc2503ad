"""Results are never written over inputs or other files of the user, and whole or not at all."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support import namespaces
from tirlens import file_writer
from tirlens.cli import execute_here

KERNEL = """from tvm.script import tirx as T


@T.prim_func(s_tir=True)
def k(A: T.Buffer((128,), "float32")):
    for i in T.thread_binding(128, thread="threadIdx.x"):
        A[i] = A[i] + T.float32(1)
"""
OTHERS = {
    "other.py": "x = 1\n",
    "README.md": "# A project\n\n## k\n\n`k.py`\n",
    "pyproject.toml": "[project]\nname = 'x'\n",
    "data.json": '{"schema_version": 1, "rows": []}\n',
    "table.csv": "file,kernel\n",
    "page.html": "<!DOCTYPE html><html><title>Mine</title></html>\n",
    "notes": "remember the milk\n",
    "mine.toml": 'extends = "h100"\nid = "mine"\n',
    "binary": "\x00\x01\x02",
    "tirlens-captured.json": '{"schema_version": 1,\n "device": "h100-sxm",\n "commands": [],\n'
    ' "kernels": [\n]}\n',
}


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tirlens", *arguments],
        cwd=folder,
        env={
            **os.environ,
            "XDG_CACHE_HOME": str(folder.parent / "cache"),
            "TIRLENS_DAEMON": "0",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=100,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "k.py").write_text(KERNEL)
    for name, text in OTHERS.items():
        (folder / name).write_text(text)
    (folder / "link").symlink_to("k.py")
    os.link(folder / "k.py", folder / "hard.json")
    return folder


def _content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in sorted(folder.iterdir())}


NAMES = ["k.py", "./k.py", "link", "hard.json", *OTHERS]
COMMANDS = [
    "analyze k.py --output",
    "analyze . --format json --output",
    "report k.py --html",
    "report k.py --output",
    "compare k.py --base HEAD --write",
    "compare k.py --device h100 --device a100 --output",
    "lower k.py --output",
    "measure k.py --output",
    "devices --format json --output",
    "calibrate --cpu --output",
    "doctor k.py --output",
]


@pytest.mark.slow
def test_a_file_of_the_user_is_refused(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before anything is analysed."""
    before = _content(folder)
    monkeypatch.chdir(folder)
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder.parent / "cache"))
    for command, name in itertools.product(COMMANDS, NAMES):
        assert execute_here([*command.split(), name]) == 2, (command, name)
        errors = capsys.readouterr().err
        assert "was not written by this command" in errors or "the command reads" in errors
    assert _content(folder) == before


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in NAMES if name != "tirlens-captured.json"])
def test_capture_refuses_before_the_program_runs(name: str, folder: Path) -> None:
    before = _content(folder)
    program = [sys.executable, "-c", "open('ran', 'w')"]
    done = run(folder, "capture", "--output", name, "--", *program)
    assert done.returncode == 2
    assert _content(folder) == before


@pytest.mark.slow
def test_two_results_need_two_files(folder: Path) -> None:
    done = run(folder, "report", "k.py", "--output", "new", "--html", "./new")
    assert done.returncode == 2
    assert "two results would be in one file" in done.stderr
    assert not (folder / "new").exists()


@pytest.mark.slow
@pytest.mark.parametrize("form", ["table", "json"])
def test_an_earlier_result_is_replaced(form: str, folder: Path) -> None:
    path = folder / "out"
    for _ in range(2):
        assert run(folder, "devices", "--format", form, "--output", "out").returncode == 0
        assert "h100" in path.read_text()
        path.chmod(0o640)
    assert path.stat().st_mode & 0o777 == 0o640
    # What the user has changed since is theirs.
    path.write_text("mine\n")
    assert run(folder, "devices", "--format", form, "--output", "out").returncode == 2
    assert path.read_text() == "mine\n"
    path.write_text("")
    assert run(folder, "devices", "--format", form, "--output", "out").returncode == 0


@pytest.mark.slow
def test_a_link_keeps_its_place(folder: Path) -> None:
    (folder / "results").mkdir()
    (folder / "out.json").symlink_to("results/out.json")
    for _ in range(2):
        done = run(folder, "devices", "--format", "json", "--output", "out.json")
        assert done.returncode == 0
    assert (folder / "out.json").is_symlink()
    assert json.loads((folder / "results/out.json").read_text())
    assert [path.name for path in (folder / "results").iterdir()] == ["out.json"]


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="devices")
@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/null", "pipe"])
def test_a_stream_is_written_to(name: str, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    reader = subprocess.Popen(["sh", "-c", "cat pipe > copy"], cwd=folder)
    done = run(folder, "devices", "--format", "json", "--output", name)
    assert done.returncode == 0
    if name == "pipe":
        assert reader.wait(10) == 0
        assert json.loads((folder / "copy").read_text())
        assert (folder / "pipe").is_fifo()
    else:
        reader.kill()
        reader.wait()
    if name == "/dev/stdout":
        assert json.loads(done.stdout)


@pytest.mark.slow
def test_a_result_of_another_machine_is_known_by_its_content(
    folder: Path, tvm_python: Path
) -> None:
    for form in ("table", "json", "csv", "markdown", "sarif", "html"):
        options = (
            ["report", "k.py", "--html", "out-html"]
            if form == "html"
            else ["analyze", "k.py", "--format", form, "--output", f"out-{form}"]
        )
        for number in range(2):
            cache = str(folder.parent / f"cache-{number}")
            done = run(folder, *options, "--python", str(tvm_python), XDG_CACHE_HOME=cache)
            assert done.returncode == 0, f"{form}: {done.stderr}"


def test_an_error_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), file_writer.replacing(path) as file:
        file.write("new" * 100_000)
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


FULL = """
import json, os, sys
from pathlib import Path
from tirlens import file_writer
from tirlens.cli import execute_here
from tirlens.cli import main
os.chdir("/full")
Path("out").write_text("")
first = main(["devices", "--format", "json", "--output", "out"])
old = Path("out").read_text()
files = set(os.listdir("."))
try:
    with Path("fill").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)
except OSError:
    pass
second = main(["devices", "--format", "json", "--output", "out"])
assert (first, second) == (0, 2), (first, second)
assert Path("out").read_text() == old and json.loads(old)
assert set(os.listdir(".")) == files | {"fill"}
"""


@pytest.mark.slow
@namespaces.needed
def test_on_a_full_disk_the_old_file_stays(tmp_path: Path) -> None:
    done = namespaces.run_with_tmpfs("/full", "1m", [sys.executable, "-c", FULL], tmp_path)
    assert done.returncode == 0, done.stderr
    assert "out cannot be written: No space left on device" in done.stderr
