"""Which interpreter is chosen for a file, and what is said if it cannot be used."""

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.robust import marked, new_mark, until
from tirlens import worker_client

_ANSWER = '{"python": "%s", "frameworks": %s, "folders": ["%s"]}'


def _python(folder: Path, frameworks: str = "{}", version: str = "3.11.7") -> Path:
    """An executable that answers the probe as a Python with these frameworks would."""
    packages = folder / "site-packages"
    packages.mkdir(parents=True)
    path = folder / "bin" / "python"
    path.parent.mkdir()
    path.write_text(f"#!/bin/sh\necho '{_ANSWER % (version, frameworks, packages)}'\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


TVM = '{"tvm": "0.27.0"}'
TILELANG = '{"tilelang": "0.1.15"}'


def test_the_setting_is_obeyed_whatever_it_has(tmp_path: Path) -> None:
    python = _python(tmp_path / "bare")
    _python(tmp_path / ".venv", TVM)
    found = worker_client.find_interpreter(
        tmp_path / "a.py", setting=python, framework_hint="tvm", environ={}
    )
    assert (found.path, found.why) == (python, "the setting")
    assert found.problem is not None
    assert found.problem.kind == "interpreter"
    assert f"{python} -m pip install" in found.problem.message
    assert '"apache-tvm-ffi==' in found.problem.message


def test_a_setting_may_be_an_environments_folder(tmp_path: Path) -> None:
    python = _python(tmp_path / "env", TILELANG)
    found = worker_client.find_interpreter(tmp_path / "a.py", setting=tmp_path / "env", environ={})
    assert (found.path, found.problem) == (python, None)


@pytest.mark.parametrize(
    ("hint", "chosen"), [("tvm", "nearest"), ("tilelang", "active"), (None, "active")]
)
def test_the_framework_of_the_file_decides(tmp_path: Path, hint: str | None, chosen: str) -> None:
    active = _python(tmp_path / "active", TILELANG)
    nearest = _python(tmp_path / "project" / ".venv", TVM)
    file = tmp_path / "project" / "src" / "a.py"
    found = worker_client.find_interpreter(
        file, framework_hint=hint, environ={"VIRTUAL_ENV": str(tmp_path / "active"), "PATH": ""}
    )
    assert found.path == {"active": active, "nearest": nearest}[chosen]
    assert found.problem is None


def test_the_editors_environment_goes_before_the_active_one(tmp_path: Path) -> None:
    editor = _python(tmp_path / "editor", TVM)
    _python(tmp_path / "active", TVM)
    found = worker_client.find_interpreter(
        tmp_path / "a.py", editor=editor, environ={"VIRTUAL_ENV": str(tmp_path / "active")}
    )
    assert found.why == "the editor's environment"


def test_if_none_has_the_framework_the_first_says_what_to_install(tmp_path: Path) -> None:
    first = _python(tmp_path / "project" / ".venv", TVM)
    found = worker_client.find_interpreter(
        tmp_path / "project" / "a.py", framework_hint="tilelang", environ={"PATH": ""}
    )
    assert found.path == first
    assert found.problem is not None
    assert "it has tvm 0.27.0" in found.problem.message
    # pip would replace the apache-tvm-ffi that the tvm of this environment needs.
    assert f"{first} -m pip install" not in found.problem.message
    assert f"{first} -m venv .venv-tilelang && .venv-tilelang/" in found.problem.message
    assert 'python -m pip install "tilelang>=' in found.problem.message


def test_tirx_as_a_package_of_its_own_has_an_environment_of_its_own(tmp_path: Path) -> None:
    both = _python(tmp_path / "both", '{"tvm": "0.27.0", "tvm_tirx": "0.1.0a4"}')
    found = worker_client.find_interpreter(
        tmp_path / "a.py", setting=both, framework_hint="tvm_tirx", environ={}
    )
    assert found.problem is not None
    # A process that imports both ends: tvm_ffi registers each function once.
    assert "it has tvm 0.27.0, which cannot share an environment" in found.problem.message
    assert 'pip install "apache-tvm-tirx==0.1.0a4"' in found.problem.message
    alone = _python(tmp_path / "alone", '{"tvm_tirx": "0.1.0a4"}')
    found = worker_client.find_interpreter(
        tmp_path / "a.py", setting=alone, framework_hint="tvm_tirx", environ={}
    )
    assert found.problem is None


@pytest.mark.parametrize(
    ("version", "word"), [("3.7.1", "Python 3.8 or newer"), ("2.7.18", "Python 3.8 or newer")]
)
def test_an_old_python_is_named(tmp_path: Path, version: str, word: str) -> None:
    python = _python(tmp_path / "old", TVM, version)
    found = worker_client.find_interpreter(tmp_path / "a.py", setting=python, environ={})
    assert found.problem is not None
    assert word in found.problem.message


@pytest.mark.parametrize("kind", ["missing", "not executable", "not python", "failing"])
def test_an_unusable_setting_says_why(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "python"
    if kind != "missing":
        path.write_text({"not python": "#!/bin/sh\necho hi\n"}.get(kind, "#!/bin/sh\nexit 3\n"))
        path.chmod(0o644 if kind == "not executable" else 0o755)
    found = worker_client.find_interpreter(tmp_path / "a.py", setting=path, environ={})
    assert found.problem is not None
    assert "cannot be used" in found.problem.message


_PROBING = """
import os, sys
sys.path[:0] = {path!r}
from collections.abc import Callable
from pathlib import Path
from support.robust import marked, new_mark, until
from tirlens import worker_client
os.environ["PYTHONPATH"] = {folder!r}
worker_client.probe(Path(sys.executable))
"""


def test_03_a_probe_does_not_outlive_its_server(tmp_path: Path) -> None:
    """The probe that is asked here never answers: what it imports has no end."""
    started = tmp_path / "started"
    (tmp_path / "json.py").write_text(
        f"import time\nopen({str(started)!r}, 'w').close()\ntime.sleep(60)\n"
    )
    mark = new_mark()
    script = _PROBING.format(path=sys.path, folder=str(tmp_path))
    server = subprocess.Popen([sys.executable, "-c", script], env={**os.environ, **mark})
    until(started.exists, 20.0, "the probe")
    assert len(marked(mark)) == 2
    server.kill()
    server.wait()
    until(lambda: not marked(mark), 2.0, "its end")


def test_a_probe_is_repeated_when_packages_change(tmp_path: Path) -> None:
    python = _python(tmp_path / "env")
    packages = tmp_path / "env" / "site-packages"
    answer = tmp_path / "answer"
    answer.write_text(_ANSWER % ("3.11.7", "{}", packages))
    python.write_text(f"#!/bin/sh\ncat {answer}\n")
    assert worker_client.probe(python).frameworks == {}
    answer.write_text(_ANSWER % ("3.11.7", TVM, packages))
    assert worker_client.probe(python).frameworks == {}
    (packages / "tvm").mkdir()
    assert worker_client.probe(python).frameworks == {"tvm": "0.27.0"}


def test_tilelangs_copy_of_tvm_is_taken_where_none_has_tvm(tmp_path: Path) -> None:
    python = _python(tmp_path / "env", TILELANG)
    found = worker_client.find_interpreter(
        tmp_path / "a.py", setting=python, framework_hint="tvm", environ={}
    )
    assert (found.path, found.problem) == (python, None)
    bare = _python(tmp_path / "bare")
    found = worker_client.find_interpreter(
        tmp_path / "a.py", setting=bare, framework_hint="tvm", environ={}
    )
    assert found.problem is not None


def _installed(python: Path) -> str:
    found = worker_client.find_interpreter("a.py", setting=python, framework_hint="tvm", environ={})
    return found.installation


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda packages: (packages / "tvm/lib/libtvm.so").unlink(), id="broken"),
        pytest.param(
            lambda packages: (packages / "tvm/lib/libtvm.so").write_text("other"), id="replaced"
        ),
        pytest.param(
            lambda packages: (packages / "apache_tvm_ffi-0.1.15.dist-info").mkdir(), id="upgraded"
        ),
    ],
)
def test_results_of_changed_packages_are_of_another_installation(
    tmp_path: Path, change: Callable[[Path], object]
) -> None:
    python = _python(tmp_path, TVM)
    packages = tmp_path / "site-packages"
    (packages / "tvm/lib").mkdir(parents=True)
    (packages / "tvm/lib/libtvm.so").write_text("")
    before = _installed(python)
    assert _installed(python) == before
    change(packages)
    assert _installed(python) != before
