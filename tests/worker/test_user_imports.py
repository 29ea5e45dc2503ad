"""A helper that does not import as a whole costs those kernels alone that need what is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

KERNEL = """
@T.prim_func
def fill(A: T.Buffer((SIZE,), "float32")):
    for i in T.serial(SIZE):
        A[i] = T.float32(1)
"""
IMPORTS = "from tvm.script import tirx as T\n"
HELPER = """from __future__ import annotations
import math, absent

@absent.jit
def launch(x: Unknown):
    return x

class Tuned(absent.Base):
    pass

try:
    import absent_too
    WAYS = 2
except ImportError:
    WAYS = 1

SIZE = 32 * WAYS + int(math.sqrt(4)) - 2

def make():
    return Tuned()
"""


@pytest.fixture(scope="module")
def run(tvm_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("imported")
    found = worker_client.find_interpreter(folder, setting=tvm_python)
    with worker_client.BlockingClient(found) as client:
        yield lambda path, text, calls=(): client.analyze(
            request_of(path, text, limit_s=20.0, calls=calls)
        )


@pytest.mark.parametrize(
    ("imports", "size", "problem"),
    [
        ("from helper import SIZE\n", 32, None),
        ("import helper\nSIZE = helper.SIZE\n", 32, None),
        ("from helper import launch\nSIZE = launch(8)\n", 8, None),
        ("from helper import launch, SIZE\n", 32, None),
        (
            "import helper\nSIZE = helper.make() or 8\n",
            None,
            "No module named 'absent', of which absent.Base is needed here",
        ),
    ],
)
def test_what_stands_behind_a_failed_statement_is_there(
    run: Run, tmp_path: Path, imports: str, size: int | None, problem: str | None
) -> None:
    (tmp_path / "helper.py").write_text(HELPER)
    result = run(tmp_path / "document.py", IMPORTS + imports + KERNEL)
    shapes = [facts.buffers[0].shape for facts in result.kernels]
    assert shapes == ([(size,)] if size else [])
    assert len(result.problems) == (problem is not None)
    assert all(item.message.startswith(problem or "") for item in result.problems)


def test_a_package_that_imports_the_text_itself_is_imported_all_the_same(
    run: Run, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from .kernels import later\nfrom .sizes import SIZE\n")
    (package / "sizes.py").write_text("SIZE = 48\n")
    text = IMPORTS + "from package.sizes import SIZE\n" + KERNEL + "\ndef later(): pass\n"
    (package / "kernels.py").write_text(text)
    result = run(package / "kernels.py", text)
    assert [facts.buffers[0].shape for facts in result.kernels] == [(48,)]
    assert result.problems == ()


def test_modules_that_need_the_text_are_completed_when_it_has_been_executed(
    run: Run, tmp_path: Path
) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("from .sizes import Derived\nfrom .late import NUMBER\n")
    (package / "constants.py").write_text("HALF = 20\n")
    (package / "sizes.py").write_text(
        "from .kernels import Base\n\nclass Derived(Base):\n    size = 2 * Base.half\n"
    )
    (package / "late.py").write_text(
        "from . import kernels, sizes\n\nNUMBER = kernels.Base.half + sizes.Derived.size\n"
    )
    text = (
        IMPORTS
        + "from package.constants import HALF\n\nclass Base:\n    half = HALF\n\n"
        + "def make(size):\n"
        + KERNEL.replace("\n", "\n    ").replace("SIZE", "size")
        + "\n    return fill\n"
    )
    (package / "kernels.py").write_text(text)
    for call, size in (
        ("make(__import__('package.sizes', fromlist=['x']).Derived.size)", 40),
        ("make(__import__('package').NUMBER)", 60),
    ):
        result = run(package / "kernels.py", text, (call,))
        assert result.problems == ()
        assert [facts.buffers[0].shape for facts in result.kernels] == [(size,)]


def test_relative_imports_need_no_init_file(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "outer" / "inner"
    folder.mkdir(parents=True)
    (folder / "helper.py").write_text("from ..sizes import SIZE\n")
    (folder.parent / "sizes.py").write_text("SIZE = 24\n")
    imported = "from .helper import SIZE\nfrom ..sizes import SIZE as again\n"
    result = run(folder / "kernels.py", IMPORTS + imported + KERNEL)
    assert result.problems == ()
    assert [facts.buffers[0].shape for facts in result.kernels] == [(24,)]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("from tvm.script import tic as T\n", " has no tvm.script.tic: the file is for another"),
        ("import tvm.relay\n", " has no tvm.relay: models are modules of tvm.relax"),
    ],
)
def test_a_part_that_this_version_lacks_is_told_with_the_version(
    run: Run, tmp_path: Path, line: str, message: str
) -> None:
    result = run(tmp_path / "document.py", line + KERNEL.replace("SIZE", "8"))
    (problem,) = {problem.message for problem in result.problems if problem.kind == "import"}
    assert problem.startswith("tvm 0.") and message in problem
