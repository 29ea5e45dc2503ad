"""What the system tells of a CPU, and the device file that measured times become."""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest

from tirlens.hardware import calibrate, detect_cpu, known_cores, load
from tirlens.hardware.detect_cpu import FoundCache, FoundCpu

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
    """A system's files as Linux on a server with two threads a core has them."""
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
    threads = set(range(16))
    monkeypatch.setattr("os.sched_getaffinity", lambda _: threads, raising=False)


def test_a_server(linux: None, tmp_path: Path) -> None:
    found = detect_cpu.cpu(machine(tmp_path))
    assert (found.name, found.base) == ('Some(R) Xeon "Gold" @ 2.80GHz', "x86-avx512")
    assert (found.threads_per_core, found.cores, found.memory_bytes) == (2, 8, 16384 * 1024)
    assert found.caches == {
        1: FoundCache(48 << 10, 12, 2),
        2: FoundCache(1280 << 10, 20, 2),
        3: FoundCache(48 << 20, 12, 64),
    }


def test_a_container_has_its_share_of_the_cores(linux: None, tmp_path: Path) -> None:
    assert detect_cpu.cpu(machine(tmp_path, "600000 100000")).cores == 3


def test_a_container_of_the_first_version_has_its_share_too(linux: None, tmp_path: Path) -> None:
    root = machine(tmp_path)
    (root / "sys/fs/cgroup/cpu.max").unlink()
    group = root / "sys/fs/cgroup/cpu"
    group.mkdir()
    for name, value in (("quota", "800000"), ("period", "100000")):
        (group / f"cpu.cfs_{name}_us").write_text(f"{value}\n", encoding="utf-8")
    assert detect_cpu.cpu(root).cores == 4
    (group / "cpu.cfs_quota_us").write_text("-1\n", encoding="utf-8")
    assert detect_cpu.cpu(root).cores == 8


def test_the_compilers_vectors_are_whole_registers_on_amd(linux: None, tmp_path: Path) -> None:
    root = machine(tmp_path)
    assert detect_cpu.cpu(root).vector_bytes is None
    path = root / "proc/cpuinfo"
    path.write_text("vendor_id\t: AuthenticAMD\n" + CPUINFO, encoding="utf-8")
    found = replace(detect_cpu.cpu(root), memory_bytes=FOUND.memory_bytes)
    assert (found.base, found.vector_bytes) == ("x86-avx512", 64)
    assert calibrate.sizes(found)["vector"] == calibrate.sizes(found)["lanes"] == 16
    file = tmp_path / "mine.toml"
    numbers = calibrate.numbers(found, seconds())
    file.write_text(calibrate.device_file(found, numbers, date(2026, 1, 2)), encoding="utf-8")
    core = load(file).cpu
    assert core is not None and core.vector_bytes == 64
    assert load(file).sources["cpu.vector_bytes"] == calibrate.VECTORS_SOURCE


def test_what_llvm_may_use_when_it_is_told_nothing(linux: None, tmp_path: Path) -> None:
    found = replace(detect_cpu.baseline(detect_cpu.cpu(machine(tmp_path))), memory_bytes=None)
    assert calibrate.sizes(found)["vector"] == calibrate.sizes(found)["lanes"] == 4
    file = tmp_path / "mine.toml"
    numbers = calibrate.numbers(found, seconds())
    file.write_text(calibrate.device_file(found, numbers, date(2026, 1, 2)), encoding="utf-8")
    device = load(file)
    assert device.cpu is not None
    assert (device.simd_bytes, device.cpu.vector_bytes) == (16, 16)
    assert device.limits.registers_per_thread == 16
    assert device.name.endswith("plain llvm, 8 cores")
    arm = FoundCpu("Arm", "arm-neoverse", 4, 1, None, {})
    assert detect_cpu.baseline(arm) == arm


def test_a_system_that_tells_nothing(linux: None, tmp_path: Path) -> None:
    found = detect_cpu.cpu(tmp_path)
    assert (found.base, found.caches, found.memory_bytes) == ("x86-avx2", {}, None)
    assert found.cores == 16 and found.name


FOUND = FoundCpu(
    'A "CPU"',
    "x86-avx512",
    8,
    2,
    16 << 30,
    {
        1: FoundCache(48 << 10, 12, 2),
        2: FoundCache(1280 << 10, 20, 2),
        3: FoundCache(48 << 20, 12, 64),
    },
)


def seconds(**changes: float) -> dict[str, float]:
    """Times on a CPU with a clock of 3 GHz, in clocks of a step."""
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


def test_times_become_a_device_that_loads(tmp_path: Path) -> None:
    numbers = calibrate.numbers(FOUND, seconds())
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
    # Three quarters of the last cache are still fast, all of it is not.
    assert core.l3.bytes == (48 << 20) * 7 // 8
    assert (core.l2.cores, core.l3.cores) == (1, 32)
    assert device.peaks["fp32"].flop_per_s == pytest.approx(8 * 3e9 * 32)
    assert device.sources["cpu.load_clk"] == "measured on this machine, 2026-01-02"
    assert device.sources["cpu.tlb_bytes"] == "measured on this machine, 2026-01-02"
    assert device.sources["cpu.l2.bytes"] == "told by the operating system"
    # What nothing measures is the generic CPU's.
    assert device.simd_bytes == load("x86-avx512").simd_bytes


@pytest.mark.parametrize(
    ("slow", "part"), [((7, 7, 7), 8), ((7, 7, 19), 7), ((7, 19, 19), 5), ((19, 19, 19), 3)]
)
def test_how_much_of_the_last_cache_there_is(slow: tuple[float, ...], part: int) -> None:
    clk = {f"stream last {n}/4": value for n, value in zip((2, 3, 4), slow, strict=True)}
    assert calibrate.held(48 << 20, 7, 20, clk) == (48 << 20) * part // 8


@pytest.mark.parametrize(
    ("slow", "entries"), [(1280, 1024), (1792, 1536), (2560, 2048), (3584, 3072), (6144, 4096)]
)
def test_how_many_pages_the_tlb_has(slow: int, entries: int) -> None:
    numbers = (512, 1280, 1792, 2560, 3584, 6144)
    clk = {f"pages {n}": 30.0 if n >= slow else 2.0 for n in numbers}
    assert calibrate.covered(clk) == entries * 4096


@pytest.mark.parametrize("shared", [0.0, 0.2, 1.0])
@pytest.mark.parametrize(("load", "store"), [(0.5, 1.0), (0.33, 0.33), (1.0, 0.6)])
def test_loads_and_stores_are_told_apart(load: float, store: float, shared: float) -> None:
    def together(loads: int, stores: int) -> float:
        less, more = sorted((loads * load, stores * store))
        return more + shared * less

    sums, copies, updates = together(7, 1), together(1, 4), together(2, 1)
    assert calibrate.sharing(sums, copies, updates) == pytest.approx(shared, abs=0.01)
    assert calibrate.moves(sums, copies, shared) == pytest.approx((load, store))


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
def test_cores_whose_width_is_known(
    vendor: str, family: int, model: int, issued: int | None, unrolled: int | None
) -> None:
    assert known_cores.issue_per_clk(vendor, family, model) == issued
    assert known_cores.unrolled_instructions(vendor, family) == unrolled


def test_the_file_names_what_may_be_disturbed(tmp_path: Path) -> None:
    runs = {name: (value, value * 1.01) for name, value in seconds().items()}
    runs["exp"] = (3e-9, 5e-9)
    apart = calibrate.unsettled(runs)
    assert apart == ["exp"]
    path = tmp_path / "mine.toml"
    text = calibrate.device_file(
        FOUND, calibrate.numbers(FOUND, seconds()), date(2026, 1, 2), apart
    )
    path.write_text(text, encoding="utf-8")
    assert load(path).cpu and "agreed of: exp" in text.partition("\n")[0]


def test_what_is_read_fits_where_it_is_to_come_from() -> None:
    sizes = calibrate.sizes(FOUND)
    assert sizes["l2"] < 1280 << 10 < sizes["l3"] < 48 << 20 < sizes["dram"]
    assert (sizes["cores"], sizes["lanes"], sizes["last"]) == (8, 16, 48 << 20)
    flat = calibrate.sizes(FoundCpu("Arm", "arm-neoverse", 4, 1, None, {}))
    assert "l3" not in flat and "last" not in flat and flat["dram"] > flat["l2"]


def test_a_cpu_without_a_last_cache_or_what_is_known_of_caches() -> None:
    flat = FoundCpu("Arm", "arm-neoverse", 4, 1, None, {})
    numbers = calibrate.numbers(flat, seconds())
    assert not [key for key in numbers if key.startswith("cpu.l3") or key == "l2.bytes"]
    assert "dram.bytes" not in numbers
