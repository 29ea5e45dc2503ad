"""Each planted defect is named, and its saving is that of the same kernel without the defect.

A kernel of `kernels/planted_*.py` and its mended source are both traced by the real framework.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from support.workers import TILELANG, TVM, analyzed
from tirlens import pipeline, source
from tirlens.advice import Question, advise
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

KERNELS = Path(__file__).parent / "kernels"
ENVIRONMENTS = {"planted_tvm": TVM, "planted_tilelang": TILELANG}
#: The kernels, and the rule that is first, or among the first two.
OF_TILELANG = {
    "transpose_by_parallel": "uncoalesced",
    "transpose_by_thread": "uncoalesced",
    "rows_of_lanes": "uncoalesced",
    "chunks_of_lanes": "uncoalesced",
    "scalar_sum": "not-vectorized",
    "scalar_elements": "not-vectorized",
    "small_tiles": "tile-sizes",
    "shallow_tiles": "tile-sizes",
    "few_elements": "tile-sizes",
    "one_address": "contended-atomics",
    "one_counter": "contended-atomics",
    "halves_of_warps": "divergent-warps",
    "one_lane": "idle-threads",
    "two_threads": "idle-threads",
    "every_thread": "redundant-threads",
    "einsum": "no-tensor-core",
    "batched_einsum": "no-tensor-core",
    "conflicts": "bank-conflict",
    "serial_loads": "not-pipelined",
    "few_blocks": "small-grid",
    "counter_of_hits": "contended-atomics",
    "rows_of_every_thread": "redundant-threads",
    "einsum_of_rows": "no-tensor-core",
    "einsum_of_threads": "no-tensor-core",
    "small_squares": "tile-sizes",
    "small_blocks_of_attention": "tile-sizes",
}
OF_TVM = {
    "transpose_by_axis": "uncoalesced",
    "remainder_lanes": "uncoalesced",
    "rows_of_lanes": "uncoalesced",
    "scalar_rows": "not-vectorized",
    "divergent": "divergent-warps",
    "split_warp": "divergent-warps",
    "first_thread": "idle-threads",
    "redundant_threads": "redundant-threads",
}
CASES = [
    *(
        ("planted_tilelang", f"{name}(False)", f"{name}(True)", rule)
        for name, rule in OF_TILELANG.items()
    ),
    *(("planted_tvm", name, f"{name}_mended", rule) for name, rule in OF_TVM.items()),
]


@cache
def planted(stem: str) -> dict[str, KernelFacts]:
    """The facts of a file's kernels by their call, or by their name where they have none."""
    path = KERNELS / f"{stem}.py"
    text = path.read_text(encoding="utf-8")
    calls = {call for case in CASES for call in case[1:3] if case[0] == stem and "(" in call}
    options = pipeline.Options(calls=tuple(sorted(calls)), time_limit_s=120.0)
    request = pipeline.analysis_request(1, str(path), text, source.read(text), options)
    result = analyzed(ENVIRONMENTS[stem], request)
    assert result.problems == () and result.needs == ()
    return {kernel.call or kernel.name: kernel for kernel in result.kernels}


@pytest.mark.parametrize(
    ("stem", "now", "then", "rule"), CASES, ids=[f"{case[0]} {case[1]}" for case in CASES]
)
def test_a_planted_defect_is_named_with_its_saving(
    stem: str, now: str, then: str, rule: str
) -> None:
    device, facts = load("h100-sxm"), planted(stem)[now]
    report = analyze(facts, device)
    changed_s = analyze(planted(stem)[then], device).time_s
    assert report.time_s is not None and changed_s is not None
    found = advise(Question(facts, device, report=report))
    assert rule in [one.rule for one in found[:2]], found
    saving_s = next(one.saving_s for one in found if one.rule == rule)
    assert saving_s == pytest.approx(report.time_s - changed_s, rel=0.2)


@pytest.mark.parametrize(
    ("stem", "now", "then", "rule"), CASES, ids=[f"{case[0]} {case[2]}" for case in CASES]
)
def test_a_mended_kernel_has_the_defect_no_longer(
    stem: str, now: str, then: str, rule: str
) -> None:
    device, facts = load("h100-sxm"), planted(stem)[then]
    report = analyze(facts, device)
    before_s = analyze(planted(stem)[now], device).time_s
    found = {one.rule: one for one in advise(Question(facts, device, report=report))}
    if rule in found:
        # Tiles that are better than good ones, but not by much.
        saving_s = found[rule].saving_s
        assert rule == "tile-sizes"
        assert saving_s is not None and before_s is not None and saving_s < 0.1 * before_s
