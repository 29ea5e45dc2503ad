"""Primitives that preserve the meaning of a function preserve its operations.

Random schedules of a matrix product and an elementwise consumer: whatever is split, fused,
reordered, bound, cached or moved, every version has the operations of the first.  A primitive
that does not apply raises an error, and the schedule goes on.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from support.requests import request_of
from support.workers import TVM, analyzed
from tirlens import model
from tirlens.hardware import load

pytestmark = pytest.mark.slow

HEAD = """
import tvm
from tvm import te

A = te.placeholder(({m}, {k}), "float32", name="A")
B = te.placeholder(({k}, {n}), "float32", name="B")
r = te.reduce_axis((0, {k}), "r")
C = te.compute(({m}, {n}), lambda i, j: te.sum(A[i, r] * B[r, j], axis=r), name="C")
D = te.compute(({m}, {n}), lambda i, j: C[i, j] + 1.0, name="D")
sch = tvm.s_tir.Schedule(te.create_prim_func([A, B, D]))


def loop(block, index):
    loops = sch.get_loops(sch.get_sblock(block))
    return loops[index % len(loops)]
"""
STEPS = (
    'sch.split(loop("{block}", {one}), [None, {factor}])',
    'sch.fuse(loop("{block}", {one}), loop("{block}", {one} + 1))',
    'sch.reorder(loop("{block}", {one}), loop("{block}", {other}))',
    'sch.parallel(loop("{block}", {one}))',
    'sch.vectorize(loop("{block}", {one}))',
    'sch.unroll(loop("{block}", {one}))',
    'sch.bind(loop("{block}", {one}), "{tag}")',
    'sch.cache_read(sch.get_sblock("C"), {operand}, "shared")',
    'sch.cache_write(sch.get_sblock("{block}"), 0, "local")',
    'sch.compute_at(sch.get_sblock("C"), loop("D", {one}))',
    'sch.reverse_compute_at(sch.get_sblock("D"), loop("C", {one}))',
    'sch.decompose_reduction(sch.get_sblock("C"), loop("C", {one}))',
    'sch.storage_align(sch.get_sblock("C"), 0, 0, 32, 8)',
)
TAGS = ("blockIdx.x", "blockIdx.y", "threadIdx.x", "threadIdx.y")


def schedule(seed: int) -> tuple[str, int, int]:
    """A program with a random schedule, and the operations of its product and its consumer."""
    choose = random.Random(seed)
    m, n, k = (choose.choice((16, 24, 30, 64)) for _ in range(3))
    steps = (
        choose.choice(STEPS).format(
            block=choose.choice("CCD"),
            one=choose.randrange(4),
            other=choose.randrange(4),
            factor=choose.choice((2, 4, 7, 8)),
            operand=choose.randrange(2),
            tag=choose.choice(TAGS),
        )
        for _ in range(16)
    )
    return HEAD.format(m=m, n=n, k=k) + "\n\n".join(steps), 2 * m * n * k, m * n


@pytest.mark.parametrize("seed", range(12))
def test_the_operations_of_all_versions(seed: int, tmp_path: Path) -> None:
    text, product, consumer = schedule(seed)
    result = analyzed(TVM, request_of(tmp_path / "schedule.py", text))
    versions = [facts for facts in result.kernels if facts.built and facts.built.sequence == 0]
    assert len(versions) > 2, "some steps apply"
    is_repeated = False
    for facts in versions:
        report = model.analyze(facts, load("h100-sxm"), {})
        step = f"{facts.definition} at line {facts.span.line}\n{text}"
        # Below a loop of the reduction, the consumer is computed in each of its iterations.
        is_repeated |= facts.definition.endswith("reverse_compute_at")
        if report.flop is None:
            assert report.caveats, step
        elif is_repeated:
            assert report.flop >= product + consumer, step
            assert (report.flop - product) % consumer == 0, step
        else:
            assert report.flop == product + consumer, step
