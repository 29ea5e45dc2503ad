"""Arrays in calls as people write them."""

from __future__ import annotations

import pytest

from tirlens.array_words import expand, shorten
from tirlens.ide.call_text import readable
from tirlens.source import read

EMPTY = "__import__('torch').empty({}, dtype=__import__('torch').{}, device='meta')"


@pytest.mark.parametrize(
    ("words", "shape", "dtype"),
    [
        ("1024x512 float16", "(1024, 512)", "float16"),
        ("64 int32", "(64,)", "int32"),
        ("8x1x4096x128 bf16", "(8, 1, 4096, 128)", "bfloat16"),
        ("2x3 float8_e4m3fn", "(2, 3)", "float8_e4m3fn"),
        ("7 bool", "(7,)", "bool"),
    ],
)
def test_an_array(words: str, shape: str, dtype: str) -> None:
    made = EMPTY.format(shape, dtype)
    assert expand(f"scale({words}, n=2, y={words})") == f"scale({made}, n=2, y={made})"
    short = f"{words.split()[0]} {dtype}"
    assert shorten(f"scale({made}, n=2)") == f"scale({short}, n=2)"
    assert expand(shorten(f"scale({made})")) == f"scale({made})"


@pytest.mark.parametrize(
    "call",
    [
        "matmul(1024, 1024, dtype='64x64 float16')",
        'matmul("8 int32", T.float16)',
        "matmul(x1024, a16x16)",
        "matmul(3 if float16 else 4)",
        "f(torch.empty((4, n), dtype=torch.float16, device='meta'))",
        "f(torch.empty((), dtype=torch.float16, device='meta'))",
        "f(torch.empty((4,), dtype=torch.float16, device='cuda'))",
    ],
)
def test_other_arguments_remain(call: str) -> None:
    assert expand(call) == call
    assert shorten(call) == call


def test_what_is_displayed() -> None:
    made = "torch.empty((64, 8), dtype=__import__('torch', fromlist=['x']).int8, device='meta')"
    assert readable(f"f({made}, dtype=T.float16)") == "f(64x8 int8, dtype=T.float16)"


def test_a_directive() -> None:
    (directive,) = read("# tirlens: scale(64x32 float16, block=8), M=4\n").directives
    assert directive.error is None and directive.bindings == {"M": 4}
    assert directive.calls == (f"scale({EMPTY.format('(64, 32)', 'float16')}, block=8)",)
