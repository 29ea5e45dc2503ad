"""Which pipelined kernels tilelang divides into a producer and consumers on Hopper."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    Copy,
    Gemm,
    KernelFacts,
    Loop,
    Node,
    Statement,
)

M = N = 128
K = 64


def kernel(*body: Node) -> KernelFacts:
    buffers = (
        Buffer("A", "A", "float16", (4096, 4096), "global"),
        Buffer("a", "a", "float16", (M, K), "shared"),
        Buffer("b", "b", "float16", (K, N), "shared"),
        Buffer("c", "c", "float32", (M, N), "local.fragment"),
    )
    loop = Loop("pipelined", "k", 0, 64, body, annotations={"num_stages": 2})
    return replace(launched((loop,), buffers, 64), framework="tilelang")


def copy(may_use_tma: bool = True) -> Statement:
    source = Access("A", "read", (0, ("*", "k", K)), (M, K))
    target = Access("a", "write", (0, 0), (M, K))
    return Copy("copy", (), (source, target), "block", may_use_tma=may_use_tma)


PRODUCT = Gemm(
    "gemm",
    (Arith("mma", "float16", M * N * K, accumulator="float32", shape=(M, N, K)),),
    (
        Access("a", "read", (0, 0), (M, K)),
        Access("b", "read", (0, 0), (K, N)),
        Access("c", "read", (0, 0), (M, N)),
        Access("c", "write", (0, 0), (M, N)),
    ),
    "block",
)
EVEN = ("==", ("%", "k", 2), 0)


@pytest.mark.parametrize(
    ("facts", "is_specialised"),
    [
        (kernel(copy(), PRODUCT), True),
        (kernel(Branch(EVEN, (copy(), PRODUCT))), True),  # one condition on the whole body
        (kernel(copy(may_use_tma=False), PRODUCT), False),
        (kernel(Branch(EVEN, (copy(),), (copy(),)), PRODUCT), False),
        (replace(kernel(copy(), PRODUCT), attributes={"warp_specialized": False}), False),
    ],
)
def test_tma_copies_of_the_loop_body_get_a_producer(
    facts: KernelFacts, is_specialised: bool
) -> None:
    """tilelang ``src/cuda/transform/producer_consumer_ws.cc``."""
    report = analyze(facts, load("h200"))
    assert report.occupancy is not None
    assert (report.occupancy.blocks_per_sm == 1) is is_specialised
