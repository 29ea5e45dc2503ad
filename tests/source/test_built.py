"""Statements that build kernels are found in the text, before anything is executed."""

from __future__ import annotations

import pytest

from tirlens import source

TVM = "import tvm\nfrom tvm import relax, te\n"
FACTORY = """
from tvm.script import tirx as T
def f(n):
    @T.prim_func
    def main():
        pass
    return main
"""
# The name, the first and last line and the function that is called, of each built kernel.
TEXTS = {
    "a tensor expression": ("f = te.create_prim_func([A, B])\n", [("f", 3, 3, None)]),
    "a module of it": ("mod = tvm.IRModule({'f': f})\n", [("mod", 3, 3, None)]),
    "a chain of calls": (
        "mod = tvm.IRModule.from_expr(te.create_prim_func([A]).with_attr('a', 1))\n",
        [("mod", 3, 3, None)],
    ),
    "steps of a schedule": (
        "s = tvm.s_tir.Schedule(mod)\ni, j = s.split(x, [None, 8])\ns.reorder(i, j)\n",
        [("s", 3, 3, None), ("s.reorder", 5, 5, None)],
    ),
    "adjacent steps of one kind are one": (
        "sch.bind(i, 'blockIdx.x')\nsch.bind(j, 'threadIdx.x')\n\nsch.bind(k, 'threadIdx.y')\n",
        [("sch.bind", 3, 4, None), ("sch.bind", 6, 6, None)],
    ),
    "a preparing step is shown where it is the last": (
        "sch.split(i, [2, None])\nsch.vectorize(j)\nsch.split(k, [2, None])\n",
        [("sch.vectorize", 4, 4, None), ("sch.split", 5, 5, None)],
    ),
    "a pass over a module": (
        "m = relax.transform.LegalizeOps()(m)\nseq = relax.get_pipeline('zero')\nn = seq(m)\n",
        [("m", 3, 3, None), ("n", 5, 5, None)],
    ),
    "a statement of a block": (
        "with target:\n    mod = relax.get_pipeline('zero')(mod)\n",
        [("mod", 4, 4, None)],
    ),
    "a function that keeps it": (
        "def test():\n    f = te.create_prim_func([A])\n    print(f)\n",
        [("test.f", 4, 4, "test")],
    ),
    "a helper is executed by its caller": (
        "def bind(sch):\n    sch.bind(x, 'blockIdx.x')\ndef test():\n    bind(1)\n",
        [("bind.sch.bind", 4, 4, "test")],
    ),
    "a step that is to fail": (
        "import pytest\ndef test():\n    with pytest.raises(ValueError):\n        sch.bind(a, b)\n",
        [],
    ),
    "the main guard is not executed": (
        "if __name__ == '__main__':\n    f = te.create_prim_func([A])\n",
        [],
    ),
    "several calls of one factory": (
        FACTORY + "a = f(1)\nb = f(2)\n",
        [("a", 10, 10, None), ("b", 11, 11, None)],
    ),
    "one call of a factory is the factory's": (
        FACTORY + "a = f(1)\n",
        [],
    ),
    "an interface that was removed": ("s = te.create_schedule(B.op)\n", [("s", 3, 3, None)]),
    "other libraries": ("import re\nr = re.compile('a')\nparts = 'a b'.split(' ')\n", []),
}


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_statements(text: str, expected: list[tuple[str, int, int, str | None]]) -> None:
    found = [
        (kernel.name, kernel.extent.line, kernel.extent.end_line, kernel.local_to)
        for kernel in source.read(TVM + text).kernels
        if kernel.style == "built"
    ]
    assert found == expected


def test_without_a_framework_nothing_builds() -> None:
    text = "f = te.create_prim_func([A])\nsch.bind(a, b)\nmodel.export_tvm({})\n"
    assert source.read(text).kernels == ()


def test_a_function_that_returns_what_it_builds_is_a_factory() -> None:
    text = "def f(n):\n    out = te.create_prim_func([n])\n    return out\nf(128)\n"
    factory, built = source.read(TVM + text).kernels
    assert (factory.name, factory.style) == ("f", "factory")
    assert factory.candidates[0].expression == "f(128)"
    assert built.name == "f.out"


def test_a_directive_above_a_statement() -> None:
    text = "# tirlens: M=16, device=a100-80-sxm\nf = te.create_prim_func([A])\n"
    (kernel,) = source.read(TVM + text).kernels
    assert kernel.bindings == {"M": 16}
    assert kernel.device is not None
    assert kernel.device.device == "a100-80-sxm"


def test_many_steps_are_limited_and_the_last_is_kept() -> None:
    steps = "".join(f"sch.bind(a{number}, b)\n\n" for number in range(100))
    found = source.read(TVM + steps).kernels
    assert len(found) == 61
    assert found[-1].span.line == 2 + 199
