"""Where the kernel that the rule tile-sizes proposes was measured as well, it is faster."""

from __future__ import annotations

import csv
import gzip
import json
from pathlib import Path
from statistics import geometric_mean

import pytest

from tirlens.advice import Question
from tirlens.advice.neighbourhood import search
from tirlens.advice.rewrite import loops
from tirlens.advice.rules import tile_sizes
from tirlens.advice.threads import with_names_replaced
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts

pytestmark = pytest.mark.slow

HERE = Path(__file__).parent
#: As many kernels of the sweep have a proposed one among the others, at least.
LEAST = 10


def signature(facts: KernelFacts) -> tuple[object, ...]:
    """What tells the kernels of a sweep apart."""
    stages = tuple(loop.annotations.get("num_stages") for loop, _ in loops(facts))
    arrays = tuple((one.shape, one.dtype, one.scope) for one in facts.buffers)
    return facts.name, arrays, facts.launch.grid, facts.launch.threads, stages


def measured_kernels() -> dict[tuple[object, ...], tuple[KernelFacts, float]]:
    """The kernels of the sweep on an H100 with their measured times in seconds."""
    book = json.loads(gzip.decompress((HERE / "facts" / "h100_sweep.json.gz").read_bytes()))
    with (HERE / "h100_sweep.csv").open(encoding="utf-8") as file:
        table = list(csv.DictReader(file))
    found: dict[tuple[object, ...], tuple[KernelFacts, float]] = {}
    for row in book["rows"]:
        alternative = row["alternatives"][0]
        if len(alternative) == 1:
            item = book["facts"][alternative[0]]
            facts = from_json(KernelFacts, item.get("facts", item))
            time_s = float(table[row["row"]]["measured_s"])
            found[signature(with_names_replaced(facts))] = (facts, time_s)
    return found


def test_proposed_tiles_are_faster_by_as_much_as_promised() -> None:
    device, kernels = load("h100-sxm"), measured_kernels()
    ratios: list[float] = []
    for facts, now_s in kernels.values():
        report = analyze(facts, device)
        question = Question(facts, device, report=report)
        advice = list(tile_sizes.check(question))
        proposed = search(question, with_names_replaced(facts)) if advice else None
        if proposed is None or signature(proposed.facts) not in kernels:
            continue
        then_s = kernels[signature(proposed.facts)][1]
        assert then_s < 0.95 * now_s, facts.call
        assert report.time_s is not None and advice[0].saving_s is not None
        ratios.append(then_s / now_s / (1 - advice[0].saving_s / report.time_s))
    assert len(ratios) >= LEAST
    assert 1 / 1.15 < geometric_mean(ratios) < 1.15
