"""The tools as lines of JSON on a pipe: one line for each, whatever the line is."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.robust import kernel

LINES: list[tuple[bytes, dict[str, Any]]] = [
    # a line, and what its answer has
    (b'{"id": 7, "tool": "devices", "arguments": {"limit": 1}}', {"id": 7}),
    (b'{"id": null, "tool": "devices", "arguments": null}', {"id": None}),
    (b'{"tool": "estimate", "arguments": {"file": "/etc/passwd"}}', {"error": "not-allowed"}),
    (b'{"id": "x", "tool": "rm"}', {"id": "x", "error": "no-tool"}),
    (b'{"id": [1], "tool": 3}', {"id": [1], "error": "request"}),
    (b"[]", {"error": "request"}),
    (b"nonsense", {"error": "request"}),
    (b"\xff\xfe", {"error": "request"}),
    (b"[" * 200_000, {"error": "request"}),
    (b'"' + b"x" * (5 << 20) + b'"', {"error": "request"}),
    (b'{"tool": "estimate", "arguments": []}', {"error": "argument"}),
    (b'{"tool": "estimate", "arguments": {"file": "\\ud800"}}', {"error": "argument"}),
    (b'{"tool": "estimate", "arguments": {"limit": 1e999}}', {"error": "argument"}),
    (b'{"id": 8, "tool": "devices"}', {"id": 8}),
]


def ask(folder: Path, requests: bytes, *options: str) -> list[dict[str, Any]]:
    found = subprocess.run(
        [sys.executable, "-m", "tirlens", "mcp", "--json-lines", "--allow", str(folder), *options],
        input=requests,
        capture_output=True,
        check=True,
    )
    return [json.loads(line) for line in found.stdout.splitlines()]


@pytest.mark.slow
def test_each_line_has_an_answer_in_order(tmp_path: Path) -> None:
    answers = ask(tmp_path, b"\n".join(line for line, _ in LINES) + b"\n\n")
    assert len(answers) == len(LINES)
    for answer, (line, expected) in zip(answers, LINES, strict=True):
        assert expected.items() <= answer.items(), line[:100]
        assert ("answer" in answer) != ("error" in answer)
        assert "answer" in answer or answer["message"]


@pytest.mark.slow
def test_what_a_kernel_prints_is_no_answer(tmp_path: Path, tvm_python: Path) -> None:
    loud = 'import os\nprint("{}")\nos.write(1, b"{}\\n")\n'
    (tmp_path / "scale.py").write_text(loud + kernel(1024))
    request = b'{"tool": "estimate", "arguments": {"file": "scale.py"}}\n'
    (answer,) = ask(tmp_path, request, "--python", str(tvm_python))
    assert answer["answer"]["kernels"][0]["flop"] == 1024
