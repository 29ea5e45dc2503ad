"""Each figure of a launch is shown with the tier it is from."""

from __future__ import annotations

from dataclasses import replace

import pytest

from support.kernels import gemm
from tirlens.hardware import load
from tirlens.ide import diagnostics, hovers, launch, tables
from tirlens.ide.report_page import KernelView
from tirlens.ide.report_page.kernel_data import kernel_data
from tirlens.model import analyze
from tirlens.model.report import KernelReport, Waves
from tirlens_worker.facts import LoweredLaunch, Move

MOVES = (
    Move("A", "read", "tma"),
    Move("B", "read", "async", (4, 16)),
    Move("C", "write", "thread", (8,)),
    Move("D", "atomic", "thread", (4,)),
    Move("E", "read", "tma"),
)


def report(**changes: object) -> KernelReport:
    facts = replace(gemm(), **changes)  # type: ignore[arg-type]
    return analyze(facts, load("h100-sxm"))


LOWERED = (LoweredLaunch("sm_90", 384, 99_000, 168, "wgmma", MOVES),)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "128 threads, 98.3 kB shared (source)"),
        ({"lowered": LOWERED}, "384 threads (128 written), 99 kB shared (lowered)"),
        ({"lowered": (replace(LOWERED[0], arch="sm_80"),)}, "128 threads, 98.3 kB shared (source)"),
    ],
)
def test_the_tier_of_a_block(changes: dict[str, object], text: str) -> None:
    assert launch.block(report(**changes)) == text
    assert f"blocks (source) of {text}" in hovers.kernel(report(**changes))


def test_how_arrays_are_moved() -> None:
    assert launch.array_transfers(report()) == ""
    assert launch.array_transfers(report(lowered=LOWERED)) == (
        "A, E read by TMA; B read by cp.async 4 and 16 B at a time; C written 8 B at a time; "
        "D updated atomically 4 B at a time"
    )


def test_lowering_decides_how_many_blocks_fit() -> None:
    one = report(lowered=LOWERED).occupancy
    assert one is not None
    assert launch.blocks_per_sm(one) == "1 block per SM"
    few = report(lowered=(replace(LOWERED[0], registers_per_thread=None, threads=128),))
    assert few.occupancy is not None
    assert few.occupancy.blocks_per_sm == 233_472 // (99_000 + 1024)
    assert launch.blocks_per_sm(few.occupancy) == "2 blocks per SM"


def test_a_refusal_is_a_warning_at_the_definition() -> None:
    found = diagnostics.of_report(report(refused={"sm_90": "No valid warp partition"}))
    (warning,) = [item for item in found if item.code == "lowering"]
    assert (warning.severity, warning.span) == ("warning", gemm().span)
    assert warning.message.endswith("No valid warp partition")
    assumed = report(refused={"sm_90": "No valid warp partition"}, call_source="assumed")
    assert "information" in {item.severity for item in diagnostics.of_report(assumed)}
    assert not [
        item
        for item in diagnostics.of_report(report(refused={"sm_80": "No valid warp partition"}))
        if item.code == "lowering"
    ]


@pytest.mark.parametrize(
    ("blocks", "text"),
    [
        (32 / 132, "1 wave, 24% full"),
        (1.0, "1 wave, 100% full"),
        (8.0, "8 waves, the last 100% full"),
        (4096 / 132, "32 waves, the last 3% full"),
    ],
)
def test_the_waves_of_a_launch_include_the_last(blocks: float, text: str) -> None:
    assert launch.waves(Waves(blocks, 0.0)) == text


def test_table_hover_and_page_have_the_same_number_of_waves() -> None:
    device = load("h100-sxm")
    found = analyze(gemm(), device)
    assert found.waves is not None
    whole = launch.wave_count(found.waves)
    last = launch.last_wave(found.waves)
    assert dict(tables.particulars(found))["launch"].endswith(launch.waves(found.waves))
    assert f"{whole}, {last}: the tail" in hovers.kernel(found)
    tiles = kernel_data(KernelView(found, device))["tiles"]
    assert ("waves", str(whole), last) in tiles
    peaks = [note for name, _, note in tiles if name in ("arithmetic", "DRAM")]
    assert len(peaks) == 2 and all(note in hovers.kernel(found) for note in peaks)
