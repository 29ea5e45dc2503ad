"""What the operating system tells of this machine's CPU: cores, instruction set, caches, memory.

Linux tells in /proc/cpuinfo, sysfs and the control group, macOS by ``sysctl``; elsewhere only the
number of processors is known and the caches are those of the generic CPU.
"""

from __future__ import annotations

import os
import platform
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from tirlens.hardware.known_cores import issue_per_clk, unrolled_instructions

TIMEOUT_S = 3.0
# The registers of SSE2, which all x86-64 processors have.
BASELINE_BYTES = 16
UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


@dataclass(frozen=True)
class FoundCache:
    """A data or unified cache: its size in bytes, ways, and the processors that share it."""

    bytes: int
    ways: int
    processors: int


@dataclass(frozen=True)
class FoundCpu:
    """A CPU as the system describes it; `caches` by level, `cores` those that may be used.

    `base` is the catalogue's generic CPU of the same instruction set.  The widest registers have
    `register_bytes`, the compiler's vectors `vector_bytes`, a clock begins `issue_per_clk`
    instructions, and loops are unrolled to `unrolled_instructions`, None for those of that.
    """

    name: str
    base: str
    cores: int
    threads_per_core: int
    memory_bytes: int | None
    caches: Mapping[int, FoundCache]
    register_bytes: int | None = None
    vector_bytes: int | None = None
    issue_per_clk: int | None = None
    unrolled_instructions: int | None = None


def cpu(root: Path = Path("/")) -> FoundCpu:
    """This machine's CPU; `root` is where the system's files are looked for."""
    if platform.system() == "Darwin":
        return _of_macos()
    text = _read(root / "proc/cpuinfo")
    fields = _fields(text)
    flags = fields.get("flags", fields.get("features", "")).split()
    machine = platform.machine().lower()
    vendor, family = fields.get("vendor_id", ""), _number(fields, "cpu family")
    return FoundCpu(
        name=fields.get("model name") or platform.processor() or machine or "CPU",
        base=_base(machine, flags),
        cores=usable_cores(root, _threads_per_core(root)),
        threads_per_core=_threads_per_core(root),
        memory_bytes=_memory(root),
        caches=_caches(root / "sys/devices/system/cpu/cpu0/cache"),
        vector_bytes=_vector_bytes(fields, flags),
        issue_per_clk=issue_per_clk(vendor, family, _number(fields, "model")),
        unrolled_instructions=unrolled_instructions(vendor, family),
    )


def baseline(found: FoundCpu) -> FoundCpu:
    """As what LLVM takes a machine for that it is told nothing of: on x86 one with SSE2.

    X86.td, ``x86-64``: sixteen registers of 16 bytes, scheduled as Sandy Bridge's, whose
    ``LoopMicroOpBufferSize`` is 28.
    """
    if not found.base.startswith("x86"):
        return found
    return replace(
        found,
        name=f"{found.name} with plain llvm",
        base="x86-avx2",
        register_bytes=BASELINE_BYTES,
        vector_bytes=BASELINE_BYTES,
        unrolled_instructions=28,
    )


def _number(fields: Mapping[str, str], name: str) -> int:
    value = fields.get(name, "")
    return int(value) if value.isdigit() else 0


def _base(machine: str, flags: list[str]) -> str:
    if machine in ("aarch64", "arm64"):
        return "arm-neoverse"
    return "x86-avx512" if "avx512f" in flags else "x86-avx2"


def _vector_bytes(fields: Mapping[str, str], flags: list[str]) -> int | None:
    """LLVM takes the whole registers of AMD's AVX-512 cores (Zen 4 and 5), half of Intel's.

    llvm/lib/Target/X86/X86.td: TuningPrefer256Bit is among the features of Intel's alone.
    """
    amd = fields.get("vendor_id") == "AuthenticAMD"
    return 64 if amd and "avx512f" in flags else None


def usable_cores(root: Path, threads_per_core: int) -> int:
    """Cores that this process may use: its affinity, its control group's share, whole cores."""
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
    return max(_processors(siblings), 1)


def _processors(text: str) -> int:
    """How many processors a list such as ``0-3,8`` names."""
    total = 0
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            total += int(last or first) - int(first) + 1
    return total


def _caches(folder: Path) -> dict[int, FoundCache]:
    found: dict[int, FoundCache] = {}
    for index in sorted(folder.glob("index*")):
        kind = _read(index / "type").strip()
        size = _read(index / "size").strip()
        level = _read(index / "level").strip()
        if kind not in ("Data", "Unified") or not level.isdigit() or not size[:-1].isdigit():
            continue
        ways = _read(index / "ways_of_associativity").strip()
        found[int(level)] = FoundCache(
            bytes=int(size[:-1]) * UNITS.get(size[-1], 1),
            ways=int(ways) if ways.isdigit() and int(ways) else 8,
            processors=max(_processors(_read(index / "shared_cpu_list")), 1),
        )
    return found


def _memory(root: Path) -> int | None:
    first = _read(root / "proc/meminfo").partition("\n")[0].split()
    return int(first[1]) * 1024 if len(first) == 3 and first[1].isdigit() else None


def _fields(text: str) -> dict[str, str]:
    """The first processor's fields, names in lower case."""
    out: dict[str, str] = {}
    for line in text.split("\n\n")[0].splitlines():
        name, _, value = line.partition(":")
        out[name.strip().lower()] = value.strip()
    return out


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _of_macos() -> FoundCpu:
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

    caches: dict[int, FoundCache] = {}
    if number("l1"):
        caches[1] = FoundCache(number("l1"), 8, 1)
    if number("l2"):
        caches[2] = FoundCache(number("l2"), 16, max(number("shared"), 1))
    arm = platform.machine() == "arm64"
    return FoundCpu(
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
