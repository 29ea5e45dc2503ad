"""A save executes the imports of a file again only if they, or what they import, changed."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from support.requests import request_of
from tirlens.worker_client import BlockingClient, find_interpreter
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="Linux adopts orphans")

# Imported, it adds a line to a file, and takes longer than what is worth a fork server.
HELPER = """
import time
from pathlib import Path
with open(Path(__file__).with_suffix(".log"), "a") as log:
    log.write("imported\\n")
print("helper is imported")
time.sleep({seconds})
SIZE = {size}
{more}
"""
TEXT = """\
from tvm.script import tirx as T

import {module}

# The comment of version {version}
SIZES = [{module}.SIZE]


@T.prim_func
def scale(A: T.Buffer(({module}.SIZE,), "float32")):
    for i in T.serial({module}.SIZE):
        A[i] = A[i] * T.float32({version})
"""

BUILT_TEXT = """\
from tvm import te

import {module}

A = te.placeholder(({module}.SIZE,), name="A")
B = te.compute(({module}.SIZE,), lambda i: A[i] * {version}.0, name="B")
func = te.create_prim_func([A, B])
"""


class Package:
    """A file that imports a module of its folder, and its worker."""

    def __init__(self, client: BlockingClient, folder: Path, module: str) -> None:
        self.client, self.folder, self.module = client, folder, module
        self.version = 0

    def write(self, seconds: float = 0.15, size: int = 64, more: str = "") -> None:
        path = self.folder / f"{self.module}.py"
        path.write_text(HELPER.format(seconds=seconds, size=size, more=more))
        old = time.time() - 10
        os.utime(path, (old, old))

    @property
    def imports(self) -> int:
        """How often the module was executed."""
        log = self.folder / f"{self.module}.log"
        return len(log.read_text().splitlines()) if log.exists() else 0

    def text(self) -> str:
        self.version += 1
        return TEXT.format(module=self.module, version=self.version)

    def analyze(self, text: str | None = None, **options: Any) -> Result:
        path = self.folder / f"uses_{self.module}.py"
        return self.client.analyze(request_of(path, text or self.text(), **options))

    def size(self, text: str | None = None, **options: Any) -> int:
        """The size of the kernel's array, which the module defines."""
        result = self.analyze(text, **options)
        assert result.problems == ()
        (facts,) = result.kernels
        (size,) = facts.buffers[0].shape
        assert isinstance(size, int)
        return size


@pytest.fixture(scope="module", params=[(), ("--no-namespace",)], ids=["alone", "shared"])
def client(
    request: pytest.FixtureRequest, tvm_python: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[BlockingClient]:
    """A worker of each kind that forks."""
    interpreter = find_interpreter(tmp_path_factory.mktemp("fork"), setting=tvm_python)
    with BlockingClient(interpreter, request.param) as client:
        yield client


@pytest.fixture
def package(
    client: BlockingClient, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Package]:
    """A file of its own, whose module takes long to import."""
    found = Package(client, tmp_path, f"helper_{abs(hash(request.node.name)) % 10**8}")
    found.write()
    yield found


def same(one: Result, other: Result) -> bool:
    """Whether two results differ in nothing but their time and what was printed."""
    plain = [replace(each, id=0, duration_s=0.0, output="") for each in (one, other)]
    return plain[0] == plain[1]


@pytest.mark.slow
def test_imports_are_executed_once_for_many_versions(package: Package) -> None:
    for _ in range(4):
        assert package.size() == 64
    assert package.imports == 1


def test_the_result_is_that_of_a_process_of_its_own(
    package: Package, client: BlockingClient
) -> None:
    package.analyze()
    text = package.text()
    after_imports = package.analyze(text)
    package.write()
    # Another time stamp: all is executed.
    os.utime(package.folder / f"{package.module}.py")
    alone = package.analyze(text)
    assert package.imports == 2
    assert same(after_imports, alone)
    assert after_imports.files == alone.files != ()


def test_what_a_statement_at_the_same_place_builds_is_seen_in_each_version(
    package: Package,
) -> None:
    for version in range(3):
        text = BUILT_TEXT.format(module=package.module, version=version)
        assert package.size(text) == 64
    assert package.imports == 1


@pytest.mark.parametrize("change", ["module", "import", "order", "target"])
def test_other_imports_are_executed(package: Package, change: str) -> None:
    assert package.size() == 64
    text, options = package.text(), {}
    if change == "module":
        package.write(size=128)
    elif change == "import":
        text = text.replace("import helper", "import math\nimport helper", 1)
    elif change == "order":
        text = text.replace("# The comment", "X = 1\nimport json  # The comment", 1)
    else:
        options["target"] = {"kind": "cuda", "arch": "sm_80"}
    assert package.size(text, **options) == (128 if change == "module" else 64)
    # An import behind those that were executed is executed behind them.
    assert package.imports == (1 if change == "order" else 2)


def test_imports_that_are_added_are_executed_once_too(package: Package) -> None:
    other = Package(package.client, package.folder, f"{package.module}_more")
    other.write()
    assert package.size() == 64
    for _ in range(3):
        text = package.text().replace("# The comment", f"import {other.module}\n#", 1)
        assert package.size(text) == 64
    assert (package.imports, other.imports) == (1, 1)


def test_a_file_that_appears_where_a_module_was_missing_is_seen(package: Package) -> None:
    package.write(more="try:\n    import late\n    SIZE = 32\nexcept ImportError:\n    pass")
    assert (package.size(), package.size()) == (64, 64)
    (package.folder / "late.py").write_text("")
    assert package.size() == 32


def test_the_end_of_an_analysis_leaves_the_imports(package: Package) -> None:
    assert package.size() == 64
    result = package.analyze(package.text() + "\nimport os\nX = os._exit(3)\n")
    assert [problem.kind for problem in result.problems] == ["crash"]
    assert package.size() == 64
    assert package.imports == 2, "a crash may come from what the imports left"
    result = package.analyze(package.text() + "\nwhile True: pass\n", limit_s=1.0)
    assert [problem.kind for problem in result.problems] == ["timeout"]
    assert package.size() == 64


def test_other_files_keep_theirs(package: Package) -> None:
    others = [Package(package.client, package.folder, f"{package.module}_{i}") for i in range(2)]
    for each in others:
        each.write()
    for each in [package, *others, package, *others]:
        assert each.size() == 64
    assert [each.imports for each in [package, *others]] == [1, 1, 1]


def children_of(pid: int) -> list[int]:
    path = Path(f"/proc/{pid}/task/{pid}/children")
    return [int(word) for word in path.read_text().split()]


STRAYS = {
    "a process in a session of its own": "os.fork() or (os.setsid(), time.sleep(60), os._exit(0))",
    "an announcement of the worker": "[announce(os.getppid())]",
    "an announcement of the first process": "[announce(1)]",
}
ANNOUNCE = """
import os, socket, struct, time
def announce(pid):
    for d in range(3, 1024):
        try:
            if "socket" in os.readlink(f"/proc/self/fd/{d}"):
                os.write(d, struct.pack("<q", pid))
        except OSError:
            pass
"""


@pytest.mark.slow
@pytest.mark.parametrize("statement", STRAYS.values(), ids=STRAYS)
def test_what_analysed_code_leaves_or_says_ends_with_its_analysis(
    package: Package, statement: str
) -> None:
    package.write(more=ANNOUNCE)
    use = f"from {package.module} import *\nfrom {package.module} import os, time, announce\n"
    assert package.size() == 64
    before = worker_processes(package)
    result = package.analyze(use + package.text() + f"\nX = {statement}\n")
    assert [facts.buffers[0].shape for facts in result.kernels] == [(64,)]
    deadline = time.monotonic() + 5
    while worker_processes(package) > before + 1 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert worker_processes(package) <= before + 1
    assert package.size() == 64


def worker_processes(package: Package) -> int:
    """How many processes the worker has below it, itself included."""
    pid = package.client._client.pid
    assert pid is not None
    found, pending = 0, [pid]
    while pending:
        found += 1
        try:
            pending += children_of(pending.pop())
        except OSError:
            continue
    return found
