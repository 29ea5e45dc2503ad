"""The numbers of a GPU's device file from the times of the calibration's steps.

A number that the steps do not determine stays that of the device that the file extends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median

from tirlens.hardware.calibration.file_text import SourcedNumber, file_text
from tirlens.hardware.calibration.gpu_steps import (
    USABLE_PARTS,
    Board,
    Step,
    calibration_steps,
    l2_bytes,
)
from tirlens.hardware.quantity import number_fields
from tirlens.hardware.spec import Device

# Latency under load over that of one dependent load alone, as in the catalogue.
LOADED_LATENCY_FACTOR = 2.0
# From this architecture on, the address of a load from shared memory is an operation of its own
# (LEA); earlier ones scale the index in the load (LDS [R.X4]).
ADDRESS_OPERATION_ARCH = 90
# Share of what the base sustains from which a product of the framework's compiler determines the
# rate of the units: the product of another compiler may be faster.
DETERMINING_SHARE = 0.9
LIBRARY = "torch.matmul"
# Relative difference from which the driver's size is another one than that of the base.
SIZE_TOLERANCE = 0.12
MIN_LAUNCH_S = 1e-7
_SUSTAINED = next(
    field.range for field in number_fields(Device) if field.key == "dram.sustained_fraction"
)


@dataclass(frozen=True)
class StepTime:
    """The time of a launch in seconds, the clocks in its loop, and how it was computed."""

    seconds: float
    clk: float | None = None
    how: str = ""


@dataclass(frozen=True)
class Calibration:
    """The numbers of a device file by dotted key, each with what was measured, and notes."""

    numbers: Mapping[str, tuple[float, str]]
    notes: Sequence[str]
    clock_hz: float | None


class Sweep:
    """The measured steps of a board, whose file extends that of `base`."""

    def __init__(
        self, base: Device, board: Board, is_exact: bool, times: Mapping[str, StepTime]
    ) -> None:
        self.base, self.board, self.is_exact = base, board, is_exact
        self._times = times
        self._steps = {step.name: step for step in calibration_steps(base, board)}

    def time(self, name: str) -> StepTime:
        """The time of a step; `KeyError` if it was not measured."""
        return self._times[name]

    def step(self, name: str) -> Step:
        """The step of a name."""
        return self._steps[name]

    @property
    def products(self) -> list[str]:
        """The operand types of the measured products."""
        return [
            name.removeprefix("product ") for name in self._times if name.startswith("product ")
        ]

    @cached_property
    def _link_s(self) -> float:
        """Time of one multiply-add of a dependent chain, without the launch."""
        seconds = self.time("long chain").seconds - self.time("short chain").seconds
        return seconds / (self.step("long chain").work - self.step("short chain").work)

    @cached_property
    def link_clk(self) -> float:
        """Clocks of one multiply-add of a dependent chain, measured or of the architecture."""
        short, long = self.time("short chain").clk, self.time("long chain").clk
        if not short or not long:
            return self.base.microarchitecture.dependent_clk
        return (long - short) / (self.step("long chain").work - self.step("short chain").work)

    @cached_property
    def clock_hz(self) -> float:
        """The clock of the busy SM."""
        return self.link_clk / self._link_s

    @cached_property
    def launch_s(self) -> float:
        """From the end of one kernel to the end of the next, beside the work of the kernel."""
        chain_s = self._link_s * self.step("short chain").work
        launch_s = self.time("short chain").seconds - chain_s
        return max(min(launch_s, self.time("empty").seconds), MIN_LAUNCH_S)

    def rate(self, name: str) -> float:
        """Work of a step per second, without the launch."""
        try:
            launch_s = self.launch_s
        except KeyError:
            launch_s = self.base.launch_s
        return self.step(name).work / max(self.time(name).seconds - launch_s, 1e-9)

    def clk(self, name: str) -> float:
        """Clocks of one operation of a step."""
        clocks = self.time(name).clk
        return clocks / self.step(name).work if clocks else self.clock_hz / self.rate(name)

    def load_s(self, name: str) -> float:
        """Time of one load of a chase through global memory, without its address."""
        return 1 / self.rate(name) - self.link_clk / self.clock_hz

    @property
    def shared_clk(self) -> float:
        """Clocks of a load from shared memory, without its address."""
        arch = self.base.arch.removeprefix("sm_").rstrip("af")
        has_operation = not arch.isdecimal() or int(arch) >= ADDRESS_OPERATION_ARCH
        return self.clk("shared chase") - (self.link_clk if has_operation else 0.0)

    def peak(self, name: str) -> float:
        """The peak rate of a class in the file, with the SMs and the clock of the file."""
        peak = self.base.peaks[name]
        sms = (self.board.sm_count or self.base.sm_count) / self.base.sm_count
        clock = self.clock_hz / self.base.clock_hz if peak.clock_hz is None else 1.0
        return peak.flop_per_s * sms * clock

    @property
    def sustained_bytes_per_s(self) -> float:
        """The DRAM rate of kernels: the median of reads, copies and triads, as in the catalogue."""
        return median(self.rate(f"{name} dram") for name in ("read", "copy", "triad"))

    @property
    def one_way_bytes_per_s(self) -> float:
        """The DRAM rate of pure reads or pure writes: the lesser, and no less than of both."""
        one_way = min(self.rate("read dram"), self.rate("write dram"))
        return max(one_way, self.sustained_bytes_per_s)

    @property
    def dram_bytes_per_s(self) -> float:
        """The data sheet's rate, or that of which the board sustains as much as the base does."""
        if self.is_exact:
            return self.base.dram.bytes_per_s
        return self.sustained_bytes_per_s / self.base.dram.sustained_fraction


@dataclass(frozen=True)
class _Rule:
    """A number by its key, how it follows from a sweep, and what was measured."""

    key: str
    value: Callable[[Sweep], float]
    what: str


_RULES = (
    _Rule("clock_hz", lambda sweep: sweep.clock_hz, "a chain of multiply-adds of one warp"),
    _Rule("launch_s", lambda sweep: sweep.launch_s, "one kernel after another, less their work"),
    _Rule(
        "dram.sustained_fraction",
        lambda sweep: sweep.sustained_bytes_per_s / sweep.dram_bytes_per_s,
        "median of read, copy and triad",
    ),
    _Rule(
        "dram.one_way_fraction",
        lambda sweep: sweep.one_way_bytes_per_s / sweep.dram_bytes_per_s,
        "the lesser of reads alone and writes alone",
    ),
    _Rule(
        "dram.latency_s",
        lambda sweep: LOADED_LATENCY_FACTOR * sweep.load_s("chase dram"),
        "twice the time of a dependent load",
    ),
    _Rule("l2.bytes_per_s", lambda sweep: sweep.rate("read l2"), "reads of all SMs"),
    _Rule(
        "l2.sustained_fraction",
        lambda sweep: sweep.rate("read l2") and 1.0,
        "the rate is a measured one",
    ),
    _Rule(
        "l2.latency_s",
        lambda sweep: LOADED_LATENCY_FACTOR * sweep.load_s("chase l2"),
        "twice the time of a dependent load",
    ),
    _Rule(
        "microarchitecture.l2_write_fraction",
        lambda sweep: sweep.rate("write l2") / sweep.rate("read l2"),
        "writes over reads of all SMs",
    ),
    _Rule(
        "microarchitecture.l2_port_bytes_per_clk",
        lambda sweep: sweep.rate("read l2 by one SM") / sweep.clock_hz,
        "reads of one SM",
    ),
    _Rule(
        "microarchitecture.shared_clk",
        lambda sweep: sweep.shared_clk,
        "a chain of loads from shared memory",
    ),
    _Rule(
        "microarchitecture.shuffle_clk",
        lambda sweep: sweep.clk("shuffles"),
        "a chain of shuffles and additions",
    ),
    _Rule(
        "microarchitecture.barrier_clk",
        lambda sweep: sweep.clk("barriers"),
        "barriers of four warps",
    ),
    _Rule(
        "peaks.fp32.sustained_fraction",
        lambda sweep: sweep.rate("multiply-add") / sweep.peak("fp32"),
        "multiply-adds on registers in the long run",
    ),
    _Rule(
        "peaks.sfu.sustained_fraction",
        lambda sweep: max(sweep.rate("exp2"), sweep.rate("rsqrt")) / sweep.peak("sfu"),
        "exp2 and rsqrt on registers in the long run",
    ),
)


def calibration(
    base: Device, board: Board, is_exact: bool, times: Mapping[str, StepTime]
) -> Calibration:
    """The numbers that the times of the steps determine.

    Parameters
    ----------
    base
        The device that the file extends.
    board
        The GPU as its driver reports it.
    is_exact
        Whether `base` is the catalogue's entry of this board: its data sheet's DRAM rate is used.
    times
        The times by step; a step that failed is missing.
    """
    sweep = Sweep(base, board, is_exact, times)
    numbers = dict(_facts_of_driver(sweep))
    rules = [*_RULES, *(_product_rule(dtype) for dtype in sweep.products)]
    if not is_exact:
        rate = "the measured rate over the fraction that the base sustains"
        rules.append(_Rule("dram.bytes_per_s", lambda sweep: sweep.dram_bytes_per_s, rate))
    if any(time.clk for time in times.values()):
        what = "a chain of multiply-adds"
        rules.append(_Rule("microarchitecture.dependent_clk", lambda sweep: sweep.link_clk, what))
    missing: list[str] = []
    notes: list[str] = []
    for rule in rules:
        try:
            value = rule.value(sweep)
        except KeyError:
            missing.append(rule.key)
            continue
        if (doubt := _doubt(rule.key, value, sweep)) is not None:
            notes.append(doubt)
            continue
        numbers[rule.key] = (value, rule.what)
        if (
            rule.key.endswith("_fraction")
            and rule.key.startswith(("dram.", "peaks."))
            and value > 1
        ):
            notes.append(f"{rule.key}: the measured rate is {value:.3g} of the data sheet's peak")
    if missing:
        notes.append(f"Not measured, as in {base.id}: {', '.join(missing)}")
    notes += _usable_l2(sweep)
    clock = numbers.get("clock_hz")
    return Calibration(numbers, notes, clock[0] if clock else None)


def _facts_of_driver(sweep: Sweep) -> Iterator[tuple[str, tuple[float, str]]]:
    """What the driver reports otherwise than the base has it."""
    base, board = sweep.base, sweep.board
    if board.sm_count and board.sm_count != base.sm_count:
        yield "sm_count", (board.sm_count, "")
    if board.memory_bytes and abs(board.memory_bytes / base.dram.bytes - 1) > SIZE_TOLERANCE:
        yield "dram.bytes", (board.memory_bytes, "")
    size = l2_bytes(base, board)
    if not sweep.is_exact and size != base.l2.bytes:
        yield "l2.bytes", (size, "")


def _product_rule(dtype: str) -> _Rule:
    return _Rule(
        f"peaks.tensor.{dtype}.sustained_fraction",
        lambda sweep: sweep.rate(f"product {dtype}") / sweep.peak(f"tensor.{dtype}"),
        "a product of 8192 squared in the long run",
    )


def _doubt(key: str, value: float, sweep: Sweep) -> str | None:
    """Why a measured number is not written, None if it is."""
    if key.endswith(".sustained_fraction") and value > _SUSTAINED.high:
        return (
            f"{key}: the measured rate is {value:.3g} of the data sheet's peak: the board is "
            f"another one than {sweep.base.id}, whose number stays"
        )
    name = key.removeprefix("peaks.").removesuffix(".sustained_fraction")
    if not name.startswith("tensor."):
        return None
    how = sweep.time(f"product {name.removeprefix('tensor.')}").how
    known = sweep.base.peaks[name].sustained_fraction
    if how == LIBRARY or value >= known * DETERMINING_SHARE:
        return None
    return (
        f"{key}: {how} reaches {value:.3g} of the peak, less than the {known:.3g} of "
        f"{sweep.base.id}, which stays: libraries may be faster"
    )


def _usable_l2(sweep: Sweep) -> Iterator[str]:
    """The part of L2 whose chase is nearer to the latency of L2 than to that of DRAM."""
    try:
        near, far = sweep.load_s("chase l2"), sweep.load_s("chase dram")
        parts = {part: sweep.load_s(f"chase {part:g} of l2") for part in USABLE_PARTS}
    except KeyError:
        return
    usable = [part for part, seconds in parts.items() if seconds < (near + far) / 2]
    size = l2_bytes(sweep.base, sweep.board)
    if max(usable, default=0.0) < max(USABLE_PARTS):
        found = f"{max(usable) * size / (1 << 20):.4g} MiB" if usable else "less than half"
        yield f"One SM finds {found} of the {size / (1 << 20):.4g} MiB of L2 in L2"


def device_file(
    base: Device,
    board: Board,
    result: Calibration,
    measured: str,
    reported: str,
    notes: Sequence[str] = (),
) -> str:
    """The text of a device file that extends `base`.

    Parameters
    ----------
    base
        The device of the catalogue.
    board
        The GPU.
    result
        The numbers, and what is to be said of them.
    measured, reported
        The sources of measured numbers, and of those that the driver reports.
    notes
        Further comments, which come first.
    """
    numbers = {
        key: SourcedNumber(value, f"{measured}: {what}" if what else reported)
        for key, (value, what) in result.numbers.items()
    }
    rest = f"Numbers that are not in this file are those of {base.id}."
    name = f"{board.name}, as measured"
    return file_text(base.id, board.name, name, numbers, [*notes, *result.notes, rest])
