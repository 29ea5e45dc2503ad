"""A device as plain data: what the model needs to know of a GPU or CPU, with sources."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated

from tirlens.hardware.cpu_core import CACHE_LINE_BYTES, CpuCore
from tirlens.hardware.microarchitecture import Microarchitecture
from tirlens.hardware.quantity import Provenance, Range, Sustained

_SharedBytes = Annotated[int, Range(16 << 10, 4 << 20, "bytes", gpu_only=True)]
_Threads = Annotated[int, Range(1, 4096, "threads")]


@dataclass(frozen=True)
class Limits:
    """What one SM (compute unit, core) and one block can hold."""

    shared_bytes_per_sm: _SharedBytes
    shared_bytes_per_block: _SharedBytes
    reserved_shared_bytes_per_block: Annotated[int, Range(0, 8192, "bytes")]
    registers_per_sm: Annotated[int, Range(8, 1 << 20, "registers of 32 bits", gpu_only=True)]
    registers_per_thread: Annotated[int, Range(8, 1024, "registers of 32 bits", gpu_only=True)]
    threads_per_sm: _Threads
    threads_per_block: _Threads
    blocks_per_sm: Annotated[int, Range(1, 128, "blocks")]
    warp_size: Annotated[int, Range(1, 128, "threads")]


@dataclass(frozen=True)
class MemoryLevel:
    """A cache or memory: its size and the best rates, in bytes and bytes per second.

    `sustained_fraction` is the measured share of the datasheet rate that a streaming kernel
    reaches; `latency_s` the time of one dependent access under load.
    """

    bytes: int
    bytes_per_s: float
    sustained_fraction: Sustained
    latency_s: float

    @property
    def is_rate_of_reads(self) -> bool:
        """Whether `bytes_per_s` was measured with reads, as the calibration of a CPU does.

        Such a rate is sustained whole, and write-backs overlap it; that of a data sheet is the
        rate of the bus, of which only a part is sustained.
        """
        return self.sustained_fraction >= 1


@dataclass(frozen=True)
class Dram(MemoryLevel):
    """The memory of the device.

    `one_way_fraction` is the sustained share of kernels that only read or only write, as the
    turnaround between the two costs time, and `saturated_latency_s` the time of an access when
    DRAM is saturated; None where they are not known to differ.
    """

    bytes: Annotated[int, Range(1e9, 4e12, "bytes")]
    bytes_per_s: Annotated[float, Range(5e9, 1e14, "bytes per second")]
    latency_s: Annotated[float, Range(2e-8, 5e-6, "seconds")]
    one_way_fraction: Sustained | None = None
    saturated_latency_s: Annotated[float, Range(2e-8, 5e-6, "seconds")] | None = None


@dataclass(frozen=True)
class Cache(MemoryLevel):
    """The L2 of all SMs, or a cache between L2 and DRAM (Infinity Cache).

    `partitions` is the number of its parts, each for its own share of the SMs (the XCDs of an
    MI300X have an L2 each); data that all SMs read is held once in each part.
    """

    bytes: Annotated[int, Range(1e5, 2e9, "bytes")]
    bytes_per_s: Annotated[float, Range(5e10, 1e14, "bytes per second")]
    latency_s: Annotated[float, Range(1e-9, 2e-6, "seconds")]
    partitions: Annotated[int, Range(1, 64, "parts")] = 1


@dataclass(frozen=True)
class Peak:
    """The peak rate of one arithmetic class in operations per second (a multiply-accumulate = 2).

    `sustained_fraction` is the measured share that the best long-running kernels reach;
    `clock_hz` the clock that the datasheet rates it at, None for the device's own; `fidelity` the
    math fidelity that it is the rate of, None where the units have only one.
    """

    flop_per_s: Annotated[float, Range(1e9, 2e17, "operations per second")]
    sustained_fraction: Sustained
    clock_hz: Annotated[float, Range(3e8, 7e9, "Hz")] | None = None
    fidelity: str | None = None


@dataclass(frozen=True)
class Device:
    """One GPU, CPU, or accelerator that is neither.

    An ``accelerator`` has cores of its own kind and no blocks of threads: a kernel on it has the
    time of its roofline at the sustained rates, as a lower bound.

    `peaks` is keyed by arithmetic class: ``fp64 fp32 fp16 bf16 int32 sfu cvt`` for the scalar
    cores and ``tensor.<dtype>`` (``tensor.float16 tensor.bfloat16 tensor.tf32 tensor.float8
    tensor.int8 tensor.float4 tensor.float64``) for the matrix units.  ``tensor.<dtype>.float16`` is
    for products that accumulate in half precision, where their rate is another.
    `fidelities` has the rates of the matrix units at each math fidelity (`tirlens.math_fidelity`),
    those in `peaks` are at the fidelity that the vendor's library chooses for the type.
    `microarchitecture` has a meaning for a GPU alone.
    `band` is the relative half-width of the time band that validation supports,
    `mixed_issue_fraction` the share of the issue slots that compiled mixed code fills, `simd_bytes`
    the width of a CPU's vector register, `tdp_w` the power at which the sustained rates were
    measured.  `reduced_rates` are the arithmetic classes (``fp64``, ``tensor``) of which an export
    version of a chip has a part of the architecture's rate.  `caveats` are part of every report
    for the device.  `sources` has the source of each number for people, `provenance` how it is
    known.
    """

    id: str
    name: str
    vendor: str
    kind: str  # "gpu", "cpu" or "accelerator"
    arch: str  # "sm_90", "gfx942", "avx512"
    sm_count: Annotated[int, Range(1, 2048, "SMs, compute units or cores")]
    clock_hz: Annotated[float, Range(3e8, 7e9, "Hz")]
    limits: Limits
    peaks: Mapping[str, Peak]
    dram: Dram
    l2: Cache
    l1_bytes_per_sm: Annotated[int, Range(4096, 4 << 20, "bytes")]
    shared_bytes_per_clk_per_sm: Annotated[float, Range(8, 1024, "bytes per clock")]
    issue_per_clk_per_sm: Annotated[float, Range(1, 16, "instructions per clock")]
    microarchitecture: Microarchitecture
    launch_s: Annotated[float, Range(1e-7, 5e-5, "seconds")]
    band: Annotated[float, Range(0.02, 1.0, "as a fraction of the time")]
    features: frozenset[str] = frozenset()  # "tma", "wgmma", "cp.async", "tcgen05", "mfma"
    aliases: tuple[str, ...] = ()
    load_store_lanes_per_clk_per_sm: Annotated[float, Range(8, 128, "lanes per clock")] = 32.0
    mixed_issue_fraction: Annotated[float, Range(0.4, 1.0, "as a fraction of the issue slots")] = (
        1.0
    )
    simd_bytes: Annotated[int, Range(8, 256, "bytes")] = 0
    llc: Cache | None = None
    tdp_w: Annotated[float, Range(5, 3000, "watts")] | None = None
    caveats: tuple[str, ...] = ()
    cpu: CpuCore | None = None  # of a CPU, and of no other device
    fidelities: Mapping[str, Mapping[str, Peak]] = field(
        default_factory=dict[str, "Mapping[str, Peak]"]
    )
    reduced_rates: tuple[str, ...] = ()
    sources: Mapping[str, str] = field(default_factory=dict[str, str])
    provenance: Mapping[str, Provenance] = field(default_factory=dict[str, "Provenance"])

    def with_fidelity(self, name: str) -> Device:
        """The device with its matrix units at a math fidelity; itself if it has no such choice."""
        rates = self.fidelities.get(name)
        return self if rates is None else replace(self, peaks={**self.peaks, **rates})

    def with_sm_count(self, count: int) -> Device:
        """The device with another number of SMs or cores: arithmetic peaks in proportion.

        The clocks, and the rates of DRAM and of the shared caches, are unchanged.
        """
        ratio = count / self.sm_count

        def scale(peaks: Mapping[str, Peak]) -> dict[str, Peak]:
            return {
                name: replace(peak, flop_per_s=peak.flop_per_s * ratio)
                for name, peak in peaks.items()
            }

        fidelities = {name: scale(peaks) for name, peaks in self.fidelities.items()}
        return replace(self, sm_count=count, peaks=scale(self.peaks), fidelities=fidelities)

    @property
    def dram_sector_bytes(self) -> int:
        """The aligned bytes that DRAM moves at once: a GPU's sector, a CPU's cache line."""
        if self.cpu is not None:
            return CACHE_LINE_BYTES
        return self.microarchitecture.dram_sector_bytes
