"""Requirement 14: which files of the user's an analysis depends on, those that are missing too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Set
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[Path, str], Result]

IMPORTS = "from tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def fill(A: T.Buffer((64,), "float32")):
    for i in T.serial(64):
        A[i] = T.float32(1)
"""
FACTORY = """
def make(n=64):
    import late
    while late.ENDLESS: pass
    @T.prim_func
    def main(A: T.Buffer((n,), "float32")):
        for i in T.serial(n):
            A[i] = T.float32(1)
    return main
"""
FILES = {
    "good.py": "SIZE = 64\n",
    "raises.py": "import good\nSIZE = 1 / 0\n",
    "broken.py": "def f(:\n",
    "wants.py": "import absent\n",
    "late.py": "ENDLESS = False\n",
    "package/__init__.py": "",
    "package/part.py": "from . import other\n",
    "package/other.py": "",
}


@pytest.fixture(scope="module")
def run(tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("origins")
    found = worker_client.find_interpreter(folder, setting=tvm_python)
    with worker_client.BlockingClient(found) as client:
        yield lambda path, text: client.analyze(request_of(path, text, limit_s=3.0))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(content)
    return tmp_path


def _places(name: str) -> set[str]:
    return {f"{name}.py", f"{name}/__init__.py"}


@pytest.mark.parametrize(
    ("statements", "wanted"),
    [
        ("import json\n", frozenset[str]()),
        ("import good\n", {"good.py"}),
        ("import package.part\n", {f"package/{n}.py" for n in ("__init__", "part", "other")}),
        ("import raises\n", {"raises.py", "good.py"}),
        ("import broken\n", {"broken.py"}),
        ("import absent\n", _places("absent")),
        ("import absent.part\n", _places("absent")),
        ("import wants\n", {"wants.py", *_places("absent")}),
        ("try: import absent\nexcept ImportError: absent = None\n", _places("absent")),
        ("from package import absent\n", {"package/__init__.py", *_places("package/absent")}),
        ("from good import nothing\n", {"good.py"}),
    ],
)
def test_14_the_files_behind_a_text_are_told(
    run: Run, folder: Path, statements: str, wanted: Set[str]
) -> None:
    result = run(folder / "document.py", IMPORTS + statements + KERNEL)
    assert [facts.name for facts in result.kernels] == ["fill"]
    assert set(result.files) == {str(folder / name) for name in wanted}


def test_14_a_text_in_a_package_misses_its_neighbour(run: Run, folder: Path) -> None:
    result = run(folder / "package" / "document.py", IMPORTS + "from .absent import x\n" + KERNEL)
    names = {str(Path(path).relative_to(folder)) for path in result.files}
    assert names == {"package/__init__.py", *_places("package/absent")}


@pytest.mark.parametrize("endless", [False, True])
def test_14_what_a_kernel_imports_is_told_with_what_the_file_does(
    run: Run, folder: Path, endless: bool
) -> None:
    (folder / "late.py").write_text(f"ENDLESS = {endless}\n")
    result = run(folder / "document.py", IMPORTS + "import good\n" + KERNEL + FACTORY)
    assert [facts.definition for facts in result.kernels] == ["fill", "make"][: 2 - endless]
    # Of a kernel that has no end, what came before is what is known.
    wanted = {"good.py"} if endless else {"good.py", "late.py"}
    assert set(result.files) == {str(folder / name) for name in wanted}
