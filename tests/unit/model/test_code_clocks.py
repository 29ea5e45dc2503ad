"""The time of a block is that of its machine code, as the compiler has scheduled it for a warp.

A block of 64 threads executes four statements: line 5 multiplies and adds in a loop of line 4, line
6 takes an exponential in the same loop, line 8 loads and line 9 stores.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from support.kernels import gemm, launched, modelled, site
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.kernel import GpuKernel
from tirlens.model.tree.timed_node import TimedNode
from tirlens_worker.facts import (
    MEMORY_CLOCKS,
    Access,
    Arith,
    Buffer,
    CompiledLaunch,
    ExecutedInstructions,
    KernelFacts,
    Launch,
    LineClocks,
    Loop,
    LoweredLaunch,
    Node,
    Span,
    Store,
)

H100 = load("h100-sxm")
BLOCKS, THREADS, TRIPS = 1000, 64, 64
BUFFERS = (
    Buffer("s", "s", "float32", (2,), "local"),
    Buffer("x", "x", "float32", (BLOCKS * THREADS,), "global"),
    Buffer("y", "y", "float32", (BLOCKS * THREADS,), "global"),
)


def chain() -> KernelFacts:
    both = (Access("s", "read", (0,)), Access("s", "write", (0,)))
    fused = Store("s = s * s + s", (Arith("fma", "float32", 1),), both, sites=site(5))
    power = Store("s = exp2(s)", (Arith("exp2", "float32", 1),), both, sites=site(6))
    index = ("+", ("*", "bx", THREADS), "tx")
    first = Store(
        "s = x", (), (Access("x", "read", (index,)), Access("s", "write", (0,))), sites=site(8)
    )
    last = Store(
        "y = s", (), (Access("s", "read", (0,)), Access("y", "write", (index,))), sites=site(9)
    )
    loop = Loop("serial", "k", 0, TRIPS, (fused, power), sites=site(4))
    return launched((first, loop, last), BUFFERS, BLOCKS, THREADS)


def clocks(line: int, clocks: float, *memory_clocks: float) -> LineClocks:
    first, second = memory_clocks or (0.0, 0.0)
    return LineClocks(Span(line, 0, line, 0), clocks, (first, second))


def compiled(facts: KernelFacts, *found: LineClocks, **more: object) -> KernelFacts:
    launch = CompiledLaunch("sm_90", 32, line_clocks=found)
    return replace(facts, compiled=(replace(launch, **more),))  # pyright: ignore[reportArgumentType]


def times(kernel: GpuKernel) -> list[float]:
    """The clocks of a block in each statement."""
    own = {part.node: part.own_s for part in _parts(kernel.node_times) if part.node is not None}
    return [own.get(leaf, 0.0) * H100.clock_hz for leaf in kernel.leaves]


def _parts(part: TimedNode) -> Iterator[TimedNode]:
    yield part
    for child in part.children:
        yield from _parts(child)


def test_without_clocks_the_time_is_estimated() -> None:
    facts = replace(chain(), compiled=(CompiledLaunch("sm_90", 32),))
    assert times(modelled(facts, H100)) == times(modelled(chain(), H100))


def test_a_statement_takes_the_clocks_of_its_line() -> None:
    kernel = modelled(
        compiled(chain(), clocks(5, 9e4), clocks(6, 8e4), clocks(8, 7e4), clocks(9, 6e4)), H100
    )
    assert times(kernel) == pytest.approx([7e4, 9e4, 8e4, 6e4])
    assert kernel.node_times.total_s * H100.clock_hz == pytest.approx(30e4)


def test_statements_inside_share_the_clocks_of_the_line_of_a_loop() -> None:
    found = times(modelled(compiled(chain(), clocks(4, 9e5)), H100))
    assert found[1] + found[2] == pytest.approx(9e5)
    assert found[1] < found[2]


def test_no_statement_is_faster_than_its_busiest_unit() -> None:
    kernel = modelled(compiled(chain(), clocks(5, 1.0)), H100)
    for leaf, found in zip(kernel.leaves, times(kernel), strict=True):
        busy_s = max(kernel.busy.unit_s[leaf].values(), default=0.0)
        in_block = busy_s * H100.sm_count / BLOCKS * H100.clock_hz
        assert found >= 0.2 * in_block
    arithmetic = kernel.busy.unit_s[kernel.leaves[1]]["fp32"]
    assert times(kernel)[1] >= arithmetic * H100.sm_count / BLOCKS * H100.clock_hz


def test_waits_for_loads_are_linear_in_their_latency() -> None:
    """Of two latencies one is hidden: 1 x 500 - 200 clocks, 1 x 1000 - 200."""
    latency_s = modelled(chain(), H100).context.memory.dram_latency_s
    hidden = 200.0
    waits = [latency - hidden for latency in MEMORY_CLOCKS]
    found = times(modelled(compiled(chain(), clocks(8, 1e4, *waits)), H100))[0]
    assert 1e4 < found <= 1e4 + latency_s * H100.clock_hz - hidden + 1
    twice = times(modelled(compiled(chain(), clocks(8, 1e4, *(2 * one for one in waits))), H100))[0]
    assert twice - 1e4 == pytest.approx(2 * (found - 1e4))


def test_a_latency_that_is_hidden_is_no_gain() -> None:
    """Of latencies below those that are known, waits do not become negative."""
    found = times(modelled(compiled(chain(), clocks(8, 1e4, 0.0, 900.0)), H100))[0]
    assert found >= 1e4


def test_more_clocks_take_more_time() -> None:
    few, many = (
        modelled(compiled(chain(), clocks(5, number)), H100).time.total_s for number in (1e4, 1e5)
    )
    assert few < many


def test_a_line_that_the_kernel_does_not_have_is_left_out() -> None:
    elsewhere = LineClocks(None, 1e9, (0.0, 0.0))
    known = clocks(5, 9e4)
    assert times(modelled(compiled(chain(), known, clocks(30, 1e9), elsewhere), H100)) == times(
        modelled(compiled(chain(), known), H100)
    )


@pytest.mark.parametrize(("rows", "is_used"), [(512, True), (1024, False)])
def test_clocks_and_executions_are_those_of_one_size(rows: int, is_used: bool) -> None:
    """The code of a kernel with a dynamic dimension was executed for 512 rows."""
    index = ("+", ("*", "bx", THREADS), "tx")
    accesses = (Access("x", "read", (index,)), Access("y", "write", (index,)))
    body = Store("y = x", (), accesses, sites=site(8))
    facts = launched((body,), BUFFERS[1:], 1, THREADS)
    (grid,) = facts.body
    assert isinstance(grid, Loop)
    facts = replace(
        facts,
        body=(replace(grid, extent="n"),),
        launch=Launch(("n",), (THREADS,)),
        sizes={"n": 512},
    )
    executed = ExecutedInstructions(Span(8, 0, 8, 0), "integer", 1e5)
    slow = compiled(facts, clocks(8, 1e6), executed=(executed,), sizes={"n": 512})
    plain, found = (analyze(one, H100, {"n": rows}).time_s for one in (facts, slow))
    assert plain is not None and found is not None
    assert (found > 10 * plain) == is_used
    assert is_used or found == plain


def test_loads_of_a_software_pipeline_run_ahead_of_the_code() -> None:
    """A producer loads the tiles: an iteration takes the code of the product, not the sum."""
    facts = gemm(stages=3)
    iterations = 64
    product_clocks = 5000.0 * iterations
    kernel = modelled(compiled(facts, clocks(7, product_clocks)), H100)
    assert kernel.node_times.total_s * H100.clock_hz == pytest.approx(product_clocks, rel=0.05)


def produced(facts: KernelFacts, threads: int) -> KernelFacts:
    """A kernel whose lowering adds a warpgroup that loads the tiles."""
    return replace(facts, lowered=(LoweredLaunch("sm_90", threads + 128, 100_000),))


def softmax_of_products(threads: int) -> KernelFacts:
    """The product of `gemm`, with an exponential in its loop."""
    facts = gemm(stages=3, threads=threads)
    (grid,) = facts.body

    def with_arithmetic(node: Node) -> Node:
        if not isinstance(node, Loop):
            return node
        body = tuple(map(with_arithmetic, node.body))
        if node.kind == "pipelined":
            power = Store("s = exp2(s)", (Arith("exp2", "float32", 1),), (), sites=site(20))
            body = (*body, Loop("parallel", "i", 0, 128, (power,), sites=site(20)))
        return replace(node, body=body)

    return replace(facts, body=(with_arithmetic(grid),))


@pytest.mark.parametrize(
    ("facts", "threads", "takes_code"),
    [
        (softmax_of_products(128), 128, True),
        # The time from one product to the next is measured, the hand-over of buffers included.
        (gemm(stages=3), 128, False),
        # The overlap of two warpgroups is measured.
        (softmax_of_products(256), 256, False),
    ],
    ids=["one-warpgroup", "products", "two-warpgroups"],
)
def test_what_is_measured_of_loops_with_a_producer_is_believed(
    facts: KernelFacts, threads: int, takes_code: bool
) -> None:
    facts = produced(facts, threads)
    plain = modelled(compiled(facts), H100).node_times.total_s
    coded = modelled(compiled(facts, clocks(7, 1e7)), H100).node_times.total_s
    assert (coded > 2 * plain) == takes_code
    assert takes_code or coded == pytest.approx(plain)
