"""Rows of a table in the file as arguments of the function that builds a kernel."""

from __future__ import annotations

import pytest

from tirlens import source

BUILDER = """
import ops_on_tvm as K

def make(m, n):
    @K.kernel(warps=4)
    def copy(A, B):
        pass
    return copy

def get_kernel(m, n, label=None, **more):
    return wrap(make(m, n))
"""
TABLES = {
    "dicts": (
        "CONFIGS = [dict(m=64, n=32), {'m': 128, 'n': 64, 'label': 'b'}]",
        ["make(m=64, n=32)", "get_kernel(m=64, n=32)", "get_kernel(m=128, n=64, label='b')"],
    ),
    "benchmarks first": (
        "CONFIGS = [dict(m=64, n=32)]\nBENCH = [dict(m=8192, n=4096)]",
        ["make(m=8192, n=4096)", "make(m=64, n=32)"],
    ),
    "rows that a function makes": (
        (
            "def case(m):\n    x = m\n    return {'m': x, 'n': x, 'label': str(x)}\n"
            "CASES = [case(i) for i in range(4)] + [case(9)]"
        ),
        [
            "make(**{k: v for k, v in CASES[0].items() if k in ('m', 'n')})",
            "get_kernel(**CASES[0])",
        ],
    ),
    "rows by name": ("SHAPES = {'a': {'m': 1, 'n': 2}}", ["make(m=1, n=2)"]),
    "a table of other things": ("OPTIONS = [dict(color=1)]\nNAMES = ['a', 'b']", []),
    "too few arguments": ("CONFIGS = [dict(m=1)]", []),
}


@pytest.mark.parametrize("case", TABLES)
def test_the_rows_of_a_table_are_candidates(case: str) -> None:
    table, expected = TABLES[case]
    (kernel,) = source.read(BUILDER + table).kernels
    assert (kernel.name, kernel.prim_func) == ("make", "copy")
    found = [item.expression for item in kernel.candidates]
    assert [expression for expression in expected if expression in found] == expected
    assert bool(found) is bool(expected)
    assert found.index(expected[0]) == 0 if expected else not found


@pytest.mark.parametrize("package", ["triton", "cutlass.cute", "taichi"])
def test_kernels_of_other_languages_are_not_found(package: str) -> None:
    text = BUILDER.replace("import ops_on_tvm as K", f"import {package} as K")
    assert source.read(text).kernels == ()


@pytest.mark.parametrize(
    ("imports", "count"),
    [
        ("from tilefoundry import prim_func", 0),
        ("from tilefoundry import prim_func\nimport tvm", 1),
        ("from .language import prim_func", 1),
        ("from tvm_ops.language import prim_func", 1),
    ],
)
def test_functions_of_another_language_of_that_name_are_not_found(imports: str, count: int) -> None:
    text = imports + "\n@prim_func\ndef copy(A, B):\n    pass\n"
    assert len(source.read(text).kernels) == count


def test_a_call_in_the_text_goes_first() -> None:
    text = BUILDER + "CONFIGS = [dict(m=64, n=32)]\nprint(make(7, 8))"
    (kernel,) = source.read(text).kernels
    assert [item.expression for item in kernel.candidates] == ["make(7, 8)"]
