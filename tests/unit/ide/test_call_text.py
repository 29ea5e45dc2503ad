"""Calls are displayed with the names of what they import."""

from __future__ import annotations

import pytest

from tirlens.ide.call_text import readable

CODE = "[x for x in f.__code__.co_consts if getattr(x, 'co_name', '') == '{0}'][0]"
FUNCTION = "__import__('types').FunctionType(" + CODE + ", globals(), '{0}'{1})"
LAMBDA = FUNCTION.format("<lambda>", "")
CELL = "__import__('types').CellType({})"


@pytest.mark.parametrize(
    ("call", "text"),
    [
        ("gemm(64, dtype='float16')(128)", "gemm(64, dtype='float16')(128)"),
        ("make(op=__import__('a.b', fromlist=['x']).Mish.op)(8)", "make(op=Mish.op)(8)"),
        ("make(__import__('math').exp, 2)", "make(exp, 2)"),
        (f"make(op={LAMBDA})", "make(op=lambda)"),
        ("make(" + FUNCTION.format("f", f", None, ({CELL.format(0.5)},)") + ")", "make(f[0.5])"),
        (
            "make("
            + FUNCTION.format("f", f", (1,), ({CELL.format(2)}, {CELL.format(LAMBDA)},)")
            + ")",
            "make(f[2, lambda])",
        ),
        ("__import__(", "__import__("),
    ],
)
def test_the_names_are_left(call: str, text: str) -> None:
    assert readable(call) == text
