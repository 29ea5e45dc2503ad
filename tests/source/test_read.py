"""Kernels that the text alone shows: which there are, how to get at them, and where they stand."""

from __future__ import annotations

import textwrap

import pytest

from tirlens import source
from tirlens.source.source_file import KernelSource

TVM = "from tvm.script import ir as I, tirx as T\n"
TIRX = "from tvm_tirx.script import tirx as T\n"
TILELANG = "import tilelang\nimport tilelang as tl\nimport tilelang.language as T\n"


def read(text: str) -> source.SourceFile:
    return source.read(textwrap.dedent(text))


def only(text: str) -> KernelSource:
    (kernel,) = read(text).kernels
    return kernel


KERNELS = {
    "a function": (
        TVM + "@T.prim_func\ndef f(a: T.handle):\n    pass\n",
        [("f", "prim_func", None, 3)],
    ),
    "a function, decorator with arguments and another alias": (
        "from tvm.script import tirx as tt\n@tt.prim_func(private=True)\ndef f():\n    pass\n",
        [("f", "prim_func", None, 3)],
    ),
    "a name imported by itself": (
        "from tvm.script.tirx import prim_func\n@prim_func\ndef f():\n    pass\n",
        [("f", "prim_func", None, 3)],
    ),
    "a function of TIRx": (
        TIRX + "@T.function\ndef f(A: T.Tensor((4,), T.int32)):\n    pass\n",
        [("f", "prim_func", None, 3)],
    ),
    "a function of TIRx for other functions": (
        TIRX + "@T.function(private=True)\ndef add(x: T.int32) -> T.int32:\n    return x\n",
        [],
    ),
    "a function of TIRx with compile-time parameters": (
        TIRX + "@T.jit\ndef f(*, N: T.constexpr):\n    pass\n",
        [("f", "factory", None, 3)],
    ),
    "a function of Relax is no kernel": (
        "from tvm.script import relax as R\n@R.function\ndef f():\n    pass\n",
        [],
    ),
    "a module of functions": (
        TVM
        + "@I.ir_module\nclass M:\n    @T.prim_func\n    def a():\n        pass\n"
        + "    @T.prim_func\n    def b():\n        pass\n",
        [("M", "ir_module", "a", 5), ("M", "ir_module", "b", 8)],
    ),
    "functions in a plain class": (
        TVM + "class C:\n    @T.prim_func\n    def a():\n        pass\n",
        [("C.a", "prim_func", None, 4)],
    ),
    "a lazy factory": (
        TILELANG
        + "@tilelang.jit(out_idx=[-1])\ndef f(M):\n    @T.prim_func\n    def main():\n"
        + "        pass\n    return main\n",
        [("f", "factory", "main", 7)],
    ),
    "an eager kernel": (
        TILELANG + "@tl.jit\ndef f(A, n: int):\n    with T.Kernel(1) as b:\n        pass\n",
        [("f", "eager", None, 5)],
    ),
    "a jitted function that hands on": (
        TILELANG + "@tilelang.jit\ndef f(n):\n    return make(n)\n",
        [("f", "factory", None, 5)],
    ),
    "a tuned factory": (
        TILELANG
        + "@tilelang.autotune(configs=[])\n@tilelang.jit\ndef f(n):\n    @T.prim_func\n"
        + "    def main():\n        pass\n    return main\n",
        [("f", "factory", "main", 8)],
    ),
    "a plain factory that compiles": (
        TILELANG
        + "def f(n):\n    @T.prim_func\n    def main():\n        pass\n"
        + "    kernel = tilelang.compile(main)\n    return kernel\n",
        [("f", "factory", "main", 6)],
    ),
    "a factory of a factory": (
        TILELANG
        + "def f(n):\n    @tilelang.jit\n    def g(block):\n        @T.prim_func\n"
        + "        def main():\n            pass\n        return main\n    return g\n",
        [("f", "factory", "main", 8)],
    ),
    "macros are no kernels": (
        TILELANG + "@T.macro\ndef f(a):\n    pass\n",
        [],
    ),
    "a jit of something else": (
        "from numba import jit\n@jit\ndef f(a):\n    pass\n",
        [],
    ),
}


@pytest.mark.parametrize(("text", "expected"), KERNELS.values(), ids=KERNELS)
def test_kernels(text: str, expected: list[tuple[str, str, str | None, int]]) -> None:
    found = [(k.name, k.style, k.prim_func, k.span.line) for k in source.read(text).kernels]
    assert found == expected


def test_a_kernel_that_a_test_keeps_says_how_to_get_at_it() -> None:
    kernel = only(
        TVM
        + textwrap.dedent(
            """
            def test_add(dtype="float32"):
                n = 16
                unused = 3
                m = n * 2
                @T.prim_func
                def main(a: T.Buffer((m,), dtype)):
                    pass
                check(main)
            """
        )
    )
    assert (kernel.name, kernel.local_to) == ("test_add.main", "test_add")
    assert [span.line for span in kernel.prelude] == [4, 6]
    assert kernel.definition is not None and kernel.definition.line == 8
    assert [c.expression for c in kernel.candidates] == ["test_add(dtype='float32')"]


def test_the_span_is_the_head_of_the_definition() -> None:
    span = only(TVM + "if True:\n    @T.prim_func\n    def f(): pass\n").span
    assert (span.column, span.end_column) == (4, 9)


def test_columns_are_code_points() -> None:
    factory = "import tilelang\n@tilelang.jit\ndef f(n):\n    return g(n)\n"
    (candidate,) = only(factory + "x = 'ümläut'; f(1)\n").candidates
    assert candidate.span is not None
    assert (candidate.span.column, candidate.span.end_column) == (14, 18)


@pytest.mark.parametrize(
    ("imports", "hint"),
    [(TVM, "tvm"), (TILELANG, "tilelang"), ("import tvm, tilelang\n", "tilelang"), ("", None)],
)
def test_the_framework_that_the_imports_name(imports: str, hint: str | None) -> None:
    assert source.read(imports).framework_hint == hint


BROKEN = {
    "a line that is being typed": ("@T.prim_func\ndef g():\n    x = (\n", (7, 8)),
    "a name without a body": ("def g(\n", (5, 5)),
    "an open string": ("x = 'abc\n", (5, 4)),
}


@pytest.mark.parametrize(("tail", "at"), BROKEN.values(), ids=BROKEN)
def test_kernels_of_a_broken_file_are_found(tail: str, at: tuple[int, int]) -> None:
    found = source.read(TVM + "@T.prim_func\ndef f():\n    pass\n" + tail)
    assert "f" in [kernel.name for kernel in found.kernels]
    (problem,) = found.problems
    assert (problem.kind, problem.span.line, problem.span.column) == ("syntax", *at)


def test_kernels_behind_a_broken_line_are_found() -> None:
    text = (
        TVM + "x = = 1\n@T.prim_func\ndef f():\n    y = [1,\n\n@T.prim_func\ndef g():\n    pass\n"
    )
    assert "g" in [kernel.name for kernel in source.read(text).kernels]


@pytest.mark.parametrize(
    "text", ["", "\x00", "\ufeffx = 1", "(" * 5000, "\\", "'''", "\t\n  x", "é = ("]
)
def test_any_text_can_be_read(text: str) -> None:
    assert source.read(text).kernels == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("def f(:\n    pass\n", "invalid syntax at ':': '(' of line 1 is not closed before it"),
        ("x = 2 +* 3\n", "invalid syntax at '*'"),
        ("x = f(a, b\n", "'(' was never closed"),
    ],
)
def test_syntax_error_names_what_is_wrong(text: str, message: str) -> None:
    assert [problem.message for problem in source.read(text).problems] == [message]
