"""The edit of an advice, made and traced again, saves what the advice promises."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.workers import TILELANG, TVM, analyzed
from tirlens import pipeline, source
from tirlens.model.report import KernelReport
from tirlens.source.edits import Replacement

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).parent / "kernels"
CASES = [
    (TILELANG, "editable.py", "few_threads(8192)", "threads", "h100-sxm"),
    (TILELANG, "editable.py", "in_turn(8192)", "not-pipelined", "a100-80-sxm"),
    (TILELANG, "editable.py", "few_stages(16384)", "stages", "h100-sxm"),
    (TILELANG, "editable.py", "row_by_row(16384)", "l2-reuse", "h100-sxm"),
    (TILELANG, "editable.py", "small_tiles(8192)", "tile-sizes", "h100-sxm"),
    (TVM, "tvm_rewrites.py", "transposed", "bank-conflict", "h100-sxm"),
    (TILELANG, "tilelang_rewrites.py", "columns(True)", "uncoalesced", "h100-sxm"),
]


def reported(environment: str, path: Path, text: str, call: str, device: str) -> KernelReport:
    calls = (call,) if "(" in call else ()
    options = pipeline.Options(calls=calls, device=device, time_limit_s=60.0)
    read = source.read(text)
    result = analyzed(environment, pipeline.analysis_request(1, str(path), text, read, options))
    assert result.problems == ()
    report = pipeline.file_report(read, result, options, str(path))
    return next(kernel for kernel in report.kernels if kernel.call == call)


def written(text: str, edit: Replacement) -> str:
    lines = text.split("\n")
    span = edit.span
    before = [*lines[: span.line - 1], lines[span.line - 1][: span.column]]
    after = [lines[span.end_line - 1][span.end_column :], *lines[span.end_line :]]
    return "\n".join(before) + edit.new_text + "\n".join(after)


@pytest.mark.parametrize(
    ("environment", "name", "call", "rule", "device"), CASES, ids=[case[3] for case in CASES]
)
def test_an_edit_saves_what_its_advice_promises(
    environment: str, name: str, call: str, rule: str, device: str, tmp_path: Path
) -> None:
    text = (KERNELS / name).read_text(encoding="utf-8")
    before = reported(environment, KERNELS / name, text, call, device)
    advice = {item.rule: item for item in before.advice}[rule]
    assert advice.edit is not None
    changed = tmp_path / name
    changed.write_text(written(text, advice.edit), encoding="utf-8")
    after = reported(environment, changed, changed.read_text(encoding="utf-8"), call, device)
    assert before.time_s is not None and after.time_s is not None
    assert before.time_s - after.time_s == pytest.approx(advice.saving_s, rel=0.1)
