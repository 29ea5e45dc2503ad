"""A measured kernel that needs each mechanism: without it the predicted time is further off.

On the whole of the measured rows these mechanisms change little.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from measured.tables import board, measurements
from support.stored_facts import entries, stored
from tirlens.hardware import load
from tirlens.model import analyze
from tirlens.model.gpu.block.software_pipeline import loads_by_use
from tirlens.model.gpu.compiler.load_reuse import issued_load_share, reads_per_load
from tirlens.model.gpu.compiler.local_memory import spilled_accumulators
from tirlens.model.gpu.compiler.loop_carried import find_carried_dependence
from tirlens.model.gpu.launch.imbalance import block_times_s
from tirlens.model.gpu.mapping.memory_requests import memory_request
from tirlens.model.gpu.memory.latency import memory_state
from tirlens.model.gpu.memory.row_efficiency import row_efficiency
from tirlens.model.gpu.units.local_memory import add_local_memory
from tirlens.model.tree.busy import NO_SPILLS
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts


@dataclass(frozen=True)
class Kernel:
    """A row of a file of facts, and the errors with the mechanism and without it.

    Attributes
    ----------
    file, row
        The file of facts, and the row of its table.
    error
        The largest relative error with the mechanism.
    error_without
        The smallest relative error without it.
    """

    file: str
    row: int
    error: float
    error_without: float


# The one that the mechanism's removal does not replace.
_STATE = memory_state


def rate_of_a_copy(device: Any, traffic: Any) -> Any:
    """The state of the memory, whatever the kernel reads and writes."""
    return _STATE(device, ())


def without_spills(leaf: Any, unit_s: Any, *_: Any) -> Any:
    return unit_s, NO_SPILLS


def unity(*_: Any) -> float:
    return 1.0


def nothing(*_: Any) -> None:
    return None


def no_accumulator_spills(*_: Any) -> dict[int, Any]:
    return {}


def one_use(loads: Any, computation: Any) -> Any:
    """All tiles wait for one another."""
    return [(list(loads), sum(part.total_s for part in computation))]


def swizzled(starts: Any, vector: Any, buffer: Any, written: bool, loads: bool) -> Any:
    """Shared memory without bank conflicts."""
    return memory_request(starts, vector, buffer, False, loads)


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], Kernel]] = {
    # Pure writes of a stream on an L40 are faster than a copy.
    "mix of reads and writes": (
        memory_state,
        rate_of_a_copy,
        Kernel("streams", 164, 0.02, 0.06),
    ),
    # A product with weights of 4 bits on an H200, whose scales the elements of a thread share.
    "loads that elements of a tile share": (
        issued_load_share,
        unity,
        Kernel("h200_tileops", 193, 0.10, 1.20),
    ),
    # A product with mma in unrolled loops on an RTX 4090.
    "loads that unrolled iterations share": (
        reads_per_load,
        unity,
        Kernel("boards_tvm", 43, 0.01, 0.25),
    ),
    # Causal attention with sinks on an H800: the last rows have the most columns.
    "imbalance of blocks": (
        block_times_s,
        nothing,
        Kernel("tilelang_attention", 0, 0.04, 0.12),
    ),
    # A reduction on an A100 whose sums depend on each other.
    "loop-carried dependences": (
        find_carried_dependence,
        nothing,
        Kernel("tutorials_tvm", 55, 0.09, 0.15),
    ),
    # A product of CLBlast on an RTX 3090 with 256 accumulators a thread.
    "register spills": (
        add_local_memory,
        without_spills,
        Kernel("sweeps", 206, 0.12, 0.85),
    ),
    # A product on an H100 with 256 accumulators a thread, in steps of 32.
    "spilled accumulators": (
        spilled_accumulators,
        no_accumulator_spills,
        Kernel("h100_sweep", 72, 0.15, 0.65),
    ),
    # Attention on an H100, whose producer loads K again while the consumers use V.
    "buffers of their own": (
        loads_by_use,
        one_use,
        Kernel("h100_sweep", 13, 0.06, 0.40),
    ),
    # A transposition through shared memory on an H100: 32 lanes read one bank.
    "bank conflicts of tiles": (
        memory_request,
        swizzled,
        Kernel("h100_sweep", 187, 0.03, 0.40),
    ),
    # A product of few rows on an H100, whose weights come in rows of 64 bytes.
    "half lines": (
        row_efficiency,
        unity,
        Kernel("tiles", 69, 0.18, 0.34),
    ),
}


def relative_error(kernel: Kernel) -> float:
    """The relative error of the predicted time of a row."""
    content = stored(kernel.file)
    measurement = measurements(content["table"])[kernel.row]
    entry = next(one for one in content["rows"] if one["row"] == kernel.row)
    ((number,),) = entry["alternatives"]
    facts = from_json(KernelFacts, content["facts"][number])
    report = analyze(facts, board(measurement.device_id), entry.get("bindings", {}))
    assert report.time_s is not None
    return abs(report.time_s + measurement.harness_s - measurement.measured_s) / (
        measurement.measured_s
    )


@pytest.mark.parametrize("name", CASES)
def test_a_kernel_needs_the_mechanism(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    mechanism, neutral, kernel = CASES[name]
    assert relative_error(kernel) <= kernel.error
    replaced = 0
    for module in [one for key, one in sys.modules.items() if key.startswith("tirlens.model")]:
        for attribute, value in list(vars(module).items()):
            if value is mechanism:
                monkeypatch.setattr(module, attribute, neutral)
                replaced += 1
    assert replaced
    assert relative_error(kernel) >= kernel.error_without


def test_the_stores_of_spills_are_traffic_of_l2(monkeypatch: pytest.MonkeyPatch) -> None:
    """An attention backward whose fragments exceed the registers of a thread."""
    facts = from_json(KernelFacts, entries("compiled")[141])
    device = load("h100-sxm")
    report = analyze(facts, device)
    assert any(caveat.is_spill for caveat in report.caveats)
    assert report.l2_bytes is not None
    assert sum(entry.l2_bytes or 0 for entry in report.loops) == pytest.approx(report.l2_bytes)
    monkeypatch.setattr("tirlens.model.gpu.units.add_local_memory", without_spills)
    without = analyze(facts, device)
    assert without.l2_bytes is not None
    assert report.l2_bytes - without.l2_bytes > 10e9
