"""A package that is not installed keeps only what needs it from being read."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[..., Result]

TVM = "from tvm.script import tirx as T\n"
KERNEL = """
@T.prim_func
def add(A: T.Buffer((512,), "float32"), B: T.Buffer((512,), "float32")):
    for i in T.serial(512):
        B[i] = A[i] + T.float32({})
"""


def _facts(result: Result, missing: str) -> KernelFacts:
    (problem,) = result.problems
    assert (problem.kind, problem.message) == ("import", f"No module named '{missing}'")
    (facts,) = result.kernels
    return facts


MODULE = """
import absent_package.testing
"""
BASE = """
from absent_package.models import Base, Field
class Options(Base):
    size: int = Field(3)
"""
DECORATOR = """
import absent_package as ap
@ap.mark.cases('n', [1, 2])
def make(n: ap.Size[int] | None):
    return n
assert make(7) == 7
"""
SETTINGS = """
import absent_package
absent_package.settings.fast = True
logger = absent_package.logger('x')
"""


@pytest.mark.parametrize("text", [MODULE, BASE, DECORATOR, SETTINGS])
def test_what_does_not_need_it_is_read(run_tvm: Run, text: str) -> None:
    text = TVM + text + KERNEL.format("1.0")
    missing = "absent_package"
    assert _facts(run_tvm(text), missing).name == "add"


def test_the_value_that_a_kernel_needs_of_it_is_missing(run_tvm: Run) -> None:
    text = "import absent_package\nSCALE = absent_package.scale() * 2\n" + TVM
    result = run_tvm(text + KERNEL.format("SCALE"))
    assert result.kernels == ()
    first, *others = result.problems
    assert first.message == "No module named 'absent_package'"
    assert [item.message for item in others] == [
        "No module named 'absent_package', of which absent_package.scale() is needed here"
    ]


def test_a_program_that_expects_its_absence_sees_it(run_tvm: Run) -> None:
    text = (
        TVM
        + """
import importlib.util
try:
    import absent_package
    SCALE = 2.0
except ImportError:
    SCALE = 3.0
assert importlib.util.find_spec("absent_package") is None
assert SCALE == 3.0
import another_absent_package as other
try:
    import another_absent_package
except ImportError:
    SCALE = 1.0
assert SCALE == 1.0
"""
        + KERNEL.format("SCALE")
    )
    facts = _facts(run_tvm(text), "another_absent_package")
    assert facts.name == "add"


def test_a_module_of_the_user_may_need_it(
    run_tvm: Run, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("own")
    (folder / "own_sizes.py").write_text(
        "import absent_package\n@absent_package.cached\ndef size():\n    return 512\n"
    )
    text = f"import sys\nsys.path.insert(0, {str(folder)!r})\nfrom own_sizes import size\n" + TVM
    result = run_tvm(text + KERNEL.format("1.0").replace("512", "size()", 1))
    assert result.problems == ()
    assert [facts.name for facts in result.kernels] == ["add"]


def test_frameworks_have_no_stand_in(run_tvm: Run) -> None:
    result = run_tvm("import tilelang\nimport tilelang.language as T\n@tilelang.jit\ndef f(N):\n"
                     "    @T.prim_func\n    def main(A: T.Tensor((N,), 'float32')):\n        pass\n"
                     "    return main\n")  # fmt: skip
    assert result.kernels == ()
    assert result.problems[0].message == "No module named 'tilelang'"
