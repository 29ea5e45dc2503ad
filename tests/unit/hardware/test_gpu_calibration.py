"""The numbers of a GPU's device file from the times of the calibration's steps.

The forward functions below are the model's definitions of the numbers: what a step takes on a
device. The calibration returns the numbers of the device from these times.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from pathlib import Path
from statistics import median

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tirlens.cli.calibration.gpu import Timed, device_text, timed_steps
from tirlens.cli.calibration.process import check
from tirlens.cli.errors import UsageError
from tirlens.hardware import Device, catalogue, load
from tirlens.hardware.audit import doubts
from tirlens.hardware.calibration.gpu import Calibration, StepTime, calibration
from tirlens.hardware.calibration.gpu_steps import Board, Step, calibration_steps
from tirlens.hardware.detect import FoundGpu

GPUS = [name for name in catalogue() if load(name).kind == "gpu" and load(name).vendor != "Apple"]
FRAMEWORK = "tilelang 0.1.15"
MEASURED = Path(__file__).parents[2] / "measured"


def board_of(device: Device) -> Board:
    return Board(
        device.name, device.vendor, device.arch, device.sm_count, device.l2.bytes,
        device.dram.bytes, FRAMEWORK,
    )  # fmt: skip


def dram_rate(device: Device, kernel: str) -> float:
    """The rate of a mix of reads and writes, as `tirlens.model.gpu.memory.latency` has it."""
    both_ways = device.dram.sustained_fraction
    one_way = device.dram.one_way_fraction or both_ways
    mixed = {"read": 0.0, "write": 0.0, "copy": 1.0, "triad": 2 / 3}[kernel]
    return device.dram.bytes_per_s * (one_way + (both_ways - one_way) * mixed)


def sustained(device: Device, name: str) -> float:
    return device.peaks[name].flop_per_s * device.peaks[name].sustained_fraction


def step_time(step: Step, device: Device) -> StepTime:
    """What a step takes on a device."""
    small, clock = device.microarchitecture, device.clock_hz
    link_s = small.dependent_clk / clock
    arch = device.arch.removeprefix("sm_")
    address_clk = small.dependent_clk if not arch.isdecimal() or int(arch) >= 90 else 0.0
    clks = {
        "chain": small.dependent_clk,
        "shuffles": small.shuffle_clk,
        "barriers": small.barrier_clk,
        "shared chase": small.shared_clk + address_clk,
    }
    kind = step.name.partition(" ")[2]
    if step.kernel in clks:
        clk = step.work * clks[step.kernel]
        has_clock = device.vendor == "NVIDIA"
        return StepTime(clk / clock + device.launch_s, clk if has_clock else None)
    if step.kernel == "empty":
        # What the host takes for a launch, which is longer than what the GPU takes.
        return StepTime(2 * device.launch_s)
    if step.kernel == "chase":
        latency_s = (device.dram if kind == "dram" else device.l2).latency_s / 2
        seconds = step.work * (latency_s + link_s)
    elif step.kernel == "product":
        seconds = step.work / sustained(device, f"tensor.{kind}")
        return StepTime(seconds + device.launch_s, how="torch.matmul")
    elif step.kernel in ("multiply-add", "exp2", "rsqrt"):
        seconds = step.work / sustained(device, "fp32" if step.kernel == "multiply-add" else "sfu")
    elif kind == "dram":
        seconds = step.work / dram_rate(device, step.kernel)
    elif kind == "l2 by one SM":
        seconds = step.work / (small.l2_port_bytes_per_clk * clock)
    else:
        fraction = small.l2_write_fraction if step.kernel == "write" else 1.0
        seconds = step.work / (device.l2.bytes_per_s * fraction)
    return StepTime(seconds + device.launch_s)


def times_on(device: Device, base: Device) -> dict[str, StepTime]:
    return {step.name: step_time(step, device) for step in calibration_steps(base, board_of(base))}


def file_of(base: Device, result: Calibration, folder: Path, board: Board | None = None) -> Device:
    """The device of the file that is written."""
    gpu = FoundGpu(base.name, base.vendor, base.arch, max_clock_hz=1.98e9, power_limit_w=700)
    text = device_text(
        base, gpu, board or board_of(base), result, Timed({}, []), "580.1", date(2026, 1, 2)
    )
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return load(path)


def another(base: Device, factors: Mapping[str, float]) -> Device:
    """A device with other numbers than `base` that the calibration measures."""

    def less(fraction: float, name: str) -> float:
        return fraction * (1 - factors[name] / 4)

    clock = 1 - factors["clock"] / 10
    peaks = {
        name: replace(
            peak,
            flop_per_s=peak.flop_per_s * (1 if peak.clock_hz else clock),
            sustained_fraction=less(peak.sustained_fraction, "peaks"),
        )
        for name, peak in base.peaks.items()
    }
    one_way = base.dram.one_way_fraction
    return replace(
        base,
        clock_hz=base.clock_hz * clock,
        launch_s=base.launch_s * (1 + factors["launch"]),
        peaks=peaks,
        dram=replace(
            base.dram,
            sustained_fraction=less(base.dram.sustained_fraction, "dram"),
            one_way_fraction=one_way and less(one_way, "dram"),
            latency_s=base.dram.latency_s * (1 + factors["latency"] / 5),
        ),
        l2=replace(
            base.l2,
            bytes_per_s=less(base.l2.bytes_per_s, "l2"),
            latency_s=base.l2.latency_s * (1 + factors["latency"] / 5),
        ),
        microarchitecture=replace(
            base.microarchitecture,
            shared_clk=base.microarchitecture.shared_clk * (1 + factors["clk"]),
            shuffle_clk=base.microarchitecture.shuffle_clk * (1 + factors["clk"]),
            barrier_clk=base.microarchitecture.barrier_clk * (1 + factors["clk"]),
            l2_write_fraction=less(base.microarchitecture.l2_write_fraction, "l2"),
            l2_port_bytes_per_clk=less(base.microarchitecture.l2_port_bytes_per_clk, "l2"),
        ),
    )


FACTORS = st.fixed_dictionaries(
    {name: st.floats(0, 1) for name in ("clock", "launch", "peaks", "dram", "latency", "l2", "clk")}
)


@settings(max_examples=60, deadline=None)
@given(st.sampled_from([name for name in GPUS if load(name).l2.partitions <= 2]), FACTORS)
def test_the_times_of_a_device_give_its_numbers(
    tmp_path_factory: pytest.TempPathFactory, name: str, factors: Mapping[str, float]
) -> None:
    """Within the four digits of the file, but for the rate of DRAM.

    That one is the median of streams, as in the catalogue (`test_micro.py`). Where one way is
    faster, the median is the triad, which is a third of the way to the rate of one way.
    """
    base = load(name)
    device = another(base, factors)
    result = calibration(base, board_of(base), True, times_on(device, base))
    found = file_of(base, result, tmp_path_factory.mktemp("file"))
    assert not [note for note in result.notes if "Not measured" in note]
    one_way = device.dram.one_way_fraction or device.dram.sustained_fraction
    small, expected = found.microarchitecture, device.microarchitecture
    both_ways = device.dram.sustained_fraction
    expected_rate = both_ways + max(one_way - both_ways, 0.0) / 3
    assert found.dram.sustained_fraction == pytest.approx(expected_rate, rel=2e-3)
    assert found.dram.sustained_fraction == pytest.approx(both_ways, rel=0.04)
    pairs = [
        (found.dram.one_way_fraction or 0.0, one_way),
        (found.clock_hz, device.clock_hz),
        (found.dram.latency_s, device.dram.latency_s),
        (found.l2.latency_s, device.l2.latency_s),
        (found.l2.bytes_per_s * found.l2.sustained_fraction, device.l2.bytes_per_s),
        (small.dependent_clk, expected.dependent_clk),
        (small.shared_clk, expected.shared_clk),
        (small.shuffle_clk, expected.shuffle_clk),
        (small.barrier_clk, expected.barrier_clk),
        (small.l2_write_fraction, expected.l2_write_fraction),
        (small.l2_port_bytes_per_clk, expected.l2_port_bytes_per_clk),
        *((sustained(found, peak), sustained(device, peak)) for peak in ("fp32", "sfu")),
        *(
            (sustained(found, f"tensor.{dtype}"), sustained(device, f"tensor.{dtype}"))
            for dtype in ("float16", "bfloat16", "tf32", "float8", "int8")
            if f"tensor.{dtype}" in base.peaks
        ),
    ]
    for value, given_value in pairs:
        assert value == pytest.approx(given_value, rel=2e-3)
    assert found.launch_s == pytest.approx(device.launch_s, rel=1e-2)


@pytest.mark.parametrize("name", GPUS)
def test_a_device_calibrated_by_its_own_times_is_in_no_doubt(name: str, tmp_path: Path) -> None:
    """What the audit says of the file it says of the catalogue's device."""
    base = load(name)
    result = calibration(base, board_of(base), True, times_on(base, base))
    keys = {doubt.key for doubt in doubts(base)}
    assert {doubt.key for doubt in doubts(file_of(base, result, tmp_path))} <= keys


def test_the_file_says_when_and_how_each_number_was_measured(tmp_path: Path) -> None:
    base = load("h100-sxm")
    result = calibration(base, board_of(base), True, times_on(base, base))
    device = file_of(base, result, tmp_path)
    assert device.sources["dram.latency_s"] == (
        "measured on this machine, 2026-01-02, driver 580.1, clock 1980 MHz: "
        "twice the time of a dependent load"
    )
    assert device.provenance["dram.latency_s"] == "measured"
    assert device.sources["dram.bytes_per_s"] == base.sources["dram.bytes_per_s"]
    text = (tmp_path / "mine.toml").read_text(encoding="utf-8").replace("\n# ", " ")
    assert "driver 580.1, up to 1980 MHz, limited to 700 W, kernels by tilelang 0.1.15" in text
    assert "Numbers that are not in this file are those of h100-sxm." in text


def test_what_was_not_measured_stays_and_is_said(tmp_path: Path) -> None:
    base = load("h100-sxm")
    times = times_on(base, base)
    for name in ("copy dram", "shuffles", "product float16", "chase l2"):
        del times[name]
    result = calibration(base, board_of(base), True, times)
    assert not {"dram.sustained_fraction", "microarchitecture.shuffle_clk"} & set(result.numbers)
    (note,) = [note for note in result.notes if note.startswith("Not measured, as in h100-sxm")]
    assert "dram.sustained_fraction" in note and "l2.latency_s" in note
    device = file_of(base, result, tmp_path)
    assert device.dram.sustained_fraction == base.dram.sustained_fraction
    assert device.peaks["tensor.float16"] == base.peaks["tensor.float16"]


def test_without_the_chains_rates_are_still_measured() -> None:
    base = load("a100-80-sxm")
    times = times_on(base, base)
    del times["long chain"]
    result = calibration(base, board_of(base), True, times)
    assert "clock_hz" not in result.numbers and "launch_s" not in result.numbers
    rate, _ = result.numbers["dram.sustained_fraction"]
    assert rate == pytest.approx(base.dram.sustained_fraction, rel=0.03)


def test_a_rate_above_the_data_sheet_is_told() -> None:
    base = load("h100-sxm")
    fast = replace(base, dram=replace(base.dram, sustained_fraction=1.02, one_way_fraction=1.03))
    result = calibration(base, board_of(base), True, times_on(fast, base))
    told = [note for note in result.notes if "of the data sheet's peak" in note]
    assert [note.partition(":")[0] for note in told] == [
        "dram.sustained_fraction",
        "dram.one_way_fraction",
    ]


def test_a_rate_of_another_board_is_not_written(tmp_path: Path) -> None:
    """As of Blackwell Ultra, whose units compute twice as many exponentials."""
    base = load("b200")
    times = times_on(base, base)
    times["exp2"] = StepTime(times["exp2"].seconds / 2)
    result = calibration(base, board_of(base), True, times)
    assert any(note.startswith("peaks.sfu.sustained_fraction") for note in result.notes)
    assert file_of(base, result, tmp_path).peaks["sfu"] == base.peaks["sfu"]


def test_numbers_that_no_device_has_are_refused(tmp_path: Path) -> None:
    base = load("h100-sxm")
    times = times_on(base, base)
    times["chase dram"] = StepTime(times["chase dram"].seconds * 100)
    result = calibration(base, board_of(base), True, times)
    gpu = FoundGpu(base.name, base.vendor)
    text = device_text(base, gpu, board_of(base), result, Timed({}, []), None, date(2026, 1, 2))
    with pytest.raises(UsageError, match=r"dram\.latency_s.*measure again"):
        check(text)


def test_a_board_that_the_catalogue_lacks_has_its_own_rates(tmp_path: Path) -> None:
    """Half of the SMs and of the DRAM rate of the nearest entry."""
    base = load("rtx-4090")
    device = replace(
        base.with_sm_count(64), dram=replace(base.dram, bytes_per_s=base.dram.bytes_per_s / 2)
    )
    board = replace(board_of(base), name="Other", sm_count=64, memory_bytes=16 << 30)
    times = {step.name: step_time(step, device) for step in calibration_steps(base, board)}
    found = file_of(base, calibration(base, board, False, times), tmp_path, board)
    assert (found.sm_count, found.dram.bytes) == (64, 16 << 30)
    rate = found.dram.bytes_per_s * found.dram.sustained_fraction
    assert rate == pytest.approx(dram_rate(device, "triad"), rel=1e-2)
    assert sustained(found, "fp32") == pytest.approx(sustained(device, "fp32"), rel=2e-3)
    assert found.sources["sm_count"] == "reported by the driver, 2026-01-02"


@pytest.mark.parametrize(("share", "is_written"), [(0.95, True), (0.6, False)])
def test_a_slow_product_of_the_compiler_says_nothing_of_the_units(
    share: float, is_written: bool
) -> None:
    base = load("h100-sxm")
    times = times_on(base, base)
    seconds = times["product float8"].seconds / share
    times["product float8"] = StepTime(seconds, how="T.gemm 128 x 256")
    result = calibration(base, board_of(base), True, times)
    assert ("peaks.tensor.float8.sustained_fraction" in result.numbers) == is_written
    assert any("T.gemm 128 x 256 reaches" in note for note in result.notes) != is_written


def test_an_l2_of_which_a_part_is_usable_is_told() -> None:
    base = load("h100-sxm")
    times = times_on(base, base)
    (step,) = [step for step in calibration_steps(base, board_of(base)) if step.name[6:] == "dram"][
        -1:
    ]
    slow = times["chase dram"].seconds / step.work
    for step in calibration_steps(base, board_of(base)):
        if step.name in ("chase 1 of l2", "chase 0.75 of l2"):
            times[step.name] = StepTime(slow * step.work)
    result = calibration(base, board_of(base), True, times)
    assert "One SM finds 25 MiB of the 50 MiB of L2 in L2" in result.notes


def test_the_answers_of_the_worker_are_read() -> None:
    timed = timed_steps(
        {
            "empty": {"seconds": [1e-6, 1.01e-6], "clk": None},
            "barriers": {"seconds": [1e-6, 2e-6], "clk": 1024.0},
            "product int8": {"problem": "no such instruction"},
        }
    )
    assert timed.times["barriers"] == StepTime(1e-6, 1024.0)
    assert timed.unrepeated == ["barriers"]
    assert timed.problems == {"product int8": "no such instruction"}


@pytest.mark.parametrize("name", GPUS)
def test_arrays_exceed_or_fit_in_their_level(name: str) -> None:
    base = load(name)
    steps = {step.name: step for step in calibration_steps(base, board_of(base))}
    last = max(base.l2.bytes, base.llc.bytes if base.llc else 0)

    def size(step: str) -> int:
        return int(steps[step].sizes["elements"]) * 4

    assert size("read dram") >= 4 * last and size("triad dram") * 3 < base.dram.bytes
    assert size("chase dram") >= 4 * last
    part = base.l2.bytes // base.l2.partitions
    assert ("read l2" in steps) == (base.l2.partitions <= 2)
    assert "read l2" not in steps or size("read l2") < 0.75 * part
    assert min(2 * base.l1_bytes_per_sm, part // 2) <= size("chase l2") < part
    assert 4 * base.l1_bytes_per_sm < size("read l2 by one SM") < part
    assert all(int(step.sizes.get("elements", 0)) < 1 << 31 for step in steps.values())


# What others measured, as sweeps: te42kyfo/gpu-benches (tests/measured/micro.csv).
RECORDED = {
    "a100-80-pcie": "A100 80GB",
    "h100-pcie": "H100 PCIe",
    "l40": "L40",
    "mi210": "MI210",
    "v100-sxm2": "V100",
    "a40": "A40",
    "a100-40-sxm": "A100 40GB SXM",
}
L2_KIB = {
    "a100-80-pcie": (4000, 24000),
    "h100-pcie": (7000, 37000),
    "l40": (4000, 92000),
    "mi210": (1500, 6200),
}


def recorded(name: str) -> dict[str, StepTime]:
    """The steps of a sweep that others measured on a board, with the base's launch."""
    base = load(name)
    with (MEASURED / "micro.csv").open(newline="", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["gpu"] == RECORDED[name]]
    steps = {step.name: step for step in calibration_steps(base, board_of(base))}

    def best(op: str, field: str) -> float | None:
        values = [float(row[field]) for row in rows if row["op"].startswith(op) and row[field]]
        return max(values, default=None)

    times: dict[str, StepTime] = {}
    streams = {"read": "read", "copy": "scale", "triad": "triad", "write": "init"}
    for kernel, op in streams.items():
        if gbps := best(f"stream {op}", "gbps"):
            work = steps[f"{kernel} dram"].work
            times[f"{kernel} dram"] = StepTime(work / (gbps * 1e9) + base.launch_s)
    for level in ("L2", "DRAM"):
        if latency_us := best(f"pointer chase in {level}", "latency_us"):
            step = steps[f"chase {level.lower()}"]
            times[step.name] = StepTime(step.work * latency_us * 1e-6 + base.launch_s)
    if name in L2_KIB:
        low, high = L2_KIB[name]
        reads = [
            float(row["gbps"]) * 1e9
            for row in rows
            if row["family"] == "micro_l2_bw" and row["gbps"]
            if low <= next(iter(json.loads(row["shape"]).values())) <= high
        ]
        times["read l2"] = StepTime(steps["read l2"].work / median(reads) + base.launch_s)
    links = base.microarchitecture.dependent_clk / base.clock_hz
    for chain in ("short chain", "long chain"):
        times[chain] = StepTime(steps[chain].work * links + base.launch_s)
    times["empty"] = StepTime(3e-6)
    return times


@pytest.mark.parametrize("name", RECORDED)
def test_a_recorded_sweep_gives_the_numbers_of_the_catalogue(name: str, tmp_path: Path) -> None:
    """Streams within 3 %, L2 within 4 %, latencies within 5 %, as `test_micro.py` has them.

    A chase of gpu-benches follows pointers: its loads need no address."""
    base = load(name)
    result = calibration(base, board_of(base), True, recorded(name))
    assert "dram.sustained_fraction" in result.numbers
    found = file_of(base, result, tmp_path)
    assert found.dram.sustained_fraction == pytest.approx(base.dram.sustained_fraction, rel=0.03)
    link_s = 2 * base.microarchitecture.dependent_clk / base.clock_hz
    for key, level in (("l2", base.l2), ("dram", base.dram)):
        if f"{key}.latency_s" in result.numbers:
            latency_s = result.numbers[f"{key}.latency_s"][0] + link_s
            assert latency_s == pytest.approx(level.latency_s, rel=0.05)
    if name in L2_KIB:
        assert found.l2.bytes_per_s == pytest.approx(base.l2.bytes_per_s, rel=0.04)
