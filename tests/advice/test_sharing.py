"""Iterations of one thread, shared among the threads of a block."""

from __future__ import annotations

import pytest

from tirlens.advice.sharing import Part, free_iterations, with_shared_iterations
from tirlens.advice.threads import threads_of
from tirlens.model.counting.facts_walk import walk_nodes
from tirlens_worker.facts import (
    Access,
    Arith,
    Branch,
    Buffer,
    KernelFacts,
    Launch,
    Loop,
    Shuffle,
    Span,
    Store,
)  # fmt: skip


@pytest.mark.parametrize(("warp_size", "steps"), [(32, 5), (64, 6)])
def test_sums_are_combined_over_the_lanes_of_the_device(warp_size: int, steps: int) -> None:
    total = Access("total", "read", (0,))
    add = Store(
        label="total",
        arith=(Arith("add", "float32", 1),),
        accesses=(Access("A", "read", ("i",)), total, Access("total", "write", (0,))),
    )
    nest = Loop("serial", "i", 0, 4096, (add,))
    alone = Branch(("==", "t", 0), (nest,))
    block = Loop("block", "t", 0, 256, (alone,), tag="threadIdx.x")
    facts = KernelFacts(
        "sum", "sum", Span(1, 0, 1, 1), "tvm", "0.27.0", "sum", "module-level", (),
        (Buffer("A", "A", "float32", (4096,)), Buffer("total", "total", "float32", (1,))),
        Launch((1,), (256,)), (block,),
    )  # fmt: skip
    threads = threads_of(facts, warp_size)
    iterations = free_iterations(nest, facts)
    assert threads is not None and iterations is not None
    shared = with_shared_iterations(facts, Part(nest, iterations, (0,), alone), threads)
    assert shared is not None
    (shuffle,) = (node for node in walk_nodes(shared.body) if isinstance(node, Shuffle))
    assert {one.op: one.count for one in shuffle.arith} == {"shuffle": steps, "add": steps}
