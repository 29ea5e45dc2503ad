"""A kernel that Nsight Compute profiled: its metrics by their names, and what they say.

Sources: NVIDIA, "Nsight Compute Profiling Guide", sections "Metrics Structure" and "Metrics
Reference"; the section files of Nsight Compute 2020.3 to 2024.1, which have the labels of metrics
and the formulas of the roofline charts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from tirlens.measured.reading.cuda_names import kind_of_kernel
from tirlens.measured.records import MeasuredDevice, Operation, Position

_TIME = "gpu__time_duration.sum"
_DEVICE_NAME = "device__attribute_display_name"
_DEVICE = "device__attribute_"

#: The names of the metrics that the details page calls by a label.
NAMES_OF_LABELS: Mapping[str, str] = {
    "Average DRAM Active Cycles": "dram__cycles_active.avg",
    "Average L1 Active Cycles": "l1tex__cycles_active.avg",
    "Average L2 Active Cycles": "lts__cycles_active.avg",
    "Average SM Active Cycles": "sm__cycles_active.avg",
    "Average SMSP Active Cycles": "smsp__cycles_active.avg",
    "Total DRAM Elapsed Cycles": "dram__cycles_elapsed.sum",
    "Total L1 Elapsed Cycles": "l1tex__cycles_elapsed.sum",
    "Total L2 Elapsed Cycles": "lts__cycles_elapsed.sum",
    "Total SM Elapsed Cycles": "sm__cycles_elapsed.sum",
    "Total SMSP Elapsed Cycles": "smsp__cycles_elapsed.sum",
    "Max Cluster Size": "launch__cluster_max_potential_size",
    "Max Active Clusters": "launch__cluster_max_active",
    "Cluster Occupancy": "launch__occupancy_cluster_pct",
    "Overall GPU Occupancy": "launch__occupancy_cluster_gpu_pct",
    "Achieved Active Warps Per SM": "sm__warps_active.avg.per_cycle_active",
    "Achieved Occupancy": "sm__warps_active.avg.pct_of_peak_sustained_active",
    "Active Warps Per Scheduler": "smsp__warps_active.avg.per_cycle_active",
    "Avg. Active Threads Per Warp": "smsp__thread_inst_executed_per_inst_executed.ratio",
    "Avg. Executed Instructions Per Scheduler": "smsp__inst_executed.avg",
    "Avg. Issued Instructions Per Scheduler": "smsp__inst_issued.avg",
    "Avg. Not Predicated Off Threads Per Warp": (
        "smsp__thread_inst_executed_pred_on_per_inst_executed.ratio"
    ),
    "Block Limit Registers": "launch__occupancy_limit_registers",
    "Block Limit SM": "launch__occupancy_limit_blocks",
    "Block Limit Shared Mem": "launch__occupancy_limit_shared_mem",
    "Block Limit Warps": "launch__occupancy_limit_warps",
    "Block Size": "launch__block_size",
    "Cluster Size": "launch__cluster_size",
    "Compute (SM) Throughput": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Compute (SM) [%]": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "DRAM Frequency": "dram__cycles_elapsed.avg.per_second",
    "DRAM Throughput": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "Driver Shared Memory Per Block": "launch__shared_mem_per_block_driver",
    "Duration": _TIME,
    "Dynamic Shared Memory Per Block": "launch__shared_mem_per_block_dynamic",
    "Elapsed Cycles": "gpc__cycles_elapsed.max",
    "Eligible Warps Per Scheduler": "smsp__warps_eligible.avg.per_cycle_active",
    "Executed Instructions": "smsp__inst_executed.sum",
    "Executed Ipc Active": "sm__inst_executed.avg.per_cycle_active",
    "Executed Ipc Elapsed": "sm__inst_executed.avg.per_cycle_elapsed",
    "Grid Size": "launch__grid_size",
    "Issue Slots Busy": "sm__inst_issued.avg.pct_of_peak_sustained_active",
    "Issued Instructions": "smsp__inst_issued.sum",
    "Issued Ipc Active": "sm__inst_issued.avg.per_cycle_active",
    "Issued Warp Per Scheduler": "smsp__issue_active.avg.per_cycle_active",
    "L1/TEX Cache Throughput": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "L1/TEX Hit Rate": "l1tex__t_sector_hit_rate.pct",
    "L2 Cache Throughput": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "L2 Compression Ratio": "lts__average_gcomp_output_sector_compression_achieved_rate.ratio",
    "L2 Compression Success Rate": "lts__average_gcomp_input_sector_success_rate.pct",
    "L2 Hit Rate": "lts__t_sector_hit_rate.pct",
    "Max Bandwidth": "gpu__compute_memory_request_throughput.avg.pct_of_peak_sustained_elapsed",
    "Mem Busy": "gpu__compute_memory_access_throughput.avg.pct_of_peak_sustained_elapsed",
    "Mem Pipes Busy": "sm__memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "Memory [%]": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "No Eligible": "smsp__issue_inst0.avg.pct_of_peak_sustained_active",
    "One or More Eligible": "smsp__issue_active.avg.pct_of_peak_sustained_active",
    "Registers Per Thread": "launch__registers_per_thread",
    "SM Active Cycles": "sm__cycles_active.avg",
    "SM Busy": "sm__instruction_throughput.avg.pct_of_peak_sustained_active",
    "SM Frequency": "gpc__cycles_elapsed.avg.per_second",
    "SOL DRAM": "gpu__dram_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL L1/TEX Cache": "l1tex__throughput.avg.pct_of_peak_sustained_active",
    "SOL L2 Cache": "lts__throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL Memory": "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    "SOL SM": "sm__throughput.avg.pct_of_peak_sustained_elapsed",
    "Shared Memory Configuration Size": "launch__shared_mem_config_size",
    "Static Shared Memory Per Block": "launch__shared_mem_per_block_static",
    "Theoretical Active Warps per SM": "sm__maximum_warps_avg_per_active_cycle",
    "Theoretical Occupancy": "sm__maximum_warps_per_active_cycle_pct",
    "Threads": "launch__thread_count",
    "Warp Cycles Per Executed Instruction": "smsp__average_warps_active_per_inst_executed.ratio",
    "Warp Cycles Per Issued Instruction": "smsp__average_warp_latency_per_inst_issued.ratio",
    "Waves Per SM": "launch__waves_per_multiprocessor",
    "# SMs": "launch__sm_count",
}
# One label for two metrics with different units.
_MEMORY_THROUGHPUT = {
    True: "gpu__compute_memory_throughput.avg.pct_of_peak_sustained_elapsed",
    False: "dram__bytes.sum.per_second",
}

# Floating-point operations of one thread instruction, as the roofline charts count them.
_FLOP = {"add": 1, "mul": 1, "fma": 2}
_PRECISIONS = {"h": "fp16", "f": "fp32", "d": "fp64"}
_TENSOR_FLOP = re.compile(r"sm__ops_path_tensor_(?!.*sparsity_on)\w+\.sum$")
_TENSOR = re.compile(r"pipe_tensor")
_UNIT = re.compile(r"(?P<prefix>[numkKMGTP]?)(?P<base>[A-Za-z]+)$")
_PREFIXES = {
    "": 1.0, "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12,
    "P": 1e15,
}  # fmt: skip
_BASES = {"byte", "second", "s", "hz", "Hz", "cycle", "inst", "sector", "request", "bit"}


@dataclass
class Profile:
    """What Nsight Compute says of one execution, collected from rows or a message.

    Attributes
    ----------
    metrics
        Numbers in SI base units by the names of metrics; percentages are from 0 to 100.
    words
        Metrics that are text, and other cells.
    executions
        How many executions the values are the means of.
    """

    name: str
    position: Position
    device_index: str | None = None
    stream: str | None = None
    compute_capability: str | None = None
    grid: tuple[int, int, int] | None = None
    block: tuple[int, int, int] | None = None
    executions: int = 1
    min_s: float | None = None
    max_s: float | None = None
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    words: dict[str, str] = field(default_factory=dict[str, str])

    @property
    def device(self) -> MeasuredDevice | None:
        """The device, if anything is known of it."""
        name = self.words.get(_DEVICE_NAME)
        capability = self.compute_capability or self._capability()
        cores = self._count(f"{_DEVICE}multiprocessor_count") or self._count("launch__sm_count")
        index = self.device_index
        if name is None and capability is None and index is None:
            return None
        label = index if name is None else name if index is None else f"{name} ({index})"
        architecture = None if capability is None else "sm_" + capability.replace(".", "")
        return MeasuredDevice(label, name, architecture, cores)

    def operation(self) -> Operation:
        """The operation; FLOP and DRAM bytes where the metrics count them."""
        time_s = self.metrics.get(_TIME)
        dram_bytes = self._dram_bytes(time_s)
        flop, counted = self._flop(time_s)
        device = self.device
        times = self.executions
        return Operation(
            self.name,
            self.position,
            kind=kind_of_kernel(self.name),
            device=None if device is None else device.device,
            stream=self.stream,
            time_s=None if time_s is None else time_s * times,
            executions=times,
            min_s=self.min_s,
            max_s=self.max_s,
            grid=_positive_sizes(self.grid) or self._dimensions("launch__grid_dim"),
            block=_positive_sizes(self.block) or self._dimensions("launch__block_dim"),
            shared_bytes=self._shared_bytes(),
            registers=self._count("launch__registers_per_thread"),
            dram_bytes=_sum(dram_bytes, times),
            flop=_sum(flop, times),
            attributes={
                **{name: text for name, text in self.words.items() if not _is_of_device(name)},
                **({"flop_counted": counted} if counted else {}),
            },
            counters={
                name: value for name, value in self.metrics.items() if not _is_of_device(name)
            },
        )

    def _capability(self) -> str | None:
        major = self._count(f"{_DEVICE}compute_capability_major")
        minor = self._count(f"{_DEVICE}compute_capability_minor")
        return None if major is None or minor is None else f"{major}.{minor}"

    def _count(self, name: str) -> int | None:
        value = self.metrics.get(name)
        return None if value is None or value != int(value) or value < 0 else int(value)

    def _dimensions(self, name: str) -> tuple[int, int, int] | None:
        x, y, z = (self._count(f"{name}_{axis}") or 0 for axis in "xyz")
        return _positive_sizes((x, y, z))

    def _shared_bytes(self) -> int | None:
        static = self._count("launch__shared_mem_per_block_static")
        dynamic = self._count("launch__shared_mem_per_block_dynamic")
        return None if static is None or dynamic is None else static + dynamic

    def _dram_bytes(self, time_s: float | None) -> float | None:
        """The bytes of reads and writes: counted, or as their rate over the duration."""
        metrics = self.metrics
        if "dram__bytes.sum" in metrics:
            return metrics["dram__bytes.sum"]
        read, written = metrics.get("dram__bytes_read.sum"), metrics.get("dram__bytes_write.sum")
        if read is not None and written is not None:
            return read + written
        rate = metrics.get("dram__bytes.sum.per_second")
        return None if rate is None or time_s is None else rate * time_s

    def _flop(self, time_s: float | None) -> tuple[float | None, str]:
        """The operations, and which are counted; None where tensor instructions are not."""
        total, counted = 0.0, list[str]()
        for letter, precision in _PRECISIONS.items():
            parts = [self._thread_instructions(letter + operation, time_s) for operation in _FLOP]
            if None not in parts:
                counted.append(precision)
                total += sum(
                    part * flop
                    for part, flop in zip(parts, _FLOP.values(), strict=True)
                    if part is not None
                )
        tensor = [value for name, value in self.metrics.items() if _TENSOR_FLOP.match(name)]
        used = [value for name, value in self.metrics.items() if _TENSOR.search(name)]
        if tensor:
            return total + sum(tensor), ", ".join([*counted, "tensor"])
        if not counted or any(used):
            return None, ""
        return total, ", ".join(counted) + ("" if used else " (tensor instructions not counted)")

    def _thread_instructions(self, operation: str, time_s: float | None) -> float | None:
        """Thread instructions that predicates do not suppress: a count, or a rate over the time."""
        for unit in ("sm", "smsp"):
            name = f"{unit}__sass_thread_inst_executed_op_{operation}_pred_on.sum"
            if name in self.metrics:
                return self.metrics[name]
            rate = self.metrics.get(f"{name}.per_cycle_elapsed")
            clock_hz = self.metrics.get(f"{unit}__cycles_elapsed.avg.per_second")
            if rate is not None and clock_hz is not None and time_s is not None:
                return rate * clock_hz * time_s
        return None


def _positive_sizes(sizes: tuple[int, int, int] | None) -> tuple[int, int, int] | None:
    """The sizes of a grid or a block, none of which is 0."""
    return sizes if sizes and all(sizes) else None


def _sum(value: float | None, times: int) -> int | None:
    """The sum of a count over executions; rates may give what is no count."""
    return None if value is None or not 0 <= value * times < math.inf else round(value * times)


def _is_of_device(name: str) -> bool:
    return name.startswith(_DEVICE)


def metric_name(section: str, label: str, unit: str) -> str:
    """The name of a metric that a row of the details page may call by a label."""
    if "__" in label:
        # With --print-metric-name label-name, the name is in parentheses.
        return label[label.rfind("(") + 1 : -1] if label.endswith(")") and "(" in label else label
    if label == "Memory Throughput":
        return _MEMORY_THROUGHPUT[unit == "%"]
    return NAMES_OF_LABELS.get(label) or (f"{section}: {label}" if section else label)


def unit_factor(unit: str) -> float | None:
    """What a unit is in SI base units: 1e9 for ``Gbyte/second``; None if it is not known.

    Counts and percentages are themselves.
    """
    above, _, below = unit.partition("/")
    factor = _part_factor(above)
    divisor = _part_factor(below)
    return None if factor is None or divisor is None else factor / divisor


def _part_factor(part: str) -> float | None:
    match = _UNIT.match(part)
    if match is None or part in _BASES:
        return 1.0
    if match["base"] in _BASES:
        factor = _PREFIXES[match["prefix"]]
        # No profiler has kiloseconds: such a unit is a damaged one.
        return None if match["base"] in ("second", "s") and factor > 1 else factor
    # A unit of its own: warp, thread, block, register.
    return 1.0 if part.lower() == part else None


def devices_once(profile: Profile, known: set[MeasuredDevice]) -> Iterator[MeasuredDevice]:
    """The device of a profile, if none before had it."""
    device = profile.device
    if device is not None and device not in known:
        known.add(device)
        yield device
