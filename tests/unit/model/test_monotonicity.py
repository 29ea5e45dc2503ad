"""More hardware is never slower, more work never faster, and what a kernel means is what counts.

The kernels are those of the measured tables, with the sizes of their rows.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from measured.tables import board, measurements
from support.kernels import gemm
from support.properties import examples
from support.stored_facts import stored
from tirlens.hardware import Device, load
from tirlens.model import Workload, analyze, workload_of
from tirlens.model.report import KernelReport
from tirlens_worker.codec import from_json
from tirlens_worker.facts import Branch, Expr, KernelFacts, Loop, Node, Statement, While

from .launches import products, stream, streams

#: Files of facts, and which of their rows the quick tests take.
QUICK = {
    "tilelang_readmes": 9,
    "tutorials_tvm": 4,
    "boards_tvm": 6,
    "library_tilelang": 12,
    "streams": 25,
}
ALL = (*QUICK, "h200_tileops", "library_tvm")
#: Kernels with a longer JSON take too long for the quick tests.
MAX_FACTS_CHARACTERS = 60_000
# Interleaved code of different units is not exactly additive.
INTERLEAVED = 1.005
# Fewer waves overlap less: one wave loads, then computes, then stores (fitted: gpu-stream). More of
# its blocks request a tile together, and all wait for its one fetch.
FEWER_WAVES = 1.1

# Kernels that are further off, by the name of the case and what is better, with their factors.
KNOWN = {
    # Stores of a wave have an even share of DRAM each, which is less on more SMs.
    ("h200_tileops 193 h200-1500-mhz", "SMs"): 1.3,
    # Its copies have one buffer: a block that is alone on its SM waits for each of its tiles.
    ("library_tilelang 271 mi210-llmcompass", "SMs"): 1.02,
}


@dataclass(frozen=True)
class Case:
    """A kernel with its sizes, and the device of its measured row."""

    name: str
    facts: KernelFacts
    bindings: Mapping[str, int]
    device: Device

    def report(self, device: Device) -> KernelReport:
        return analyze(self.facts, device, self.bindings, self.workload, by_line=False)

    @cached_property
    def workload(self) -> Workload | None:
        return workload_of(self.facts, self.bindings)

    @cached_property
    def baseline(self) -> KernelReport:
        return self.report(self.device)


@cache
def cases(name: str, step: int) -> tuple[Case, ...]:
    """The kernels of every `step`-th row of a file of facts that have a time."""
    content = stored(name)
    table = measurements(content["table"])
    found: dict[tuple[int, str], Case] = {}
    for row in content["rows"][::step]:
        measured = table.get(row["row"])
        number = row["alternatives"][0][0]
        item = content["facts"][number]
        if measured is None or len(json.dumps(item)) > MAX_FACTS_CHARACTERS:
            continue
        case = Case(
            f"{name} {number} {measured.device_id}",
            from_json(KernelFacts, item),
            row.get("bindings", {}),
            board(measured.device_id),
        )
        if case.baseline.time_s is not None:
            found[number, measured.device_id] = case
    return tuple(found.values())


def quick_cases() -> tuple[Case, ...]:
    return tuple(case for name, step in QUICK.items() for case in cases(name, step))


def with_sms(device: Device, times: float) -> Device:
    """The device with more SMs, each as fast as before."""
    sms = round(device.sm_count * times)
    return with_peaks(replace(device, sm_count=sms), sms / device.sm_count)


def with_peaks(device: Device, times: float) -> Device:
    peaks = {
        name: replace(peak, flop_per_s=peak.flop_per_s * times)
        for name, peak in device.peaks.items()
    }
    return replace(device, peaks=peaks)


def with_latency(device: Device, times: float) -> Device:
    dram, l2 = device.dram, device.l2
    saturated_s = dram.saturated_latency_s
    if saturated_s is not None:
        dram = replace(dram, saturated_latency_s=saturated_s * times)
    return replace(
        device,
        dram=replace(dram, latency_s=dram.latency_s * times),
        l2=replace(l2, latency_s=l2.latency_s * times),
    )


def with_rates(device: Device, dram: float = 1.0, l2: float = 1.0) -> Device:
    return replace(
        device,
        dram=replace(device.dram, bytes_per_s=device.dram.bytes_per_s * dram),
        l2=replace(device.l2, bytes_per_s=device.l2.bytes_per_s * l2),
    )


BETTER: dict[str, Callable[[Device, float], Device]] = {
    "SMs": with_sms,
    "DRAM bandwidth": lambda device, times: with_rates(device, dram=times),
    "L2 bandwidth": lambda device, times: with_rates(device, l2=times),
    "L2 capacity": lambda device, times: replace(
        device, l2=replace(device.l2, bytes=int(device.l2.bytes * times))
    ),
    "clock": lambda device, times: with_peaks(
        replace(device, clock_hz=device.clock_hz * times), times
    ),
    "latency": lambda device, times: with_latency(device, 1 / times),
    "L2 latency": lambda device, times: replace(
        device, l2=replace(device.l2, latency_s=device.l2.latency_s / times)
    ),
    "launch cost": lambda device, times: replace(device, launch_s=device.launch_s / times),
}


def assert_never_slower(case: Case, what: str, times: float) -> None:
    before = case.baseline
    after = case.report(BETTER[what](case.device, times))
    assert before.time_s is not None and after.time_s is not None
    limit_s = before.time_s * KNOWN.get((case.name, what), INTERLEAVED)
    if what == "SMs":
        # The concurrent blocks of more SMs evict each other's data from the same L2, as measured
        # kernels do: the time may grow with the bytes of DRAM.
        moved, more = before.dram_bytes.total or 0, after.dram_bytes.total or 0
        limit_s *= max(more / moved, 1.0) * FEWER_WAVES if moved else FEWER_WAVES
    assert after.time_s <= limit_s, f"{case.name}: {what} x {times:.3g}"


@pytest.mark.parametrize("what", BETTER)
@examples(20, derandomize=True)
@given(data=st.data(), times=st.floats(1.0, 8.0))
def test_more_hardware_is_never_slower(what: str, data: st.DataObject, times: float) -> None:
    assert_never_slower(data.draw(st.sampled_from(quick_cases())), what, times)


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL)
def test_no_measured_kernel_is_slower_with_more_hardware(name: str) -> None:
    for case in cases(name, QUICK.get(name, 9) // 3):
        for what in BETTER:
            for times in (1.02, 1.5, 2.0, 8.0):
                assert_never_slower(case, what, times)


@pytest.mark.parametrize("times", [2, 4, 8])
def test_a_skinny_product_is_not_slower_on_more_sms(times: int) -> None:
    """128 rows on 32 SMs up: blocks that have an SM each do not get slower by further ones."""
    device = with_sms(load("h100-sxm"), 32 / 132)
    for columns in (2048, 4096, 8192, 16384):
        for stages in (0, 2, 3):
            product = gemm(m=128, n=columns, k=4096, stages=stages)
            few, many = (analyze(product, one).time_s for one in (device, with_sms(device, times)))
            assert few is not None and many is not None
            assert many <= few * INTERLEAVED


def seconds(facts: KernelFacts, name: str = "h100-sxm") -> float:
    time_s = analyze(facts, load(name), by_line=False).time_s
    assert time_s is not None
    return time_s


@pytest.mark.parametrize("heads", [8, 64])
@pytest.mark.parametrize("length", [512, 1024, 4096])
@pytest.mark.parametrize("device", ["h100-sxm", "a100-80-sxm", "b200"])
def test_causal_attention_takes_no_longer_than_full(heads: int, length: int, device: str) -> None:
    full, causal = (
        seconds(attention(length, heads, is_causal), device) for is_causal in (False, True)
    )
    assert causal <= full * (1 + 1e-9)


def attention(length: int, heads: int, is_causal: bool, tile: int = 128) -> KernelFacts:
    """The products of an attention over tiles of keys, all or those up to the diagonal."""
    dim = 64
    kernel = gemm(m=length, n=dim * heads, k=length, tile_m=tile, tile_n=dim, tile_k=tile, stages=2)
    return with_trip_count(kernel, ("+", "by", 1)) if is_causal else kernel


def with_trip_count(facts: KernelFacts, extent: Expr) -> KernelFacts:
    def change(node: Node) -> Node:
        if not isinstance(node, Loop):
            return node
        body = tuple(map(change, node.body))
        return replace(node, body=body, extent=extent if node.kind == "pipelined" else node.extent)

    return replace(facts, body=tuple(map(change, facts.body)))


def renamed(facts: KernelFacts) -> KernelFacts:
    """The kernel under other names of its arrays and of itself."""
    buffers = tuple(replace(buffer, name=f"other_{buffer.name}") for buffer in facts.buffers)
    return replace(facts, name="another", definition="another", buffers=buffers)


@examples(20, derandomize=True)
@given(data=st.data())
def test_names_change_nothing(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(quick_cases()))
    other = replace(case, facts=renamed(case.facts))
    assert other.report(case.device).time_s == case.report(case.device).time_s


@examples(20, derandomize=True)
@given(data=st.data())
def test_equal_index_forms_change_nothing(data: st.DataObject) -> None:
    case = data.draw(st.sampled_from(quick_cases()))
    other = replace(case, facts=with_commuted_sums(case.facts))
    before_s, after_s = (one.report(case.device).time_s for one in (case, other))
    assert before_s is not None and after_s == pytest.approx(before_s, rel=1e-9)


def with_commuted_sums(facts: KernelFacts) -> KernelFacts:
    """The kernel with the operands of each sum and product in its indices exchanged."""

    def commute(expression: Expr) -> Expr:
        if not isinstance(expression, tuple):
            return expression
        operands: list[Any] = list(map(commute, expression[1:]))
        if expression[0] in ("+", "*") and len(operands) == 2:
            operands.reverse()
        return (expression[0], *operands)

    def change(node: Node) -> Node:
        if isinstance(node, Statement):
            accesses = tuple(
                replace(access, indices=tuple(map(commute, access.indices)))
                for access in node.accesses
            )
            return replace(node, accesses=accesses)
        if isinstance(node, (Loop, While)):
            return replace(node, body=tuple(map(change, node.body)))
        if isinstance(node, Branch):
            then, orelse = tuple(map(change, node.then)), tuple(map(change, node.orelse))
            return replace(node, then=then, orelse=orelse)
        return node

    return replace(facts, body=tuple(map(change, facts.body)))


@examples(15, derandomize=True)
@given(products(), st.sampled_from(["h100-sxm", "a100-80-sxm", "l4"]))
def test_order_of_independent_copies_changes_nothing(sizes: dict[str, int], device: str) -> None:
    kernel = gemm(**sizes)

    def exchange(node: Node) -> Node:
        if not isinstance(node, Loop):
            return node
        if node.kind == "pipelined":
            first, second, *rest = node.body
            return replace(node, body=(second, first, *rest))
        return replace(node, body=tuple(map(exchange, node.body)))

    other = replace(kernel, body=tuple(map(exchange, kernel.body)))
    assert seconds(other, device) == pytest.approx(seconds(kernel, device), rel=1e-9)


@examples(15, derandomize=True)
@given(streams(), st.sampled_from(["h100-sxm", "a100-80-sxm", "l4"]))
def test_a_further_statement_is_never_faster(sizes: dict[str, Any], device: str) -> None:
    kernel = stream(**sizes)

    def double(node: Node) -> Node:
        if not isinstance(node, Loop):
            return node
        body = (*node.body, *node.body) if node.kind == "serial" else tuple(map(double, node.body))
        return replace(node, body=body)

    more = replace(kernel, body=tuple(map(double, kernel.body)))
    assert seconds(kernel, device) <= seconds(more, device) * (1 + 1e-9)


@examples(15, derandomize=True)
@given(products(), st.sampled_from("mnk"), st.sampled_from(["h100-sxm", "a100-80-sxm", "l4"]))
def test_twice_a_size_is_never_faster(sizes: dict[str, int], which: str, device: str) -> None:
    once, twice = gemm(**sizes), gemm(**{**sizes, which: 2 * sizes[which]})
    assert seconds(once, device) <= seconds(twice, device) * (1 + 1e-9)
