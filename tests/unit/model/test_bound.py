"""What bounds a kernel: the decisions with the figures on both sides of each limit."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from support.kernels import facts, workload
from tirlens.hardware import load
from tirlens.model.cpu.compiler import compile_loops
from tirlens.model.cpu.kernel_time import busiest_share, parallel_entries, parallel_iterations
from tirlens.model.gpu.requirements import requirement_notes
from tirlens.model.gpu.units.unit_times import tag_clocks
from tirlens.model.report import ReadWrite
from tirlens.model.reporting.bound import find_bound, find_cpu_bound
from tirlens_worker.facts import KernelFacts, Loop, Requirement, Span

from .test_cpu import facts as cpu_facts
from .test_cpu import loop, store

H100, AVX2 = load("h100-sxm"), load("x86-avx2")
MANY = 1000
DRAM_BUSY = "DRAM is busy"


@pytest.mark.parametrize(
    ("utilisation", "blocks", "shares", "limiter", "bound", "bound_class", "reason"),
    [
        # The launch takes more than half of the time, whatever is busy.
        ({"dram": 0.9}, MANY, (0.51, 0.9), "dram", "launch", "latency", "launch takes 51% of"),
        ({"dram": 0.9}, MANY, (0.49, 0.9), "dram", "dram", "memory", f"{DRAM_BUSY} 90% of the"),
        # Fewer than 0.9 blocks for each of 132 SMs, with nothing busy for 60 %.
        ({"dram": 0.5}, 118, (0, 0), "dram", "parallelism", "latency", "few blocks: 118 for 132"),
        ({"dram": 0.5}, 119, (0, 0), "dram", "latency", "latency", f"latency: {DRAM_BUSY} 50%"),
        ({"dram": 0.6}, 1, (0, 0), "dram", "dram", "memory", f"{DRAM_BUSY} 60% of the time"),
        # A unit is busy from 60 %, and balanced with one of the other class within 10 %.
        ({"dram": 0.61, "fp32": 0.3}, MANY, (0, 0), "dram", "dram", "memory", "next the floating"),
        ({"dram": 0.8, "fp32": 0.71}, MANY, (0, 0), "dram", "dram", "balanced", "cores at 71%"),
        ({"dram": 0.8, "fp32": 0.69}, MANY, (0, 0), "dram", "dram", "memory", "cores at 69%"),
        ({"dram": 0.8, "l2": 0.75}, MANY, (0, 0), "dram", "dram", "memory", "L2 cache at 75%"),
        ({"tensor": 0.8, "fp32": 0.75}, MANY, (0, 0), None, "tensor", "compute", "are busy 80%"),
        (
            {"tensor": 0.8, "shared": 0.75},
            MANY,
            (0, 0),
            None,
            "tensor",
            "balanced",
            "memory at 75%",
        ),
        # Where blocks set the time, a memory of all SMs counts near its limit: the SM's unit does.
        ({"dram": 0.79, "sfu": 0.7}, MANY, (0, 0), None, "sfu", "balanced", "conversions are busy"),
        ({"dram": 0.79, "sfu": 0.68}, MANY, (0, 0), None, "sfu", "compute", "; DRAM is busy 79%"),
        ({"dram": 0.81, "sfu": 0.6}, MANY, (0, 0), None, "dram", "memory", f"{DRAM_BUSY} 81%"),
        ({"dram": 0.79, "sfu": 0.6}, MANY, (0, 0), None, "sfu", "compute", "conversions are busy"),
        ({"dram": 0.79, "sfu": 0.59}, MANY, (0, 0), None, "latency", "latency", f"{DRAM_BUSY} 79%"),
        ({"dram": 0.79, "l2": 0.7}, MANY, (0, 0), None, "latency", "latency", f"{DRAM_BUSY} 79%"),
        ({"dram": 0.79, "sfu": 0.6}, MANY, (0, 0), "dram", "dram", "memory", f"{DRAM_BUSY} 79%"),
        # The last wave, from more than a quarter, where nothing is busy.
        ({"dram": 0.5}, MANY, (0, 0.26), "dram", "tail", "latency", "idle for 26%"),
        ({"dram": 0.5}, MANY, (0, 0.25), "dram", "latency", "latency", "exposed latency"),
        ({"dram": 0.7}, MANY, (0, 0.5), "dram", "dram", "memory", f"{DRAM_BUSY} 70%"),
        ({}, MANY, (0, 0), None, "latency", "latency", "instruction issue is busy 0%"),
    ],
)
def test_bounds_of_gpus(
    utilisation: Mapping[str, float],
    blocks: int,
    shares: tuple[float, float],
    limiter: str | None,
    bound: str,
    bound_class: str,
    reason: str,
) -> None:
    found = find_bound(H100, utilisation, blocks, *shares, limiter)
    assert (found.bound, found.bound_class) == (bound, bound_class)
    assert reason in found.reason


@pytest.mark.parametrize(
    ("utilisation", "cores", "launch_share", "bound", "bound_class", "reason"),
    [
        ({"dram": 0.9}, 16, 0.51, "launch", "latency", "the call takes 51% of the time"),
        ({}, 16, 0.49, "latency", "latency", "no unit is busy"),
        ({}, 4, 0.0, "latency", "latency", "no unit is busy; 4 of 16 cores work"),
        ({"fp32": 1.2}, 16, 0.0, "fp32", "compute", "floating-point instructions take 100% of"),
        ({"sfu": 0.5}, 16, 0.0, "sfu", "compute", "one element at a time, take 50% of the time"),
        ({"latency": 0.5}, 16, 0.0, "latency", "latency", "a dependency chain takes 50%"),
        ({"tlb": 0.5}, 15, 0.0, "tlb", "memory", "walks take 50% of the time; 15 of 16 cores"),
        (
            {"l1": 0.25, "l3": 0.5, "int": 0.125},
            1,
            0.0,
            "l3",
            "memory",
            "last-level cache take 50% of the time; loads and stores take 25%; 1 of 16 cores work",
        ),
        ({"l1": 3.0, "int": 2.0}, 16, 0.0, "l1", "memory", "time; integer instructions take 100%"),
    ],
)
def test_bounds_of_cpus(
    utilisation: Mapping[str, float],
    cores: int,
    launch_share: float,
    bound: str,
    bound_class: str,
    reason: str,
) -> None:
    found = find_cpu_bound(AVX2, utilisation, cores, launch_share)
    assert (found.bound, found.bound_class) == (bound, bound_class)
    assert reason in found.reason
    assert ("cores work" in found.reason) == (cores != 16 and bound != "launch")


def nested(*loops: Loop) -> KernelFacts:
    names = tuple(one.var for one in loops)
    shape = tuple(int(one.extent) for one in loops)  # type: ignore[arg-type]
    return cpu_facts({"A": shape, "B": shape}, loops, store({"A": names}, ("B", names)))


@pytest.mark.parametrize(
    ("loops", "entries", "iterations", "share"),
    [
        ((loop("i", 40),), 0, 1, 1.0),
        # Each entry wakes the other cores; a parallel loop in another one does not.
        ((loop("i", 40, "parallel"), loop("j", 100)), 1, 40, 3 / 40),
        ((loop("a", 3), loop("i", 40, "parallel"), loop("j", 100)), 3, 40, 3 / 40),
        ((loop("a", 3), loop("b", 5), loop("i", 16, "parallel"), loop("j", 99)), 15, 16, 1 / 16),
        ((loop("i", 4, "parallel"), loop("j", 8, "parallel"), loop("k", 99)), 1, 8, 1 / 8),
        ((loop("i", 1, "parallel"), loop("j", 8, "parallel"), loop("k", 99)), 1, 8, 1 / 8),
        ((loop("i", 17, "parallel"), loop("k", 99)), 1, 17, 2 / 17),
    ],
)
def test_parts_of_cores(
    loops: tuple[Loop, ...], entries: int, iterations: int, share: float
) -> None:
    """Of sixteen cores."""
    counted = workload(nested(*loops))
    (nest,) = compile_loops(counted.tree, counted.buffers, counted.shapes, AVX2).nests
    assert parallel_entries([nest]) == parallel_entries([nest, nest]) == entries
    assert parallel_iterations(nest) == iterations
    assert busiest_share(nest, AVX2) == pytest.approx(share)


@pytest.mark.parametrize(
    ("device", "lines", "loads", "clocks"),
    [
        # Four lines in a clock after the first one; otherwise 128 bytes of a line in one.
        ("h100-sxm", 1, True, 1),
        ("h100-sxm", 5, True, 2),
        ("h100-sxm", 32, True, 1 + 31 / 4),
        ("h100-sxm", 32, False, 32),
        ("h100-sxm", 0, True, 0),
        ("mi300x", 32, True, 32),
    ],
)
def test_clocks_of_tag_lookups(device: str, lines: float, loads: bool, clocks: float) -> None:
    assert tag_clocks(lines, loads, load(device)) == pytest.approx(clocks)


def test_what_a_device_lacks_is_noted_where_it_is_first_required() -> None:
    place = Span(5, 0, 5, 9)
    required = (Requirement("tma", place), Requirement("tcgen05"), Requirement("wgmma", place))
    given = KernelFacts(**{**vars(facts((), ())), "requires": required})
    notes = requirement_notes(given, ["tma", "tcgen05"], load("a100-80-sxm"))
    assert [note.span for note in notes] == [place]
    assert notes[0].message.startswith("sm_80 has no ")


@pytest.mark.parametrize(
    ("read", "write", "total"), [(3, 4, 7), (0, 0, 0), (None, 4, None), (3, None, None)]
)
def test_bytes_of_which_some_are_unknown_have_no_sum(
    read: int | None, write: int | None, total: int | None
) -> None:
    assert ReadWrite(read, write).total == total
