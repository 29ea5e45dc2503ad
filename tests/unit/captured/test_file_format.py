"""The file of captured calls: what is written is read, equal for equal calls, and merged."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tirlens.captured.file_format import Capture, CapturedCall, CaptureError, merge, read, to_text


def call(text: str | None = "matmul(1024)", **others: Any) -> CapturedCall:
    given: dict[str, Any] = {
        "file": "kernels/gemm.py", "function": "matmul", "kernel": "main",
        "framework": "tilelang", "call": text, "launches": 2, "places": ("bench.py:38",), **others,
    }  # fmt: skip
    return CapturedCall(**given)


CALLS = (
    call(),
    call("matmul(2048)", places=("bench.py:9", "bench.py:12")),
    call("matmul(2048)", sizes={"n": 7, "m": 3}),
    call(None, problem="op is a lambda"),
    call("softmax('ä\"')", file="kernels/softmax.py", function="softmax", configurations=24),
)


def test_what_is_written_is_read(tmp_path: Path) -> None:
    capture = merge([Capture("h100-sxm", ("python bench.py",), CALLS)])
    path = tmp_path / "tirlens-captured.json"
    path.write_text(to_text(capture), encoding="utf-8")
    assert read(path) == capture
    assert sorted(CALLS, key=lambda item: item.identity) == list(capture.calls)


def test_the_order_of_calls_does_not_change_the_text() -> None:
    expected = to_text(merge([Capture("h100-sxm", (), CALLS)]))
    for seed in range(20):
        shuffled = random.Random(seed).sample(CALLS, len(CALLS))
        assert to_text(merge([Capture("h100-sxm", (), tuple(shuffled))])) == expected


def test_a_call_is_a_line() -> None:
    lines = to_text(merge([Capture("h100-sxm", (), CALLS)])).splitlines()
    assert sum(line.startswith('   {"call": ') for line in lines) == len(CALLS)


def test_launches_of_equal_calls_are_added() -> None:
    once = Capture("h100-sxm", ("a",), (call(), call("matmul(2048)", launches=1)))
    again = Capture("h200", ("b", "a"), (call(places=("other.py:10", "bench.py:9"), launches=5),))
    merged = merge([once, again])
    assert [(item.call, item.launches) for item in merged.calls] == [
        ("matmul(1024)", 7), ("matmul(2048)", 1),
    ]  # fmt: skip
    assert merged.calls[0].places == ("bench.py:9", "bench.py:38", "other.py:10")
    assert (merged.device, merged.commands) == ("h200", ("a", "b"))


VALID: dict[str, Any] = json.loads(to_text(merge([Capture("h100-sxm", (), (call(),))])))


def _changed(**changes: Any) -> dict[str, Any]:
    kernel = {**VALID["kernels"][0]}
    item = {**kernel["calls"][0]}
    for name, value in changes.items():
        (item if name in ("call", "launches", "at", "sizes") else kernel)[name] = value
    return {**VALID, "kernels": [{**kernel, "calls": [item]}]}


@pytest.mark.parametrize(
    ("data", "word"),
    [
        ({**VALID, "schema_version": 2}, "schema_version is 2"),
        ({"kernels": []}, "'schema_version' is missing"),
        ([], "no object"),
        (_changed(file="/home/user/gemm.py"), "no path relative"),
        (_changed(call="matmul("), "no expression"),
        (_changed(call=3), "is no text"),
        (_changed(launches=-1), "is no count"),
        (_changed(launches=True), "is no count"),
        (_changed(at=["bench.py"]), "is no place"),
        (_changed(sizes={"m": 1.5}), "is no count"),
    ],
)
def test_other_files_are_refused(tmp_path: Path, data: Any, word: str) -> None:
    path = tmp_path / "tirlens-captured.json"
    path.write_text(json.dumps(data))
    with pytest.raises(CaptureError, match=word):
        read(path)


def test_text_that_is_no_json(tmp_path: Path) -> None:
    path = tmp_path / "tirlens-captured.json"
    path.write_text("{")
    with pytest.raises(CaptureError, match="is no JSON"):
        read(path)
    with pytest.raises(CaptureError, match="cannot be read"):
        read(tmp_path / "missing.json")
