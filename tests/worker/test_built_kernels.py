"""Kernels that a function builds and does not return: in objects, modules and compilations."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.requests import request_of
from tirlens import worker_client
from tirlens_worker.protocol import Result

pytestmark = pytest.mark.slow
Run = Callable[[str], Result]

IMPORTS = """
import tvm
from tvm import relax, tirx
from tvm.script import tirx as T
"""
# A package on top of TVM whose decorator builds a function without TVM's parser.
PACKAGE = """
import tvm
from tvm.script.ir_builder import IRBuilder
from tvm.tirx.script.builder import ir as I

class Kernel:
    def __init__(self, func):
        self.func = func

def kernel(warps):
    def build(body):
        with IRBuilder() as builder:
            with I.prim_func():
                I.func_name(body.__name__)
                A = I.arg("A", I.buffer((1024,), "float32"))
                B = I.arg("B", I.buffer((1024,), "float32"))
                with I.serial(0, 1024) as i:
                    I.buffer_store(B, A[i] * 2.0, [i])
        return Kernel(builder.get())
    return build
"""
KERNEL = """
    @T.prim_func
    def scale(A: T.Buffer((n,), "float32"), B: T.Buffer((n,), "float32")):
        for i in range(n):
            B[i] = A[i] * T.float32(2)
"""
BUILDERS = {
    "compiled": KERNEL + "    return tvm.compile(scale)\n",
    "in an object": KERNEL + "    return Holder(scale)\n",
    "in a module": KERNEL + "    return tvm.IRModule({'main': scale}), [n]\n",
}


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    (folder / "ops_on_tvm.py").write_text(PACKAGE)
    return folder


@pytest.fixture(scope="session")
def run(tvm_python: Path, folder: Path) -> Iterator[Run]:
    found = worker_client.find_interpreter(folder, setting=tvm_python)
    with worker_client.BlockingClient(found) as client:
        yield lambda text: client.analyze(request_of(folder / "built.py", text, limit_s=30.0))


@pytest.mark.parametrize("case", BUILDERS)
def test_a_kernel_that_is_not_returned_is_found_by_its_definition(run: Run, case: str) -> None:
    holder = "class Holder:\n    def __init__(self, func):\n        self.func = func\n"
    text = f"{IMPORTS}{holder}def build(n):{BUILDERS[case]}SIZES = [dict(n=4096)]\n"
    # A module that is made in a function is a kernel of its own, at the line that makes it.
    facts = next(facts for facts in run(text).kernels if facts.definition == "build")
    assert (facts.name, facts.call, facts.call_source) == ("scale", "build(n=4096)", "call-site")


def test_a_decorator_of_a_package_on_tvm(run: Run) -> None:
    text = """
import ops_on_tvm as K

def make(n):
    @K.kernel(warps=4)
    def double(A, B):
        pass
    return double

CONFIGS = [{"n": 1}]
"""
    (facts,) = run(text).kernels
    assert (facts.name, facts.call, facts.span.line) == ("double", "make(n=1)", 6)


def test_a_method_whose_object_is_not_constructed(run: Run) -> None:
    method = KERNEL.replace("\n    ", "\n        ").replace("n,", "4096,").replace("(n)", "(4096)")
    text = (
        f"{IMPORTS}class Image:\n    def __init__(self, config):\n        self.size = config.size\n"
        f"    def scaled(self):{method}        return scale\n"
    )
    (facts,) = run(text).kernels
    assert facts.call == "Image.__new__(Image).scaled()"


def test_functors_of_apache_tvm_026(run: Run) -> None:
    text = (
        IMPORTS
        + """
from tvm.tirx.stmt_functor import StmtExprVisitor, ir_transform, post_order_visit

class Stores(StmtExprVisitor):
    def __init__(self):
        super().__init__()
        self.loads = self.stores = 0

    def visit_buffer_load_(self, op: tirx.BufferLoad):
        self.loads += 1
        super().visit_buffer_load_(op)

    def visit_buffer_store_(self, op):
        self.stores += 1
        super().visit_buffer_store_(op)

def build(n):"""
        + KERNEL
        + """
    visitor = Stores()
    visitor(scale.body)
    assert (visitor.loads, visitor.stores) == (1, 1)
    seen = []
    post_order_visit(scale.body, lambda node: seen.append(isinstance(node, tirx.BufferLoad)))
    assert sum(seen) == 1

    def twice(node):
        if isinstance(node, tirx.BufferStore):
            return tirx.SeqStmt([node, node])
        return None

    return scale.with_body(ir_transform(scale.body, None, twice))

CASES = [dict(n=1024)]
"""
    )
    result = run(text)
    assert [problem.message for problem in result.problems] == []
    (facts,) = result.kernels
    assert str(facts.body).count("mode='write'") == 2


DYNAMIC = """
def build(seed):
    @T.prim_func
    def scale(a: T.handle, b: T.handle, runtime_M: T.int32, has_bias: T.int32):
        n, q_dim0 = T.int64(), T.int64()
        A = T.match_buffer(a, (n, q_dim0, runtime_M), "float32")
        B = T.match_buffer(b, (n, q_dim0, runtime_M), "float32")
        for i, j, k, _ in T.grid(n, q_dim0, runtime_M, has_bias):
            B[i, j, k] = A[i, j, k] * T.float32(2)
    return scale
"""


def test_sizes_come_from_the_call_and_fit_the_device(run: Run) -> None:
    (facts,) = run(
        IMPORTS + DYNAMIC.replace("seed", "seed, M") + "CASES = [dict(seed=3, M=96)]\n"
    ).kernels
    sizes = facts.assumed
    assert facts.call == "build(seed=3, M=96)"
    assert (sizes["runtime_M"], sizes["has_bias"]) == (96, 1)
    assert {item.name for item in facts.variables} == set(sizes)
    # Of 80 GB, an eighth.
    assert 2 * 4 * sizes["n"] * sizes["q_dim0"] * 96 <= 10 << 30
    (facts,) = run(IMPORTS + DYNAMIC + "CASES = [dict(seed=3)]\n").kernels
    assert (
        2 * 4 * facts.assumed["n"] * facts.assumed["q_dim0"] * facts.assumed["runtime_M"]
        <= 10 << 30
    )


def test_a_call_that_builds_several_kernels_is_made_once(run: Run) -> None:
    other = KERNEL.replace("scale", "shift").replace("*", "+")
    text = (
        f"{IMPORTS}CALLS = []\n"
        f"def build_scale(n):{KERNEL}    return {{'a': scale}}\n"
        f"def build_shift(n):{other}    return {{'b': shift}}\n"
        "def build(size, n=None):\n    CALLS.append(1)\n    assert len(CALLS) == 1\n"
        "    return [build_scale(size), build_shift(size)]\n"
        "SIZES = [dict(size=4096)]\n"
    )
    kernels = run(text).kernels
    assert [(facts.name, facts.call) for facts in kernels] == [
        ("scale", "build(size=4096)"),
        ("shift", "build(size=4096)"),
    ]
