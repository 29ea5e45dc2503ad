"""Kernels with the sizes of language models: assumed, chosen, and in columns for several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tirlens.cli import main

pytestmark = pytest.mark.slow

# Each element is read and written: 2 bytes each way.
TEXT = """
from tvm.script import tirx as T

def scale(tokens, heads, dim):
    @T.prim_func(s_tir=True)
    def main(A: T.Buffer((tokens, heads, dim), "float16")):
        for i in T.thread_binding(tokens, thread="blockIdx.x"):
            for j in T.thread_binding(dim, thread="threadIdx.x"):
                for h in range(heads):
                    A[i, h, j] = A[i, h, j] * T.float16(2)

    return main
{call}
"""


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], tvm_python: Path, tmp_path: Path) -> Any:
    """Runs a command on the text with a call and gives its output as JSON."""

    def command(name: str, call: str, *models: str) -> dict[str, Any]:
        path = tmp_path / "kernels.py"
        path.write_text(TEXT.format(call=call))
        options = [word for model in models for word in ("--model", model)]
        arguments = [name, str(path), "--python", str(tvm_python), "--format", "json", *options]
        assert main(arguments) == 0
        return json.loads(capsys.readouterr().out)

    return command


def test_sizes_that_nothing_gives_are_those_of_one_model(run: Any) -> None:
    (kernel,) = run("analyze", "")["kernels"]
    assert kernel["call_source"] == "assumed"
    assert kernel["model"]["sizes"] == {"heads": 32, "dim": 128}
    assert kernel["model"]["name"] == "Llama-3.1-8B"
    assert not kernel["model"]["chosen"]
    assert kernel["global_bytes"]["read"] == kernel["assumed"]["tokens"] * 32 * 128 * 2


def test_a_call_in_the_text_has_no_model(run: Any) -> None:
    (kernel,) = run("analyze", "scale(64, 8, 64)")["kernels"]
    assert (kernel["call_source"], kernel["model"]) == ("call-site", None)


def test_a_column_for_each_model(run: Any) -> None:
    models = ("qwen3-32b", "llama-3.1-8b", "mamba2-2.7b")
    qwen, llama, mamba = run("report", "scale(64, 8, 64)", *models)["variants"]
    assert [one["name"] for one in (qwen, llama)] == ["Qwen3-32B", "Llama-3.1-8B"]
    (first,), (second,) = qwen["kernels"], llama["kernels"]
    assert first["call"] == "scale(64, 64, 128)"
    assert first["model"]["chosen"]
    assert first["global_bytes"]["read"] == 64 * 64 * 128 * 2
    assert second["global_bytes"]["read"] == 64 * 32 * 128 * 2
    assert mamba["kernels"] == [], "it has no heads of attention"
