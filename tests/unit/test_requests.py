"""What a worker is told of the device for which it traces, and which kernels are requested."""

from __future__ import annotations

from typing import Any

import pytest

from tirlens import pipeline, source
from tirlens_worker.protocol import Result

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


@pytest.mark.parametrize(
    ("options", "unselected"),
    [
        (pipeline.Options(), []),
        (pipeline.Options(calls=("copy()",)), [("other", 10)]),
        (pipeline.Options(kernels=("oth*",)), [("copy", 5)]),
    ],
)
def test_kernels_that_the_options_leave_out_are_named(
    options: pipeline.Options, unselected: list[tuple[str, int]]
) -> None:
    other = TEXT.format(directive="").partition("\n@")[2].replace("copy", "other")
    text = TEXT.format(directive="") + "\n\n@" + other
    read = source.read(text)
    report = pipeline.file_report(read, Result(0), options, "a.py")
    document = pipeline.to_json([report], report.devices[0])
    found = [(item["definition"], item["line"]) for item in document["unselected"]]
    assert found == unselected
    assert all(item["file"] == "a.py" for item in document["unselected"])
