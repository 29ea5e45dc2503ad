"""In-core times of the code that LLVM made, where the estimate of its loops is wrong.

The listings are of `tests/measured/cpu_kernels/first_sight.py`, compiled by TVM 0.27 for a Zen 4,
and the times were measured on one.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tirlens.hardware import Device, load
from tirlens.model import analyze
from tirlens.model.cpu.in_core.executed_time import block_clk
from tirlens.model.report import KernelReport
from tirlens_worker.codec import from_json
from tirlens_worker.facts import Assembly, KernelFacts
from tirlens_x86 import count_executions, read

TESTS = Path(__file__).parents[2]
DATA = TESTS / "x86" / "data"


@pytest.fixture(scope="module")
def zen4() -> Device:
    device = load(TESTS / "measured" / "cpu_zen4.toml")
    assert device.cpu is not None
    return replace(device, cpu=replace(device.cpu, processor="znver4"))


def facts_of(name: str, processor: str = "znver4") -> KernelFacts:
    facts = from_json(KernelFacts, json.loads((DATA / f"{name}.json").read_text())["facts"])
    assembly = Assembly(processor, (DATA / f"{name}.s").read_text())
    return replace(facts, assembly=(assembly,))


def measured_s(name: str) -> float:
    return json.loads((DATA / f"{name}.json").read_text())["measured_s"]


def both(name: str, device: Device) -> tuple[KernelReport, KernelReport]:
    """The reports of the estimate and of the compiled code."""
    facts = facts_of(name)
    return analyze(replace(facts, assembly=()), device), analyze(facts, device)


@pytest.mark.parametrize("name", ["dots", "int8", "cumulative_sum", "triad"])
def test_the_compiled_code_is_near_the_measured_time(name: str, zen4: Device) -> None:
    _, compiled = both(name, zen4)
    assert compiled.time_s is not None
    assert 0.75 < compiled.time_s / measured_s(name) < 1.25
    assert compiled.launch_facts == "compiled"


@pytest.mark.parametrize("name", ["dots", "int8", "convolution"])
def test_it_is_nearer_than_the_estimate(name: str, zen4: Device) -> None:
    """Overlap of chains, products of pairs of bytes, and gathers of half a vector."""
    estimated, compiled = both(name, zen4)
    assert estimated.time_s is not None and compiled.time_s is not None
    errors = [abs(one.time_s / measured_s(name) - 1) for one in (estimated, compiled)]  # type: ignore[operator]
    assert errors[1] < errors[0] / 2


def test_code_for_another_processor_is_not_used(zen4: Device) -> None:
    facts = facts_of("int8", "cascadelake")
    assert analyze(facts, zen4).time_s == analyze(replace(facts, assembly=()), zen4).time_s


def test_code_that_cannot_be_counted_leaves_the_estimate_and_says_so(zen4: Device) -> None:
    """The arrays of a call have other extents than the code was made for."""
    facts = facts_of("dots")
    other = Assembly("znver4", (DATA / "int8.s").read_text())
    report = analyze(replace(facts, assembly=(other,)), zen4)
    assert report.time_s == analyze(replace(facts, assembly=()), zen4).time_s
    assert any("times are estimates" in one.message for one in report.caveats)


def test_bounds(zen4: Device) -> None:
    """A chain of sums waits; products of bytes keep the core busy."""
    assert both("cumulative_sum", zen4)[1].bound == "latency"
    assert both("int8", zen4)[1].bound in ("int", "l1")


def test_a_block_that_executes_only_at_the_beginning_takes_time(zen4: Device) -> None:
    """Several loops in a loop: a trace begins with all iterations of the first of them."""
    body = "\n".join(
        f"""\
\tmovq\t${loop}, %rcx
.LBB0_{loop}:
{chr(10).join(["	vaddss	%xmm0, %xmm0, %xmm0"] * 10)}
\tincq\t%rcx
\tcmpq\t${loop + 12}, %rcx
\tjne\t.LBB0_{loop}"""
        for loop in range(2, 22)
    )
    text = f"""\
\t.type\tf,@function
f:
\txorl\t%eax, %eax
.LBB0_1:
{body}
\tincq\t%rax
\tcmpq\t$1000, %rax
\tjne\t.LBB0_1
\tretq
"""
    counts = count_executions(read(text), "f", {}, (), 1)
    (function,) = counts.functions
    times = block_clk(counts, zen4)
    loops = [header for header, loop in function.graph.loops.items() if loop.parent is not None]
    assert len(loops) == 20
    # A chain of ten additions of three clocks.
    assert all(abs(times["f", header] - 30) < 3 for header in loops)
