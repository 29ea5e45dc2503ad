"""Detection of a CPU, and the device file from measured times."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tirlens.hardware import detect_cpu, known_cores, load
from tirlens.hardware.calibration import cpu as calibrate
from tirlens.hardware.calibration.repetition import unrepeated_kernels
from tirlens.hardware.detect_cpu import DetectedCache, DetectedCpu

CPUINFO = """processor\t: 0
model name\t: Some(R) Xeon "Gold" @ 2.80GHz
flags\t\t: fpu sse2 avx2 avx512f

processor\t: 1
model name\t: Another
flags\t\t: fpu
"""
CACHES = [
    ("Data", 1, "48K", 12, "0,64"),
    ("Instruction", 1, "32K", 8, "0,64"),
    ("Unified", 2, "1280K", 20, "0,64"),
    ("Unified", 3, "48M", 12, "0-31,64-95"),
]


def machine(root: Path, quota: str = "max 100000") -> Path:
    """The files of Linux on a server with two threads per core."""
    files = {
        "proc/cpuinfo": CPUINFO,
        "proc/meminfo": "MemTotal:       16384 kB\nMemFree: 1 kB\n",
        "sys/fs/cgroup/cpu.max": quota + "\n",
        "sys/devices/system/cpu/cpu0/topology/thread_siblings_list": "0,64\n",
    }
    for number, (kind, level, size, ways, shared) in enumerate(CACHES):
        folder = f"sys/devices/system/cpu/cpu0/cache/index{number}"
        values = {
            "type": kind,
            "level": level,
            "size": size,
            "ways_of_associativity": ways,
            "shared_cpu_list": shared,
        }
        files |= {f"{folder}/{name}": f"{value}\n" for name, value in values.items()}
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def linux(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("platform.system", lambda: "Linux")
    monkeypatch.setattr("platform.machine", lambda: "x86_64")

    def affinity(_: int) -> set[int]:
        return set(range(16))

    monkeypatch.setattr("os.sched_getaffinity", affinity, raising=False)


def test_detection_of_a_server(linux: None, tmp_path: Path) -> None:
    found = detect_cpu.detect(machine(tmp_path))
    assert (found.name, found.base) == ('Some(R) Xeon "Gold" @ 2.80GHz', "x86-avx512")
    assert (found.threads_per_core, found.cores, found.memory_bytes) == (2, 8, 16384 * 1024)
    assert found.caches == {
        1: DetectedCache(48 << 10, 12, 2),
        2: DetectedCache(1280 << 10, 20, 2),
        3: DetectedCache(48 << 20, 12, 64),
    }


def test_a_container_is_limited_to_its_cpu_quota(linux: None, tmp_path: Path) -> None:
    assert detect_cpu.detect(machine(tmp_path, "600000 100000")).cores == 3


def test_control_groups_v1_limit_the_cores_too(linux: None, tmp_path: Path) -> None:
    root = machine(tmp_path)
    (root / "sys/fs/cgroup/cpu.max").unlink()
    group = root / "sys/fs/cgroup/cpu"
    group.mkdir()
    for name, value in (("quota", "800000"), ("period", "100000")):
        (group / f"cpu.cfs_{name}_us").write_text(f"{value}\n", encoding="utf-8")
    assert detect_cpu.detect(root).cores == 4
    (group / "cpu.cfs_quota_us").write_text("-1\n", encoding="utf-8")
    assert detect_cpu.detect(root).cores == 8


def test_the_compiler_uses_whole_registers_on_amd(linux: None, tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert detect_cpu.detect(root).vector_bytes is None
    path = root / "proc/cpuinfo"
    path.write_text("vendor_id\t: AuthenticAMD\n" + CPUINFO, encoding="utf-8")
    found = replace(detect_cpu.detect(root), memory_bytes=FOUND.memory_bytes)
    assert (found.base, found.vector_bytes) == ("x86-avx512", 64)
    assert calibrate.kernel_sizes(found)["vector"] == calibrate.kernel_sizes(found)["lanes"] == 16
    file = tmp_path / "mine.toml"
    numbers = calibrate.device_numbers(found, seconds())
    file.write_text(calibrate.device_file(found, numbers, date(2026, 1, 2)), encoding="utf-8")
    core = load(file).cpu
    assert core is not None and core.vector_bytes == 64
    assert load(file).sources["cpu.vector_bytes"] == calibrate.VECTORS_SOURCE


def test_plain_llvm_is_limited_to_sse2(linux: None, tmp_path: Path) -> None:
    found = replace(
        detect_cpu.as_plain_llvm(detect_cpu.detect(machine(tmp_path))), memory_bytes=None
    )
    assert calibrate.kernel_sizes(found)["vector"] == calibrate.kernel_sizes(found)["lanes"] == 4
    file = tmp_path / "mine.toml"
    numbers = calibrate.device_numbers(found, seconds())
    file.write_text(calibrate.device_file(found, numbers, date(2026, 1, 2)), encoding="utf-8")
    device = load(file)
    assert device.cpu is not None
    assert (device.simd_bytes, device.cpu.vector_bytes) == (16, 16)
    assert device.limits.registers_per_thread == 16
    assert device.name.endswith("plain llvm, 8 cores")
    arm = DetectedCpu("Arm", "arm-neoverse", 4, 1, None, {})
    assert detect_cpu.as_plain_llvm(arm) == arm


def test_a_system_without_information(linux: None, tmp_path: Path) -> None:
    found = detect_cpu.detect(tmp_path)
    assert (found.base, found.caches, found.memory_bytes) == ("x86-avx2", {}, None)
    assert found.cores == 16 and found.name


FOUND = DetectedCpu(
    'A "CPU"',
    "x86-avx512",
    8,
    2,
    16 << 30,
    {
        1: DetectedCache(48 << 10, 12, 2),
        2: DetectedCache(1280 << 10, 20, 2),
        3: DetectedCache(48 << 20, 12, 64),
    },
)


def seconds(**changes: float) -> dict[str, float]:
    """Times of a step on a CPU with a clock of 3 GHz, given in clocks."""
    clocks = {
        "call": 30,
        "integer chain": 4,
        "float chain": 4,
        "multiply-add chain": 4.5,
        "max chain": 2,
        "two sums": 9,
        "two vector sums": 11,
        "two integer sums": 3,
        "integers": 16 * 0.25 / 8,
        "updates": (2 * 0.5 + 0.8) / 8,
        "sums": (7 * 0.5 + 0.8) / 8,
        "copies": (0.5 + 4 * 0.8) / 8,
        "divide": 5 / 8,
        "polynomial": 9 * 0.5 / 8,
        "exp": 9,
        "chain": 32 * 32 * 4 / 128 / 8,
        "gather": 10.8 / 8,
        "scatter": 11.5 / 8,
        "wide sums": (7 * 1 + 1.5) / 16,
        "wide copies": (1 + 4 * 1.5) / 16,
        "wide polynomial": 9 * 1 / 16,
        "narrow sums": (7 * 0.4 + 0.6) / 4,
        "narrow copies": (0.4 + 4 * 0.6) / 4,
        "narrow polynomial": 9 * 0.3 / 4,
        "crowded walk l2": 10,
        "crowded walk l3": 30,
        "fill l2": 4,
        "stream l2": 2,
        "walk l2": 3,
        "stream l3": 7,
        "walk l3": 12,
        "stream dram": 20,
        "walk dram": 60,
        "copy l3": 15,
        "wide copy l3": 18.15,
        "copy dram": 40,
        "wide copy dram": 40,
        "stream last 2/4": 7,
        "stream last 3/4": 8,
        "stream last 4/4": 19,
        "pages 512": 2,
        "pages 1280": 2.5,
        "pages 1792": 3,
        "pages 2560": 18,
        "pages 3584": 19,
        "pages 6144": 20,
        "stream all": 4,
        "parallel": 3030,
    }
    return {name: value / 3e9 for name, value in {**clocks, **changes}.items()}


def test_the_device_file_of_measured_times_loads(tmp_path: Path) -> None:
    numbers = calibrate.device_numbers(FOUND, seconds())
    text = calibrate.device_file(FOUND, numbers, date(2026, 1, 2))
    path = tmp_path / "mine.toml"
    path.write_text(text, encoding="utf-8")
    device = load(path)
    core = device.cpu
    assert core is not None and core.l3 is not None
    assert (device.name, device.sm_count) == ('A "CPU", 8 cores', 8)
    assert device.clock_hz == pytest.approx(3e9)
    assert device.launch_s == pytest.approx(1e-6)
    assert device.dram.bytes_per_s == pytest.approx(64 * 3e9 / 4)
    assert (core.load_clk, core.store_clk) == pytest.approx((0.5, 0.8), rel=0.01)
    assert (core.wide_load_clk, core.wide_store_clk) == pytest.approx((1, 1.5), rel=0.01)
    assert (core.arithmetic_clk, core.wide_arithmetic_clk) == pytest.approx((0.5, 1))
    assert core.narrow_arithmetic_clk == pytest.approx(0.3)
    assert (core.narrow_load_clk, core.narrow_store_clk) == pytest.approx((0.4, 0.6), rel=0.01)
    assert (core.integer_clk, core.load_store_sharing) == pytest.approx((0.25, 1), abs=0.01)
    assert (core.latency_clk, core.divide_clk, core.call_clk) == pytest.approx((4, 5, 9))
    assert (core.multiply_add_latency_clk, core.max_latency_clk) == pytest.approx((4.5, 2))
    assert (core.l2.crowded_line_clk, core.l3.crowded_line_clk) == pytest.approx((10, 30))
    forwards = (core.forward_clk, core.vector_forward_clk, core.integer_forward_clk)
    assert forwards == pytest.approx((5, 7, 2))
    assert core.write_back == pytest.approx(0.5)
    assert (core.gather_clk, core.scatter_clk) == pytest.approx((10, 11), rel=0.01)
    assert (core.l2.line_clk, core.l2.scattered_line_clk, core.l2.bytes) == (2, 3, 1280 << 10)
    assert core.wide_lines == pytest.approx(1.1)
    assert core.scheduler == pytest.approx(128)
    assert core.tlb_bytes == 2048 * 4096
    assert (core.page_walk_clk, core.dram_scattered_line_clk) == pytest.approx((16, 44))
    # Three quarters of the last-level cache are read at its rate, all of it is not.
    assert core.l3.bytes == (48 << 20) * 7 // 8
    assert (core.l2.cores, core.l3.cores) == (1, 32)
    assert device.peaks["fp32"].flop_per_s == pytest.approx(8 * 3e9 * 32)
    assert device.sources["cpu.load_clk"] == "measured on this machine, 2026-01-02"
    assert device.sources["cpu.tlb_bytes"] == "measured on this machine, 2026-01-02"
    assert device.sources["cpu.l2.bytes"] == "reported by the operating system"
    # Values that are not measured are those of the generic CPU.
    assert device.simd_bytes == load("x86-avx512").simd_bytes


@pytest.mark.parametrize(
    ("slow", "part"), [((7, 7, 7), 8), ((7, 7, 19), 7), ((7, 19, 19), 5), ((19, 19, 19), 3)]
)
def test_the_usable_size_of_the_last_level_cache(slow: tuple[float, ...], part: int) -> None:
    clk = {f"stream last {n}/4": value for n, value in zip((2, 3, 4), slow, strict=True)}
    assert calibrate.usable_cache_bytes(48 << 20, 7, 20, clk) == (48 << 20) * part // 8


@pytest.mark.parametrize(
    ("slow", "entries"), [(1280, 1024), (1792, 1536), (2560, 2048), (3584, 3072), (6144, 4096)]
)
def test_the_tlb_covers_the_pages_without_page_walks(slow: int, entries: int) -> None:
    numbers = (512, 1280, 1792, 2560, 3584, 6144)
    clk = {f"pages {n}": 30.0 if n >= slow else 2.0 for n in numbers}
    assert calibrate.tlb_bytes(clk) == entries * 4096


@pytest.mark.parametrize("shared", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("load", "store"), [(0.5, 1.0), (0.33, 0.33), (1.0, 0.6)])
def test_load_and_store_clocks_are_recovered_from_sums_and_copies(
    load: float, store: float, shared: float
) -> None:
    def combined_clk(loads: int, stores: int) -> float:
        less, more = sorted((loads * load, stores * store))
        return more + shared * less

    sums, copies, updates = (combined_clk(*one) for one in ((7, 1), (1, 4), (2, 1)))
    assert calibrate.load_store_sharing(sums, copies, updates) == pytest.approx(shared, abs=0.01)
    assert calibrate.load_store_clk(sums, copies, shared) == pytest.approx((load, store))


@pytest.mark.parametrize(
    ("vendor", "family", "model", "issued", "unrolled"),
    [
        ("AuthenticAMD", 25, 17, 6, 512),
        ("AuthenticAMD", 23, 49, 6, None),
        ("GenuineIntel", 6, 106, 5, None),
        ("GenuineIntel", 6, 999, None, None),
        ("", 0, 0, None, None),
    ],
)
def test_issue_width_of_known_cores(
    vendor: str, family: int, model: int, issued: int | None, unrolled: int | None
) -> None:
    assert known_cores.issue_per_clk(vendor, family, model) == issued
    assert known_cores.unrolled_instructions(vendor, family) == unrolled


def test_the_device_file_lists_kernels_without_agreeing_runs(tmp_path: Path) -> None:
    runs = {name: (value, value * 1.01) for name, value in seconds().items()}
    runs["exp"] = (3e-9, 5e-9)
    unrepeated = unrepeated_kernels(runs)
    assert unrepeated == ["exp"]
    path = tmp_path / "mine.toml"
    text = calibrate.device_file(
        FOUND, calibrate.device_numbers(FOUND, seconds()), date(2026, 1, 2), unrepeated
    )
    path.write_text(text, encoding="utf-8")
    assert load(path).cpu and "agreed of: exp" in text.partition("\n")[0]


def test_arrays_fit_in_their_level_and_exceed_the_one_before() -> None:
    sizes = calibrate.kernel_sizes(FOUND)
    assert sizes["l2"] < 1280 << 10 < sizes["l3"] < 48 << 20 < sizes["dram"]
    assert (sizes["cores"], sizes["lanes"], sizes["last"]) == (8, 16, 48 << 20)
    flat = calibrate.kernel_sizes(DetectedCpu("Arm", "arm-neoverse", 4, 1, None, {}))
    assert "l3" not in flat and "last" not in flat and flat["dram"] > flat["l2"]


def test_a_cpu_without_known_caches() -> None:
    flat = DetectedCpu("Arm", "arm-neoverse", 4, 1, None, {})
    numbers = calibrate.device_numbers(flat, seconds())
    assert not [key for key in numbers if key.startswith("cpu.l3") or key == "l2.bytes"]
    assert "dram.bytes" not in numbers
