"""The ranges of the numbers of real devices; a number outside is an error, mostly of a unit."""

from __future__ import annotations

from dataclasses import dataclass

LEAST_SUSTAINED = 0.2


@dataclass(frozen=True)
class Range:
    """Numbers from `low` to `high` in `unit`; with `gpu_only`, 0 where the device is no GPU."""

    low: float
    high: float
    unit: str
    gpu_only: bool = False

    def holds(self, value: float, gpu: bool) -> bool:
        """Whether a device may have this `value`; 0 if it need not have any and is no `gpu`."""
        if value == 0 and self.gpu_only and not gpu:
            return True
        return self.low <= value <= self.high

    def complaint(self, value: float) -> str:
        """What is wrong with `value`, with a guess when a power of 1000 would put it right."""
        # An integer may be too large for a float.
        value = min(max(value, -1e300), 1e300)
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
    "load_store_lanes_per_clk_per_sm": Range(8, 128, "lanes per clock"),
    "mixed_issue_fraction": Range(0.4, 1.0, "as a fraction of the issue slots"),
    "launch_s": Range(1e-7, 5e-5, "seconds"),
    "band": Range(0.02, 1.0, "as a fraction of the time"),
    "simd_bytes": Range(8, 256, "bytes"),
    "tdp_w": Range(5, 3000, "watts"),
    "limits.shared_bytes_per_sm": Range(16 << 10, 4 << 20, "bytes", gpu_only=True),
    "limits.shared_bytes_per_block": Range(16 << 10, 4 << 20, "bytes", gpu_only=True),
    "limits.reserved_shared_bytes_per_block": Range(0, 8192, "bytes"),
    "limits.registers_per_sm": Range(8, 1 << 20, "registers of 32 bits", gpu_only=True),
    "limits.registers_per_thread": Range(8, 1024, "registers of 32 bits", gpu_only=True),
    "limits.threads_per_sm": Range(1, 4096, "threads"),
    "limits.threads_per_block": Range(1, 4096, "threads"),
    "limits.blocks_per_sm": Range(1, 128, "blocks"),
    "limits.warp_size": Range(1, 128, "threads"),
    "dram.bytes": Range(1e9, 4e12, "bytes"),
    "dram.bytes_per_s": Range(5e9, 1e14, "bytes per second"),
    "dram.sustained_fraction": FRACTION,
    "dram.latency_s": Range(2e-8, 5e-6, "seconds"),
    "dram.one_way_fraction": FRACTION,
    "dram.saturated_latency_s": Range(2e-8, 5e-6, "seconds"),
    "l2.bytes": Range(1e5, 2e9, "bytes"),
    "l2.bytes_per_s": Range(5e10, 1e14, "bytes per second"),
    "l2.sustained_fraction": FRACTION,
    "l2.latency_s": Range(1e-9, 2e-6, "seconds"),
    "l2.partitions": Range(1, 64, "parts"),
    "llc.bytes": Range(1e6, 2e9, "bytes"),
    "llc.bytes_per_s": Range(5e10, 1e14, "bytes per second"),
    "llc.sustained_fraction": FRACTION,
    "llc.latency_s": Range(1e-9, 2e-6, "seconds"),
    "peaks.clock_hz": Range(3e8, 7e9, "Hz"),
    "peaks.flop_per_s": Range(1e10, 2e17, "operations per second"),
    "peaks.sustained_fraction": FRACTION,
    **{
        f"microarchitecture.{name}": Range(1, 10_000, "clocks")
        for name in (
            "dependent_clk",
            "sfu_clk",
            "conversion_clk",
            "shared_clk",
            "shuffle_clk",
            "barrier_clk",
            "arrival_clk",
            "buffer_handover_clk",
            "atomic_clk",
            "mma_clk",
            "product_restart_clk",
            "asynchronous_product_clk",
        )
    },
    "microarchitecture.instructions_in_flight": Range(1, 256, "instructions"),
    "microarchitecture.instructions_in_flight_per_warp": Range(1, 64, "instructions"),
    "microarchitecture.register_unit": Range(1, 256, "registers"),
    "microarchitecture.l2_port_bytes_per_clk": Range(8, 1024, "bytes per clock"),
    "microarchitecture.tma_l2_port_fraction": Range(0.1, 1.0, "as a fraction of the ports"),
    "microarchitecture.l2_write_fraction": Range(0.1, 1.5, "as a fraction of the rate of loads"),
    **{
        f"microarchitecture.mma_{name}_fraction": Range(0.02, 1.0, "as a fraction of the peak")
        for name in ("16bit", "tf32", "float8", "int8")
    },
    "microarchitecture.dram_sector_bytes": Range(16, 256, "bytes"),
    "microarchitecture.l1_lines_per_clk": Range(0.25, 32, "lines per clock"),
    "cpu.vector_bytes": Range(8, 256, "bytes"),
    "cpu.arithmetic_clk": Range(0.05, 8, "clocks"),
    "cpu.wide_arithmetic_clk": Range(0.05, 8, "clocks"),
    "cpu.integer_clk": Range(0.05, 8, "clocks"),
    "cpu.narrow_arithmetic_clk": Range(0.05, 8, "clocks"),
    "cpu.load_clk": Range(0.05, 8, "clocks"),
    "cpu.store_clk": Range(0.05, 8, "clocks"),
    "cpu.wide_load_clk": Range(0.05, 8, "clocks"),
    "cpu.narrow_load_clk": Range(0.05, 8, "clocks"),
    "cpu.wide_store_clk": Range(0.05, 8, "clocks"),
    "cpu.write_back": Range(0, 1, "of a line's time"),
    "cpu.unrolled_instructions": Range(10, 10_000, "instructions"),
    "cpu.load_store_sharing": Range(0, 1, "of the shorter ones' time"),
    "cpu.narrow_store_clk": Range(0.05, 8, "clocks"),
    "cpu.latency_clk": Range(1, 20, "clocks"),
    "cpu.multiply_add_latency_clk": Range(1, 20, "clocks"),
    "cpu.max_latency_clk": Range(1, 20, "clocks"),
    "cpu.forward_clk": Range(0.5, 40, "clocks"),
    "cpu.vector_forward_clk": Range(0.5, 40, "clocks"),
    "cpu.integer_forward_clk": Range(0.1, 40, "clocks"),
    "cpu.divide_clk": Range(0.5, 80, "clocks"),
    "cpu.call_clk": Range(1, 200, "clocks"),
    "cpu.gather_clk": Range(1, 200, "clocks"),
    "cpu.scatter_clk": Range(1, 200, "clocks"),
    "cpu.window": Range(8, 2000, "instructions"),
    "cpu.scheduler": Range(4, 1000, "instructions"),
    "cpu.l1_ways": Range(1, 64, "ways"),
    "cpu.dram_line_clk": Range(0.5, 500, "clocks"),
    "cpu.dram_scattered_line_clk": Range(1, 2000, "clocks"),
    "cpu.wide_lines": Range(1, 2, "times"),
    "cpu.tlb_bytes": Range(1 << 18, 1 << 31, "bytes"),
    "cpu.page_walk_clk": Range(2, 200, "clocks"),
    "cpu.call_s": Range(5e-9, 2e-6, "seconds"),
    "cpu.l2.bytes": Range(1 << 17, 1 << 25, "bytes"),
    "cpu.l3.bytes": Range(1 << 20, 1 << 30, "bytes"),
    "cpu.cache.ways": Range(1, 64, "ways"),
    "cpu.cache.cores": Range(1, 512, "cores"),
    "cpu.cache.line_clk": Range(0.2, 500, "clocks"),
    "cpu.cache.scattered_line_clk": Range(0.2, 1000, "clocks"),
    "cpu.cache.crowded_line_clk": Range(0.2, 1000, "clocks"),
}
