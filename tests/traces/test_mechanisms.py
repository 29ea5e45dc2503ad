"""Mechanisms of a residual: a figure that disagrees, in the direction of the residual."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from tirlens.hardware import load
from tirlens.measured.mechanisms import Mechanism, Question, explain_missing, find_mechanisms
from tirlens.model.report import (
    BreakdownEntry,
    CaveatNote,
    KernelReport,
    Occupancy,
    ReadWrite,
)
from tirlens_worker.facts import Span

H100 = load("h100-sxm")
LINE = Span(1, 0, 1, 0)


def load_of(array: str, l2_bytes: float, dram_bytes: float) -> BreakdownEntry:
    return BreakdownEntry(
        kind="op", label=f"copy {array}", span=LINE, executions=1, flop=0, dram_bytes=dram_bytes,
        l2_bytes=l2_bytes, step="load", step_arrays=(array,),
    )  # fmt: skip


def report(**fields: Any) -> KernelReport:
    known: dict[str, Any] = {
        "time_s": 1e-3,
        "time_band_s": (0.9e-3, 1.1e-3),
        "bound": "dram",
        "grid": (1024,),
        "threads_per_block": 256,
        "shared_bytes_per_block": 32768,
        "registers_per_thread": 64,
        "occupancy": Occupancy(4, 0.5, "registers"),
        "dram_bytes": ReadWrite(2 * 10**9, 10**9),
        "l2_bytes": 10 * 10**9,
        "global_bytes": ReadWrite(10**10, 10**9),
        "compulsory_bytes": 2 * 10**9,
        "flop_by_class": {"fp32": 10**10},
        "utilisation": {"dram": 0.9, "issue": 0.2, "shared": 0.2},
        "loops": (load_of("A", 4e9, 1e9), load_of("B", 5e9, 1e9)),
    }
    return KernelReport(
        name="main", definition="matmul", span=LINE, framework="tvm", framework_version="0.27",
        call="matmul()", call_source="option", bindings={}, device_id=H100.id,
        device_name=H100.name,
        **{**known, **fields},
    )  # fmt: skip


def found(measured_s: float, counters: dict[str, float], **fields: Any) -> list[Mechanism]:
    launch = {name: fields.pop(name) for name in list(fields) if name in Question.__annotations__}
    question = Question(measured_s, report(**fields), H100, counters, **launch)
    return list(find_mechanisms(question))


def names(measured_s: float, counters: dict[str, float], **fields: Any) -> list[str]:
    return [mechanism.name for mechanism in found(measured_s, counters, **fields)]


DRAM = {"dram__bytes_read.sum": 4.7e9, "dram__bytes_write.sum": 1e9}


def test_inside_the_band_there_is_nothing_to_explain() -> None:
    assert found(1.05e-3, DRAM) == []
    assert found(2e-3, DRAM, time_band_s=None) == []


def test_dram_bytes_above_the_prediction_name_the_reads() -> None:
    (mechanism,) = found(2e-3, DRAM, loops=(load_of("A", 1.2e9, 1e9), load_of("B", 5e9, 1e9)))
    assert mechanism.text == (
        "DRAM bytes 1.9x the prediction: 5.7 GB, not 3 GB; "
        "reads of B miss in L2, where the prediction has hits"
    )
    assert mechanism.counters == ("dram__bytes_read.sum", "dram__bytes_write.sum")


def test_several_arrays_that_may_miss_are_all_named() -> None:
    (mechanism,) = found(2e-3, {**DRAM, "lts__t_sector_hit_rate.pct": 41.0})
    assert "reads of A, B may miss in L2" in mechanism.text
    assert mechanism.text.endswith("L2 hit rate 41%, 70% by the prediction")


@pytest.mark.parametrize(
    ("measured_s", "counters"),
    [
        # Fewer bytes of a slower kernel, more of a faster one.
        (2e-3, {"dram__bytes_read.sum": 1e9, "dram__bytes_write.sum": 0.5e9}),
        (0.5e-3, DRAM),
        # As predicted.
        (2e-3, {"dram__bytes_read.sum": 2.1e9, "dram__bytes_write.sum": 1e9}),
        # DRAM is idle most of the time, whatever the bytes.
        (20e-3, DRAM),
        # Half of the figure is not known.
        (2e-3, {"dram__bytes_read.sum": 9e9}),
        (2e-3, {"dram__bytes_read.sum": float("nan"), "dram__bytes_write.sum": 1e9}),
        (2e-3, {}),
    ],
)
def test_dram_bytes_that_are_no_cause(measured_s: float, counters: dict[str, float]) -> None:
    assert names(measured_s, counters) == []


def test_a_faster_kernel_with_its_data_in_l2() -> None:
    (mechanism,) = found(0.5e-3, {"dram_read_bytes": 0.2e9, "dram_write_bytes": 0.1e9})
    assert mechanism.name == "dram-bytes"
    assert mechanism.text.endswith("they were in L2 before it began")


def test_sectors_of_loads_that_are_not_coalesced() -> None:
    counters = {
        "lts__t_sectors_op_read.sum": 1e9,
        "lts__t_sectors_op_write.sum": 0.2e9,
        "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum": 1.6e9,
        "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum": 1e8,
    }
    (mechanism,) = found(8e-3, counters, bound="l2")
    assert mechanism.name == "l2-sectors"
    assert mechanism.text == (
        "L2 sectors 3.8x the prediction: 38.4 GB, not 10 GB; 16.0 sectors a load request of a warp"
    )
    assert names(0.5e-3, counters) == []


def test_registers_that_leave_fewer_blocks_on_an_sm() -> None:
    (mechanism,) = found(2e-3, {"launch__registers_per_thread": 168.0})
    assert mechanism.text == "168 registers a thread, not 64: blocks on an SM: 1, not 4"
    assert names(2e-3, {}, registers=168) == ["occupancy"]
    assert names(0.5e-3, {}, registers=168) == []
    assert names(2e-3, {}, registers=64, shared_bytes=32768) == []


def test_shared_memory_that_leaves_fewer_blocks_on_an_sm() -> None:
    counters = {
        "launch__shared_mem_per_block_static": 1024.0,
        "launch__shared_mem_per_block_dynamic": 99_000.0,
    }
    (mechanism,) = found(2e-3, counters)
    assert (
        mechanism.text == "100 kB of shared memory a block, not 32.8 kB: blocks on an SM: 2, not 4"
    )


def test_resident_warps_below_the_prediction() -> None:
    active = "sm__warps_active.avg.pct_of_peak_sustained_active"
    assert names(2e-3, {active: 20.0}) == ["resident-warps"]
    assert names(2e-3, {active: 45.0}) == []


def test_spills_that_the_prediction_does_not_have() -> None:
    counters = {
        "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum": 2e7,
        "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum": 1e7,
    }
    assert names(2e-3, counters) == ["spills"]
    spilled = (CaveatNote("registers spill", is_spill=True),)
    assert names(2e-3, counters, caveats=spilled) == []
    executed = {
        "smsp__inst_executed_op_local_ld.sum": 1e6,
        "smsp__inst_executed_op_local_st.sum": 1e6,
        "smsp__inst_executed.sum": 2e7,
    }
    (mechanism,) = found(2e-3, executed)
    assert "10% of all instructions" in mechanism.text


@pytest.mark.parametrize(
    "counters",
    [
        {"sm__cycles_elapsed.avg.per_second": 1.2e9},
        {"gpc__cycles_elapsed.max": 2.4e6, "gpu__time_duration.sum": 2e-3},
    ],
)
def test_a_clock_below_the_catalogue(counters: dict[str, float]) -> None:
    (mechanism,) = found(2e-3, counters, bound="tensor")
    assert mechanism.name == "clock"
    assert mechanism.text.startswith(f"SM clock 1.20 GHz, {H100.clock_hz / 1e9:.2f} GHz in")
    # DRAM has a clock of its own; a faster kernel is not due to a lower clock; other runs.
    assert names(2e-3, counters, bound="dram") == []
    assert names(0.5e-3, counters, bound="tensor") == []
    assert names(2e-3, counters, bound="tensor", counters_are_of_timed_run=False) == []
    unknown = replace(Question(2e-3, report(bound="tensor"), H100, {}))
    assert find_mechanisms(unknown) == ()
    assert "clocks are not known" in explain_missing(unknown)


def test_flop_above_the_prediction() -> None:
    counter = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum"
    counters = {counter.format("fadd"): 1e9, counter.format("fmul"): 1e9,
                counter.format("ffma"): 19e9}  # fmt: skip
    (mechanism,) = found(2e-3, counters, bound="fp32")
    assert mechanism.text.startswith("fp32 FLOP 4x the prediction: 40 G, not 10 G")
    del counters[counter.format("ffma")]
    assert names(2e-3, counters, bound="fp32") == []


@pytest.mark.parametrize(
    "counters",
    [
        {"sm__inst_executed_pipe_tensor.sum": 0.0},
        {"sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active": 0.0},
        {
            f"sm__inst_executed_pipe_tensor_op_{kind}.avg.pct_of_peak_sustained_active": 0.0
            for kind in ("hmma", "imma", "gmma")
        },
    ],
)
def test_products_without_matrix_units(counters: dict[str, float]) -> None:
    flop = {"tensor.float16": 10**12}
    assert names(9e-3, counters, flop_by_class=flop) == ["matrix-units"]
    assert names(9e-3, counters) == []
    assert names(9e-3, dict.fromkeys(counters, 5.0), flop_by_class=flop) == []
    blackwell = Question(9e-3, report(flop_by_class=flop), load("b200-sxm"), counters)
    assert find_mechanisms(blackwell) == ()


def test_counters_of_warps_say_nothing_of_products_by_warpgroups() -> None:
    counters = {"sm__inst_executed_pipe_tensor_op_hmma.sum": 0.0}
    assert names(9e-3, counters, flop_by_class={"tensor.float16": 10**12}) == []


def test_flop_by_cycle() -> None:
    counter = "smsp__sass_thread_inst_executed_op_{}_pred_on.sum.per_cycle_elapsed"
    counters = {counter.format("fadd"): 0.0, counter.format("fmul"): 0.0,
                counter.format("ffma"): 10_000.0}  # fmt: skip
    assert names(2e-3, counters, bound="fp32") == []
    counters |= {"smsp__cycles_elapsed.avg.per_second": 1.7e9, "gpu__time_duration.sum": 2e-3}
    (mechanism,) = found(2e-3, counters, bound="fp32", counters_are_of_timed_run=False)
    assert mechanism.name == "flop"
    assert mechanism.measured == pytest.approx(2 * 10_000 * 1.7e9 * 2e-3)


def test_dram_bytes_of_both_directions_together() -> None:
    (mechanism,) = found(2e-3, {"dram__bytes.sum": 5.7e9})
    assert mechanism.text.startswith("DRAM bytes 1.9x the prediction: 5.7 GB, not 3 GB")
    assert mechanism.counters == ("dram__bytes.sum",)


def test_instructions_above_the_issue_slots_of_the_prediction() -> None:
    per_s = H100.issue_per_clk_per_sm * H100.clock_hz * H100.sm_count
    assert names(2e-3, {"smsp__inst_executed.sum": 1.5e-3 * per_s}) == ["instructions"]
    assert names(2e-3, {"smsp__inst_executed.sum": 0.21e-3 * per_s}) == []
    assert names(9e-3, {"smsp__inst_executed.sum": 1.5e-3 * per_s}) == []


def test_bank_conflicts() -> None:
    rate = H100.shared_bytes_per_clk_per_sm / 128 * H100.clock_hz * H100.sm_count
    counters = {
        "l1tex__data_pipe_lsu_wavefronts_mem_shared.sum": 1.5e-3 * rate,
        "l1tex__data_bank_conflicts_pipe_lsu_mem_shared.sum": 1.2e-3 * rate,
    }
    assert names(2e-3, counters) == ["bank-conflicts"]
    assert names(2e-3, counters, utilisation={"shared": 1.4}) == []


STALLS = {"long_scoreboard": 1.0, "barrier": 6.0, "wait": 2.0, "math_pipe_throttle": 1.0}


@pytest.mark.parametrize(
    "form",
    [
        "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio",
        "smsp__average_warp_latency_issue_stalled_{}.ratio",
        "smsp__pcsamp_warps_issue_stalled_{}",
        "smsp__pcsamp_warps_issue_stalled_{}_not_issued",
    ],
)
def test_stalls_that_are_not_those_of_the_bound(form: str) -> None:
    counters = {form.format(name): value for name, value in STALLS.items()}
    (mechanism,) = found(2e-3, counters)
    assert mechanism.name == "stall-barrier"
    assert "warps wait for other warps at barriers (60% of their waiting)" in mechanism.text
    assert names(2e-3, counters, bound="latency") == []
    assert names(0.5e-3, counters) == []


def test_stalls_of_the_predicted_bound_say_nothing_new() -> None:
    form = "smsp__average_warps_issue_stalled_{}_per_issue_active.ratio"
    counters = {form.format(name): value for name, value in STALLS.items()}
    counters[form.format("long_scoreboard")] = 30.0
    assert names(2e-3, counters, bound="dram") == []


def test_another_launch() -> None:
    (mechanism,) = found(2e-3, {}, grid=(64, 64, 1))
    assert mechanism.text.startswith("4,096 blocks, not 1,024")
    assert names(2e-3, {}, threads=128) == ["launch"]
    assert names(2e-3, {}, grid=(32, 32, 1), threads=256) == []


def test_launches_and_gaps_in_the_timing() -> None:
    (mechanism,) = found(30e-6, {}, kernel_time_s=12e-6, time_s=10e-6, time_band_s=(8e-6, 13e-6))
    assert mechanism.name == "timing-overhead"
    assert "18 us are launches and gaps" in mechanism.text
    assert names(2e-3, {}, kernel_time_s=1.9e-3) == []


def test_the_greatest_disagreement_is_first() -> None:
    counters = {**DRAM, "launch__registers_per_thread": 168.0}
    assert names(2e-3, counters) == ["occupancy", "dram-bytes"]
