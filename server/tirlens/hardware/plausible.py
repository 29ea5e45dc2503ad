"""The ranges that real devices fall in: a number outside is a slip, most often of a unit."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_SUSTAINED = 0.2


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high` in `unit`; for a CPU, 0 is allowed where `cpu_zero` says so."""

    low: float
    high: float
    unit: str
    cpu_zero: bool = False

    def holds(self, value: float, cpu: bool) -> bool:
        if cpu and self.cpu_zero and value == 0:
            return True
        return self.low <= value <= self.high

    def complaint(self, value: float) -> str:
        """What is wrong with `value`, with a guess when a power of 1000 would put it right."""
        text = f"{value:g} is not plausible; expected {self.low:g} to {self.high:g} {self.unit}"
        for factor in (1e3, 1e6, 1e9, 1e12, 1024, 1024**2):
            if self.low <= value * factor <= self.high:
                return f"{text} (a slip of the unit? {value * factor:g} would be plausible)"
            if self.low <= value / factor <= self.high:
                return f"{text} (a slip of the unit? {value / factor:g} would be plausible)"
        return text


FRACTION = Range(LEAST_SUSTAINED, 1.05, "as a fraction of the datasheet")
RANGES: dict[str, Range] = {
    "sm_count": Range(1, 2048, "SMs, compute units or cores"),
    "clock_hz": Range(3e8, 7e9, "Hz"),
    "l1_bytes_per_sm": Range(4096, 4 << 20, "bytes"),
    "shared_bytes_per_clk_per_sm": Range(8, 1024, "bytes per clock"),
    "issue_per_clk_per_sm": Range(1, 16, "instructions per clock"),
    "launch_s": Range(1e-7, 5e-5, "seconds"),
    "band": Range(0.02, 1.0, "as a fraction of the time"),
    "simd_bytes": Range(8, 256, "bytes"),
    "limits.shared_bytes_per_sm": Range(16 << 10, 4 << 20, "bytes", cpu_zero=True),
    "limits.shared_bytes_per_block": Range(16 << 10, 4 << 20, "bytes", cpu_zero=True),
    "limits.reserved_shared_bytes_per_block": Range(0, 8192, "bytes"),
    "limits.registers_per_sm": Range(8, 1 << 20, "registers of 32 bits"),
    "limits.registers_per_thread": Range(8, 1024, "registers of 32 bits"),
    "limits.threads_per_sm": Range(1, 4096, "threads"),
    "limits.threads_per_block": Range(1, 4096, "threads"),
    "limits.blocks_per_sm": Range(1, 128, "blocks"),
    "limits.warp_size": Range(1, 128, "threads"),
    "dram.bytes": Range(1e9, 4e12, "bytes"),
    "dram.bytes_per_s": Range(5e9, 1e14, "bytes per second"),
    "dram.sustained_fraction": FRACTION,
    "dram.latency_s": Range(2e-8, 5e-6, "seconds"),
    "l2.bytes": Range(1e5, 2e9, "bytes"),
    "l2.bytes_per_s": Range(5e10, 2e14, "bytes per second"),
    "l2.sustained_fraction": FRACTION,
    "l2.latency_s": Range(1e-9, 2e-6, "seconds"),
    "peaks.flop_per_s": Range(1e10, 2e17, "operations per second"),
    "peaks.sustained_fraction": FRACTION,
}
