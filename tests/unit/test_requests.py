"""What a worker is told of the device for which it traces."""

from __future__ import annotations

from typing import Any

import pytest

from tirlens import pipeline, source

TEXT = """
import tilelang.language as T
{directive}
@T.prim_func
def copy(A: T.Tensor((128,), "float32")):
    pass
"""


@pytest.mark.parametrize(
    ("device", "directive", "target"),
    [
        ("a100-80-sxm", "", {"kind": "cuda", "arch": "sm_80", "sm_count": 108}),
        ("h200", "", {"kind": "cuda", "arch": "sm_90", "sm_count": 132}),
        ("h200", "# tirlens: device=b200", {"kind": "cuda", "arch": "sm_100", "sm_count": 148}),
        ("mi300x", "", {}),
        ("x86-avx2", "", {}),
    ],
)
def test_programs_are_told_of_the_device(
    device: str, directive: str, target: dict[str, Any]
) -> None:
    text = TEXT.format(directive=directive)
    options = pipeline.Options(device=device)
    assert pipeline.analysis_request(1, "a.py", text, source.read(text), options).target == target
