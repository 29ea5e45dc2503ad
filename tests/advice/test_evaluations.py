"""The model is evaluated only where a change may save time, and advice is linear in statements."""

from __future__ import annotations

import time
from dataclasses import replace

import pytest

from support.kernels import scale, site
from tirlens.advice import Question, advise, rewrite
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Access,
    Arith,
    Barrier,
    Buffer,
    KernelFacts,
    Launch,
    Loop,
    Node,
    Store,
)

TILES = ("tile", "other")


def launched(
    body: tuple[Node, ...], buffers: tuple[Buffer, ...], threads: tuple[int, int]
) -> KernelFacts:
    """A kernel of 64 x 64 blocks; ``ty`` is a loop only where it has several threads."""
    nodes = body
    axes = [("block", "tx", threads[0], "threadIdx.x"), ("block", "ty", threads[1], "threadIdx.y")]
    axes += [("grid", "bx", 64, "blockIdx.x"), ("grid", "by", 64, "blockIdx.y")]
    for kind, var, extent, tag in axes:
        if extent > 1:
            nodes = (Loop(kind, var, 0, extent, nodes, tag=tag, sites=site(3)),)
    launch = Launch((64, 64, 1), threads)
    return replace(scale(), framework="tvm", buffers=buffers, launch=launch, body=nodes)


def transposed(pitch: int) -> KernelFacts:
    """Two tiles that are transposed in shared memory, with rows of `pitch` elements."""
    high, wide = ("+", ("*", "by", 32), "ty"), ("+", ("*", "bx", 32), "tx")
    out = (("+", ("*", "bx", 32), "ty"), ("+", ("*", "by", 32), "tx"))
    loads = tuple(
        Store(
            label="tile[...] = A[...]",
            accesses=(Access("A", "read", (high, wide)), Access(name, "write", ("ty", "tx"))),
            sites=site(5 + line),
        )
        for line, name in enumerate(TILES)
    )
    stores = tuple(
        Store(
            label="B[...] = tile[...]",
            accesses=(Access(name, "read", ("tx", "ty")), Access("B", "write", out)),
            sites=site(8 + line),
        )
        for line, name in enumerate(TILES)
    )
    arrays = [Buffer(name, name, "float32", (2048, 2048), is_parameter=True) for name in "AB"]
    arrays += [Buffer(name, name, "float32", (32, pitch), scope="shared") for name in TILES]
    body = (*loads, Barrier(label="sync", sites=site(7)), *stores)
    return launched(body, tuple(arrays), (32, 32))


def products(statements: int) -> KernelFacts:
    """Products of narrow operands at different lines, any of which could use the matrix units."""
    i, j = ("+", ("*", "by", 16), "ty"), ("+", ("*", "bx", 16), "tx")
    body: list[Loop] = []
    for line in range(statements):
        k = f"k{line}"
        product = Store(
            label="C[...] = ...",
            arith=(Arith("mul", "float16"), Arith("add", "float16")),
            accesses=(
                Access("C", "read", (i, j)),
                Access("A", "read", (i, k)),
                Access("B", "read", (k, j)),
                Access("C", "write", (i, j)),
            ),
            sites=site(6 + 2 * line),
        )
        body.append(Loop("serial", k, 0, 16, (product,), sites=site(5 + 2 * line)))
    arrays = tuple(Buffer(name, name, "float16", (8, 8), scope="local") for name in "ABC")
    return launched(tuple(body), arrays, (16, 16))


def copies(statements: int) -> KernelFacts:
    """Elements of one row that each thread copies to others, one statement for each row."""
    column = ("+", ("*", "bx", 128), "tx")
    body = tuple(
        Store(
            label="B[...] = A[...]",
            accesses=(Access("A", "read", (row, column)), Access("B", "write", (row, column))),
            sites=site(5 + row),
        )
        for row in range(statements)
    )
    shape = (statements, 64 * 128)
    arrays = tuple(Buffer(name, name, "float32", shape, is_parameter=True) for name in "AB")
    return launched(body, arrays, (128, 1))


def evaluations(facts: KernelFacts, monkeypatch: pytest.MonkeyPatch) -> tuple[int, set[str]]:
    """How often the rules evaluate the model, and which of them give advice."""
    device = load("h100-sxm")
    question = Question(facts, device, report=analyze(facts, device))
    what_if, asked = Question.what_if, []
    monkeypatch.setattr(Question, "what_if", lambda self, f: asked.append(f) or what_if(self, f))
    rules = {advice.rule for advice in advise(question)}
    return len(asked), rules


def test_one_padding_of_each_array_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four larger paddings take more memory and leave no fewer conflicts."""
    paddings: list[int] = []
    with_padding = rewrite.with_padding

    def observe(facts: KernelFacts, buffer: Buffer, elements: int) -> KernelFacts:
        paddings.append(elements)
        return with_padding(facts, buffer, elements)

    monkeypatch.setattr(rewrite, "with_padding", observe)
    _, rules = evaluations(transposed(32), monkeypatch)
    assert "bank-conflict" in rules
    assert paddings == [1, 1]
    paddings.clear()
    _, rules = evaluations(transposed(33), monkeypatch)
    assert "bank-conflict" not in rules
    assert paddings == []


def test_what_takes_little_of_the_time_is_not_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    """None of a hundred statements takes 3 % of the time, which a saving must be."""
    count, rules = evaluations(products(100), monkeypatch)
    assert count <= 1
    assert "no-tensor-core" not in rules


@pytest.mark.slow
def test_vectors_take_time_linear_in_statements() -> None:
    def least_s(statements: int) -> float:
        facts, times_s = copies(statements), list[float]()
        for _ in range(3):
            began_s = time.process_time()
            assert rewrite.with_vectors(facts, 4) is not None
            times_s.append(time.process_time() - began_s)
        return min(times_s)

    least_s(50)
    # The square would take 16 times as long.
    assert least_s(4000) < 8 * least_s(1000)
