"""Distinct bytes of an array that is read through views of other types and shapes."""

from __future__ import annotations

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import Access, Buffer, Expr, Store

POSITION: Expr = ("+", ("*", "bx", 128), "tx")
"""0 to 1023: eight blocks of 128 threads."""


@pytest.mark.parametrize(
    ("view", "reads", "distinct_bytes"),
    [
        # 1024 halves are 512 floats: the same bytes, or others behind them.
        ({}, {"V": (POSITION,)}, 2048),
        ({}, {"V": (POSITION,), "A": (("//", POSITION, 2),)}, 2048),
        ({}, {"V": (POSITION,), "A": (POSITION,)}, 4096),
        ({}, {"V": (POSITION,), "A": (("+", POSITION, 512),)}, 2048 + 4096),
        ({}, {"V": (POSITION,), "A": (("+", POSITION, 500),)}, 2048 + 4096 - 48),
        # A view that begins at its 64th half, or has every second one.
        ({"element_offset": 64}, {"V": (POSITION,), "A": (("//", POSITION, 2),)}, 2048 + 128),
        ({"strides": (2,)}, {"V": (POSITION,)}, 2048),
        ({"strides": (2,)}, {"V": (POSITION,), "A": (POSITION,)}, 4096),
        # Rows of eight, and outside of the array nothing.
        ({"shape": (16384, 8)}, {"V": (("//", POSITION, 8), ("%", POSITION, 8))}, 2048),
        ({"shape": (16384, 8)}, {"V": (("*", POSITION, 2), 0)}, 2048),
        ({"element_offset": (1 << 17) - 1000}, {"V": (POSITION,)}, 2000),
        ({"dtype": "uint8", "shape": (1 << 18,)}, {"V": (POSITION,)}, 1024),
        ({"dtype": "float64", "shape": (1 << 15,)}, {"V": (POSITION,), "A": (POSITION,)}, 8192),
    ],
)
def test_distinct_bytes_of_views(
    view: dict[str, object], reads: dict[str, tuple[Expr, ...]], distinct_bytes: int
) -> None:
    form = {"dtype": "float16", "shape": (1 << 17,), **view}
    buffers = (
        Buffer("A", "A", "float32", (1 << 16,), "global", is_parameter=True),
        Buffer("V", "V", scope="global", alias_of="A", **form),  # type: ignore[arg-type]
    )
    body = tuple(Store(name, (), (Access(name, "read", index),)) for name, index in reads.items())
    report = analyze(launched(body, buffers), load("h100-sxm"))
    assert (report.compulsory_bytes, report.compulsory_is_exact) == (distinct_bytes, True)
