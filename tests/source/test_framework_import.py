"""Where a file imports its framework: there a missing one is said."""

from __future__ import annotations

import pytest

from tirlens import source
from tirlens_worker.facts import Span


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("import os\nimport tilelang\nimport tilelang.language as T\n", Span(2, 0, 2, 15)),
        ("import tvm\nimport tilelang\n", Span(2, 0, 2, 15)),
        ("from tvm.script import tirx as T\n", Span(1, 0, 1, 32)),
        ("ü = 1; import tvm\n", Span(1, 7, 1, 17)),
        ("try:\n    import tilelang\nexcept ImportError:\n    pass\n", Span(2, 4, 2, 19)),
        ("import os, tvm.te\n", Span(1, 0, 1, 17)),
        ("import numpy\n", None),
        ("from . import tvm\n", None),
    ],
)
def test_the_first_import_of_the_framework(text: str, expected: Span | None) -> None:
    assert source.read(text).framework_import == expected
