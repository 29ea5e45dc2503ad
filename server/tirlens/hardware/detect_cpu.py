"""This machine's CPU from the operating system: cores, instruction set, caches, memory.

The sources are /proc/cpuinfo, sysfs and the control group on Linux, and ``sysctl`` on macOS.  On
other systems only the number of processors is known, and the caches are those of the generic CPU.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tirlens.file_reader import read_text
from tirlens.hardware.known_cores import issue_per_clk, unrolled_instructions

TIMEOUT_S = 3.0
# The registers of SSE2, which all x86-64 processors have.
SSE2_REGISTER_BYTES = 16
UNIT_BYTES = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class DetectedCache:
    """A data or unified cache: its size in bytes, its ways, and the processors that share it."""

    bytes: int
    ways: int
    processors: int


@dataclass(frozen=True)
class DetectedCpu:
    """A CPU as the operating system describes it.

    Attributes
    ----------
    name
        The vendor's name.
    base
        The catalogue's generic CPU of the same instruction set; where an attribute is None, its
        value is that of this CPU.
    cores, threads_per_core
        The cores that this process may use, and the processors of each.
    memory_bytes
        The size of the memory.
    caches
        The data and unified caches by level.
    register_bytes, vector_bytes
        The widths of the widest registers and of the compiler's vectors.
    issue_per_clk
        Instructions issued in a clock.
    unrolled_instructions
        Instructions up to which LLVM repeats the body of a loop.
    processor
        LLVM's name of the processor; empty where it is not known.
    """

    name: str
    base: str
    cores: int
    threads_per_core: int
    memory_bytes: int | None
    caches: Mapping[int, DetectedCache]
    register_bytes: int | None = None
    vector_bytes: int | None = None
    issue_per_clk: int | None = None
    unrolled_instructions: int | None = None
    processor: str = ""


def detect(root: Path = Path("/")) -> DetectedCpu:
    """This machine's CPU; `root` is the folder of the system's files."""
    if platform.system() == "Darwin":
        return _detect_on_macos()
    text = _read(root / "proc/cpuinfo")
    fields = _first_processor(text)
    flags = fields.get("flags", fields.get("features", "")).split()
    machine = platform.machine().lower()
    vendor, family = fields.get("vendor_id", ""), _number(fields, "cpu family")
    return DetectedCpu(
        name=fields.get("model name") or platform.processor() or machine or "CPU",
        base=_generic_device(machine, flags),
        cores=usable_cores(root, _threads_per_core(root)),
        threads_per_core=_threads_per_core(root),
        memory_bytes=_memory_bytes(root),
        caches=_caches(root / "sys/devices/system/cpu/cpu0/cache"),
        vector_bytes=_vector_bytes(fields, flags),
        issue_per_clk=issue_per_clk(vendor, family, _number(fields, "model")),
        unrolled_instructions=unrolled_instructions(vendor, family),
    )


def as_plain_llvm(found: DetectedCpu) -> DetectedCpu:
    """The CPU that LLVM generates code for without a target CPU: on x86 one with SSE2.

    X86.td, ``x86-64``: sixteen registers of 16 bytes, scheduled as Sandy Bridge's, whose
    ``LoopMicroOpBufferSize`` is 28.
    """
    if not found.base.startswith("x86"):
        return found
    return replace(
        found,
        name=f"{found.name} with plain llvm",
        base="x86-avx2",
        register_bytes=SSE2_REGISTER_BYTES,
        vector_bytes=SSE2_REGISTER_BYTES,
        unrolled_instructions=28,
    )


def _number(fields: Mapping[str, str], name: str) -> int:
    value = fields.get(name, "")
    return int(value) if value.isdigit() else 0


def _generic_device(machine: str, flags: list[str]) -> str:
    if machine in ("aarch64", "arm64"):
        return "arm-neoverse"
    return "x86-avx512" if "avx512f" in flags else "x86-avx2"


def _vector_bytes(fields: Mapping[str, str], flags: list[str]) -> int | None:
    """The width of the compiler's vectors if it is not that of the generic CPU.

    LLVM uses whole registers on AMD's AVX-512 cores (Zen 4 and 5), and half of them on Intel's.

    Source: llvm/lib/Target/X86/X86.td: TuningPrefer256Bit is among the features of Intel's alone.
    """
    amd = fields.get("vendor_id") == "AuthenticAMD"
    return 64 if amd and "avx512f" in flags else None


def usable_cores(root: Path, threads_per_core: int) -> int:
    """Whole cores that this process may use by its affinity and its control group's quota."""
    if hasattr(os, "sched_getaffinity"):
        threads = len(os.sched_getaffinity(0))
    else:
        threads = os.cpu_count() or 1
    groups = root / "sys/fs/cgroup"
    quota, _, period = _read(groups / "cpu.max").strip().partition(" ")
    if not period:  # the first version of control groups
        quota = _read(groups / "cpu/cpu.cfs_quota_us").strip()
        period = _read(groups / "cpu/cpu.cfs_period_us").strip()
    if quota.isdigit() and period.isdigit():
        threads = min(threads, max(int(quota) // max(int(period), 1), 1))
    return max(threads // threads_per_core, 1)


def _threads_per_core(root: Path) -> int:
    siblings = _read(root / "sys/devices/system/cpu/cpu0/topology/thread_siblings_list")
    return max(_count_processors(siblings), 1)


def _count_processors(text: str) -> int:
    """The number of processors in a list such as ``0-3,8``."""
    total = 0
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            total += int(last or first) - int(first) + 1
    return total


def _caches(folder: Path) -> dict[int, DetectedCache]:
    found: dict[int, DetectedCache] = {}
    for index in sorted(folder.glob("index*")):
        kind = _read(index / "type").strip()
        size = _read(index / "size").strip()
        level = _read(index / "level").strip()
        if kind not in ("Data", "Unified") or not level.isdigit() or not size[:-1].isdigit():
            continue
        ways = _read(index / "ways_of_associativity").strip()
        found[int(level)] = DetectedCache(
            bytes=int(size[:-1]) * UNIT_BYTES.get(size[-1], 1),
            ways=int(ways) if ways.isdigit() and int(ways) else 8,
            processors=max(_count_processors(_read(index / "shared_cpu_list")), 1),
        )
    return found


def _memory_bytes(root: Path) -> int | None:
    first = _read(root / "proc/meminfo").partition("\n")[0].split()
    return int(first[1]) * 1024 if len(first) == 3 and first[1].isdigit() else None


def _first_processor(text: str) -> dict[str, str]:
    """The fields of the first processor, with names in lower case."""
    out: dict[str, str] = {}
    for line in text.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        out[name.strip().lower()] = value.strip()
    return out


def _read(path: Path) -> str:
    try:
        return read_text(path, errors="replace")
    except OSError:
        return ""


def _detect_on_macos() -> DetectedCpu:
    names = {
        "name": "machdep.cpu.brand_string",
        "cores": "hw.perflevel0.physicalcpu",
        "all": "hw.physicalcpu",
        "memory": "hw.memsize",
        "l1": "hw.perflevel0.l1dcachesize",
        "l2": "hw.perflevel0.l2cachesize",
        "shared": "hw.perflevel0.cpusperl2",
    }
    values = {key: _sysctl(name) for key, name in names.items()}

    def number(key: str) -> int:
        return int(values[key]) if values[key].isdigit() else 0

    caches: dict[int, DetectedCache] = {}
    if number("l1"):
        caches[1] = DetectedCache(number("l1"), 8, 1)
    if number("l2"):
        caches[2] = DetectedCache(number("l2"), 16, max(number("shared"), 1))
    arm = platform.machine() == "arm64"
    return DetectedCpu(
        name=values["name"] or "CPU",
        base="arm-neoverse" if arm else "x86-avx2",
        cores=number("cores") or number("all") or os.cpu_count() or 1,
        threads_per_core=1,
        memory_bytes=number("memory") or None,
        caches=caches,
    )


def _sysctl(name: str) -> str:
    try:
        answer = subprocess.run(
            ["sysctl", "-n", name],
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            stdin=subprocess.DEVNULL,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return answer.stdout.strip()
