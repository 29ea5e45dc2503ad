"""An advice promises what the model says of the source that follows it.

Each pair of `kernels/` is a kernel as it is and as the rule would have it, both traced by the real
framework: the saving that the rule predicts from the first is the difference between the two.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from support.workers import analyzed
from tirlens import pipeline, source
from tirlens.advice import Question, advise
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).parent / "kernels"
FRAMEWORKS = {"tvm_rewrites": "tvm-0.27.0.post1", "tilelang_rewrites": "tilelang-0.1.15"}
CASES = [
    ("tvm_rewrites", "scale", "scale_not_vectorized", "not-vectorized", "h100-sxm"),
    ("tvm_rewrites", "row_sum", "row_sum_uncoalesced", "uncoalesced", "h100-sxm"),
    ("tvm_rewrites", "transposed", "transposed_bank_conflict", "bank-conflict", "h100-sxm"),
    ("tilelang_rewrites", "product(256, 0)", "product(256, 3)", "not-pipelined", "a100-80-sxm"),
    (
        "tilelang_rewrites",
        "product(256, 3, 0, 16384)",
        "product(256, 4, 0, 16384)",
        "stages",
        "h100-sxm",
    ),
    (
        "tilelang_rewrites",
        "product(128, 3, columns=256)",
        "product(256, 3, columns=256)",
        "threads",
        "h100-sxm",
    ),
    (
        "tilelang_rewrites",
        "product(256, 3, 0, 16384)",
        "product(256, 3, 10, 16384)",
        "l2-reuse",
        "h100-sxm",
    ),
    ("tvm_rewrites", "twice", "twice_uncoalesced", "uncoalesced", "h100-sxm"),
    ("tvm_rewrites", "turned", "transposed_bank_conflict", "uncoalesced", "h100-sxm"),
    ("tvm_rewrites", "flat_rows", "flat_rows_uncoalesced", "uncoalesced", "h100-sxm"),
    ("tilelang_rewrites", "gemv(True)", "gemv(False)", "uncoalesced", "h200"),
    ("tilelang_rewrites", "doubled(True)", "doubled(False)", "uncoalesced", "h100-sxm"),
    ("tilelang_rewrites", "records(True)", "records(False)", "uncoalesced", "h100-sxm"),
    ("tilelang_rewrites", "pooled(True)", "pooled(False)", "uncoalesced", "h200"),
    ("tilelang_rewrites", "columns(True)", "columns(False)", "uncoalesced", "h100-sxm"),
    # The grid has a dimension for the parts, along which there is one block.
    ("tilelang_rewrites", "split_product(1)", "split_product(8)", "small-grid", "h100-sxm"),
    ("tilelang_rewrites", "split_product(1)", "split_product(16)", "small-grid", "mi355x"),
    ("tilelang_rewrites", 'update("own")', 'update("store")', "unshared-atomics", "h100-sxm"),
    (
        "tilelang_rewrites",
        "split_product(1, 2048, 256, True)",
        "split_product(1, 2048, 256)",
        "unshared-atomics",
        "h100-sxm",
    ),
    ("tilelang_rewrites", "scores(False)", "scores(True)", "mask-waste", "h100-sxm"),
    *(
        ("tilelang_rewrites", f'tiles("{spelling}")', 'tiles("gemm")', "no-tensor-core", device)
        for spelling in ("depth inside", "depth outside", "unrolled")
        for device in ("h100-sxm", "a100-80-sxm")
    ),
    ("tilelang_rewrites", "copied_elements(1)", "copied_elements(8)", "not-vectorized", "h100-sxm"),
]
# Calls that other tests of these files take.
OTHERS = {
    *(f'update("{index}")' for index in ("pairs", "maximum", "twice")),
    "split_product(2, 2048, 256, True)",
    *(f"tiles_of_threads({in_registers})" for in_registers in (True, False)),
    "elementwise_products()",
}


@cache
def kernels(stem: str) -> dict[str, KernelFacts]:
    """The facts of a file's kernels by their call."""
    path = KERNELS / f"{stem}.py"
    text = path.read_text(encoding="utf-8")
    calls = {call for case in CASES for call in case[1:3] if case[0] == stem and "(" in call}
    calls |= OTHERS if stem == "tilelang_rewrites" else set()
    options = pipeline.Options(calls=tuple(sorted(calls)), time_limit_s=60.0)
    request = pipeline.analysis_request(1, str(path), text, source.read(text), options)
    result = analyzed(FRAMEWORKS[stem], request)
    assert result.problems == () and result.needs == ()
    return {kernel.call: kernel for kernel in result.kernels}


@pytest.mark.parametrize(
    ("stem", "now", "then", "rule", "device_id"), CASES, ids=[f"{c[3]} {c[1]}" for c in CASES]
)
def test_the_saving_is_that_of_the_source_which_follows_the_advice(
    stem: str, now: str, then: str, rule: str, device_id: str
) -> None:
    device = load(device_id)
    report = analyze(kernels(stem)[now], device)
    changed_s = analyze(kernels(stem)[then], device).time_s
    assert report.time_s is not None and changed_s is not None
    advice = advise(Question(kernels(stem)[now], device, report=report))
    by_rule = {one.rule: one for one in advice}
    assert rule in by_rule, advice
    assert by_rule[rule].saving_s == pytest.approx(report.time_s - changed_s, rel=0.1)


@pytest.mark.parametrize(
    ("stem", "now", "then", "rule", "device_id"),
    [case for case in CASES if case[3] == "uncoalesced"],
    ids=[case[1] for case in CASES if case[3] == "uncoalesced"],
)
def test_what_follows_the_advice_gets_none(
    stem: str, now: str, then: str, rule: str, device_id: str
) -> None:
    device, facts = load(device_id), kernels(stem)[then]
    report = analyze(facts, device)
    assert rule not in {one.rule for one in advise(Question(facts, device, report=report))}


@pytest.mark.parametrize("in_registers", [True, False])
def test_a_product_by_threads_leaves_what_the_loops_around_it_take(in_registers: bool) -> None:
    """One operation on the tiles takes at most as long as ``T.gemm`` beside the same copies."""
    device = load("h100-sxm")
    facts = kernels("tilelang_rewrites")[f"tiles_of_threads({in_registers})"]
    report = analyze(facts, device)
    by_rule = {one.rule: one for one in advise(Question(facts, device, report=report))}
    saving_s = by_rule["no-tensor-core"].saving_s
    loops = {cost.label: cost for top in report.loops for _, cost in top.walk()}
    depth_s = next(cost.time_s for label, cost in loops.items() if label.startswith("for kk"))
    assert saving_s is not None and depth_s is not None
    assert 0.8 * depth_s < saving_s <= depth_s


def test_products_of_elements_are_no_matrix_product() -> None:
    device = load("h100-sxm")
    facts = kernels("tilelang_rewrites")["elementwise_products()"]
    report = analyze(facts, device)
    rules = {one.rule for one in advise(Question(facts, device, report=report))}
    assert "no-tensor-core" not in rules
