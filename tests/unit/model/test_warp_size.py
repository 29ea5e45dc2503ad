"""Warps have as many threads as the device says: 64 on CDNA."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import launched
from tirlens.hardware import load
from tirlens.model import analyze, workload_of
from tirlens.model.gpu.memory.atomic_contention import atomic_demand
from tirlens.model.tree.node import leaves_of
from tirlens.model.workload import Workload
from tirlens_worker.facts import (
    Access,
    Arith,
    Atomic,
    Branch,
    Buffer,
    Expr,
    KernelFacts,
    Loop,
    Node,
    Store,
)

CDNA = ("mi210", "mi300x", "mi355x")
WARPS_OF_32 = ("h100-sxm", "rtx-4090", "apple-m2")
ELEMENT: Expr = ("+", ("*", "bx", 256), "tx")
BUFFERS = (
    Buffer("v", "v", "float32", (1,), "local"),
    Buffer("x", "x", "float32", (1 << 26,), is_parameter=True),
    Buffer("y", "y", "float32", (1 << 26,), is_parameter=True),
)


def computed(condition: Expr | None) -> KernelFacts:
    """A long loop of the threads for which `condition` holds."""
    work = Store(
        "v[0] = v[0] * 2 + 1",
        (Arith("mul", "float32"), Arith("add", "float32")),
        (Access("v", "read", (0,)), Access("v", "write", (0,))),
    )
    loop = Loop("serial", "k", 0, 992, (work,))
    inner: Node = loop if condition is None else Branch(condition, (loop,))
    end = Store("x[...] = v[0]", (), (Access("v", "read", (0,)), Access("x", "write", (ELEMENT,))))
    return launched((inner, end), BUFFERS, blocks=16384, threads=256)


def time_s(facts: KernelFacts, device: str) -> float:
    found = analyze(facts, load(device)).time_s
    assert found is not None
    return found


def on_device(facts: KernelFacts, device: str) -> Workload:
    workload = workload_of(facts)
    assert workload is not None
    return workload.with_warps_of(load(device).limits.warp_size)


@pytest.mark.parametrize(
    ("condition", "of_64", "of_32"),
    [
        # One lane in 64: each wave of 64, every second warp of 32.
        (("==", ("%", "tx", 64), 5), 1.0, 0.5),
        (("==", ("%", "tx", 32), 5), 1.0, 1.0),
        # Half of a wave, every second warp.
        (("==", ("%", ("//", "tx", 32), 2), 0), 1.0, 0.5),
        (("==", ("%", ("//", "tx", 64), 2), 0), 0.5, 0.5),
        (("<", "tx", 32), 0.25, 0.125),
    ],
)
def test_the_lanes_of_a_warp_wait_for_each_other(
    condition: Expr, of_64: float, of_32: float
) -> None:
    for devices, share in ((CDNA, of_64), (WARPS_OF_32, of_32)):
        for device in devices:
            taken = time_s(computed(condition), device) / time_s(computed(None), device)
            assert taken == pytest.approx(share, rel=0.15, abs=0.05), device


def test_the_lanes_of_a_partial_warp() -> None:
    facts = computed(None)
    small = replace(facts, launch=replace(facts.launch, threads=(96,)))

    def threads_96(node: Node) -> Node:
        assert isinstance(node, Loop)
        (block,) = node.body
        assert isinstance(block, Loop)
        return replace(node, body=(replace(block, extent=96),))

    small = replace(small, body=tuple(map(threads_96, small.body)))
    assert {leaf.lanes for leaf in leaves_of(on_device(small, "mi300x").tree)} == {48}
    assert {leaf.lanes for leaf in leaves_of(on_device(small, "h100-sxm").tree)} == {32}


@pytest.mark.parametrize(
    ("index", "sectors_of_64", "sectors_of_32"),
    [
        (ELEMENT, 8, 4),
        (("*", ELEMENT, 8), 64, 32),
        # Two columns of 32 rows: each sector has an element of both.
        (("+", ("*", ("%", "tx", 32), 4096), ("//", "tx", 32)), 32, 32),
    ],
)
def test_the_sectors_of_a_request(index: Expr, sectors_of_64: int, sectors_of_32: int) -> None:
    copy = Store("y = x", (), (Access("x", "read", (index,)), Access("y", "write", (ELEMENT,))))
    facts = launched((copy,), BUFFERS, blocks=64, threads=256)
    for device, sectors in (("mi210", sectors_of_64), ("h100-sxm", sectors_of_32)):
        (row,) = on_device(facts, device).instructions
        request, stored = row.mapping.requests
        assert request is not None and stored is not None
        assert request.sectors == sectors
        lanes = load(device).limits.warp_size
        assert (request.elements_per_warp, stored.elements_per_warp) == (lanes, lanes)


def test_the_lanes_of_a_tile() -> None:
    copy = Store(
        "y = x",
        (),
        (Access("x", "read", (("*", "i", 64),)), Access("y", "write", ("i",))),
        per="block",
    )
    facts = launched((Loop("parallel", "i", 0, 1024, (copy,)),), BUFFERS, blocks=64, threads=256)
    for device in ("mi300x", "h100-sxm"):
        (row,) = on_device(facts, device).instructions
        (request, _) = row.mapping.requests
        assert request is not None
        assert request.sectors == request.lanes == load(device).limits.warp_size


def test_the_passes_of_atomics() -> None:
    """All lanes update one address: a pass each, one request for each wave."""
    update = Atomic(
        "atomic_add",
        (Arith("add", "float32"),),
        (Access("x", "read", (ELEMENT,)), Access("y", "atomic", (("//", ELEMENT, 64),))),
    )
    facts = launched((update,), BUFFERS, blocks=64, threads=256)
    passes: dict[str, float] = {}
    for name in ("mi300x", "h100-sxm"):
        workload = on_device(facts, name)
        (demand,) = atomic_demand(workload.instructions, workload.global_accesses, load(name))
        passes[name] = demand.passes
    assert passes["mi300x"] == passes["h100-sxm"] == 64 * 256
