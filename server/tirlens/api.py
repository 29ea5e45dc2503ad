"""The Python API, for an environment that has tvm, tilelang or tvm_tirx.

from tirlens import Analyzer
result = Analyzer.analysis(prim_func, "h100-sxm")
print(result.tflops, result.kernels[0]["bound"])
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tirlens.collector import scanning_new_objects_only
from tirlens.hardware import Device, load
from tirlens.hardware.architecture_object import from_architecture
from tirlens.ide import labels, tables
from tirlens.model.report import KernelReport
from tirlens.pipeline.compilation_request import (
    compilation_of,
    compiled_architecture,
    with_compilations,
)
from tirlens.pipeline.kernel_json import kernel_json
from tirlens.pipeline.report_cache import evaluate_kernel
from tirlens_worker.facts import KernelFacts
from tirlens_worker.protocol import GeneratedCode


@dataclass(frozen=True)
class AnalysisResult:
    """The analysis of one function or module.

    The totals are over its kernels. A total is None if it is unknown for one of them. The entry of
    that kernel in `kernels` says why.

    Attributes
    ----------
    device : Device
        The device of the estimate.
    reports : tuple of KernelReport
        One report for each kernel.
    """

    device: Device
    reports: tuple[KernelReport, ...]

    @property
    def kernels(self) -> list[dict[str, Any]]:
        """The full report of each kernel, as in the JSON of the command line."""
        return [kernel_json(report, report.span.file or "") for report in self.reports]

    @property
    def total_flops(self) -> int | None:
        """Floating-point operations issued; a multiply-accumulate counts two."""
        return _sum(report.flop for report in self.reports)

    @property
    def total_global_bytes(self) -> int | None:
        """Bytes of global memory that the program reads and writes, before any cache."""
        return _sum(report.global_bytes.total for report in self.reports)

    @property
    def estimated_time(self) -> float | None:
        """Seconds, the kernels one after another."""
        return _sum(report.time_s for report in self.reports)

    @property
    def tflops(self) -> float | None:
        """10^12 floating-point operations per second at the estimated time."""
        return _rate(self.total_flops, self.estimated_time, 1e12)

    @property
    def bandwidth_GBps(self) -> float | None:  # noqa: N802 - the contract's name
        """10^9 issued bytes of global memory per second, as tilelang's Analyzer defines it."""
        return _rate(self.total_global_bytes, self.estimated_time, 1e9)

    @property
    def dram_GBps(self) -> float | None:  # noqa: N802 - the contract's name
        """10^9 bytes of DRAM per second at the estimated time."""
        dram_bytes = _sum(report.dram_bytes.total for report in self.reports)
        return _rate(dram_bytes, self.estimated_time, 1e9)

    def __str__(self) -> str:
        """A table with a row for each kernel, and the caveats."""
        columns = ["kernel", *tables.kernel_columns(self.reports)]
        rows = [dict(zip(columns, columns, strict=True))]
        rows += [{"kernel": labels.title(r), **tables.kernel_cells(r)} for r in self.reports]
        widths = {name: max(len(row[name]) for row in rows) for name in columns}
        lines = [f"on {self.device.name}"]
        lines += ["  ".join(row[name].ljust(widths[name]) for name in columns) for row in rows]
        notes = (
            f"{labels.title(report)}: {caveat.message}"
            for report in self.reports
            for caveat in report.caveats
        )
        return "\n".join(line.rstrip() for line in (*lines, *dict.fromkeys(notes)))


class UnboundSizesError(ValueError):
    """Sizes of dynamic dimensions have no value; the message says how to bind them.

    Attributes
    ----------
    names : tuple of str
        The sizes.
    """

    def __init__(self, kernel: str, names: tuple[str, ...]) -> None:
        sizes = ", ".join(f'"{name}": 4096' for name in names)
        verb = "has" if len(names) == 1 else "have"
        super().__init__(
            f"{', '.join(names)} of {kernel} {verb} no value; bind, for example, "
            f"Analyzer.analysis(fn, device, bindings={{{sizes}}})"
        )
        self.names = names


class Analyzer:
    """Analyses functions of tvm, tilelang and tvm_tirx in this process."""

    @staticmethod
    def analysis(
        fn: Any,
        device: Any,
        bindings: Mapping[str, int] | None = None,
        lower: bool = True,
        compile: bool = True,  # noqa: A002 - the name of the option
        advice: bool = True,
    ) -> AnalysisResult:
        """Estimate what a function costs on a device.

        Parameters
        ----------
        fn
            A PrimFunc, an IRModule with one or more of them, a Schedule, whose module it is, or a
            function of TIRx (``@T.function``; ``@T.jit`` with its parameters bound).
        device
            An id of the catalogue, a `Device`, the path of a device file, or any object with a
            ``compute_capability`` (tilelang's ``CUDA``), whose own SM count, L2 size and bandwidth
            are used.
        bindings
            Sizes of dynamic dimensions by name.
        lower
            Whether tilelang lowers its kernels for the device, which gives the threads, the shared
            memory and the vector widths that it launches with.  Takes up to seconds.
        compile
            Whether NVIDIA's compiler, where it is at hand (see ``tirlens toolchain``), compiles the
            kernels for the device, which gives registers, spills and arrays in local memory.  Takes
            seconds a kernel the first time.
        advice
            Whether the reports have advice, each rule of which is tried with the model.

        Returns
        -------
        AnalysisResult
            The report of each kernel, and their totals.

        Raises
        ------
        TypeError
            `fn` is no function of a framework.
        DeviceError
            There is no such device.
        UnboundSizesError
            A dynamic dimension has no size in `bindings`.
        """
        chosen = _device(device)
        reports: list[KernelReport] = []
        for kernel in held_kernels(fn):
            if lower:
                kernel = kernel.with_lowering(chosen)
            if compile:
                kernel = kernel.with_compilation(chosen)
            reports.append(kernel.report(chosen, bindings or {}, advice))
        return AnalysisResult(chosen, tuple(reports))


@dataclass(frozen=True)
class HeldKernel:
    """A function of this process with its facts, and the path of the file that defines it."""

    name: str
    function: Any
    facts: KernelFacts
    path: str | None

    def with_lowering(self, device: Device) -> HeldKernel:
        """The kernel with what tilelang lowers it to for `device`, if it does."""
        if self.facts.framework != "tilelang" or not device.arch.startswith("sm_"):
            return self
        return replace(self, facts=_lower(self.facts, self.function, device))

    def with_compilation(self, device: Device) -> HeldKernel:
        """The kernel with what the compiler makes of it for `device`, if it is at hand."""
        return replace(self, facts=_compile(self.facts, self.function, device, self.path))

    def report(self, device: Device, bindings: Mapping[str, int], advice: bool) -> KernelReport:
        """The report of the kernel on `device`.

        Raises:
            UnboundSizesError: a dynamic dimension has no size in `bindings`.
        """
        with scanning_new_objects_only():
            report = evaluate_kernel(self.facts, device, bindings, advice)
        if report.needs:
            raise UnboundSizesError(self.name, report.needs)
        return replace(report, device_source="option", span=replace(report.span, file=self.path))


def held_kernels(fn: Any) -> Iterator[HeldKernel]:
    """The kernels of what `Analyzer.analysis` takes, one after another.

    Raises:
        TypeError: `fn` is no function of a framework.
    """
    # Imported late, because it imports a framework.
    from tirlens_worker.frameworks.held_function import extract_held

    functions = list(_functions(fn))
    if not functions:
        raise TypeError(
            "expected a PrimFunc, an IRModule or Schedule with one, or a function of TIRx, "
            f"not {type(fn).__name__}"
        )
    for name, function in functions:
        facts, path = extract_held(function, name)
        yield HeldKernel(name, function, facts, path)


def _lower(facts: KernelFacts, function: Any, device: Device) -> KernelFacts:
    """The facts with the launch that tilelang lowers the function to, or the reason it refuses."""
    from tirlens_worker.frameworks.lowering.lower import LoweringError, lower

    try:
        launch = lower(function, {"kind": "cuda", "arch": device.arch})
    except LoweringError as error:
        return replace(facts, refused={device.arch: str(error)})
    return replace(facts, lowered=(launch,))


def _compile(facts: KernelFacts, function: Any, device: Device, path: str | None) -> KernelFacts:
    """The facts with what the compiler makes of the function; as they are where there is none."""
    arch = compiled_architecture(facts, device)
    if arch is None:
        return facts
    try:
        from tirlens.worker_client.toolchain import find_toolchain
    except ModuleNotFoundError:
        # An environment with no more packages than the analysis itself needs has no tools either.
        return facts
    toolchain = find_toolchain(Path(sys.executable))
    if toolchain.missing:
        return facts
    from tirlens_worker.frameworks.lowering.generate import generate
    from tirlens_worker.frameworks.lowering.lower import LoweringError
    from tirlens_worker.frameworks.lowering.machine_code import add_machine_code

    code = GeneratedCode(facts.definition, facts.name, facts.call, arch)
    target = {"kind": "cuda", "arch": arch}
    try:
        texts = generate(function, facts.framework, target, path or "", ("cuda",))
    except LoweringError as error:
        code = replace(code, error=str(error))
    else:
        code = replace(code, texts=tuple(texts))
        code = add_machine_code(code, facts.framework, toolchain.compiler, with_sass=True)
    return with_compilations(facts, (compilation_of(code, facts),))


def _functions(fn: Any) -> Iterator[tuple[str, Any]]:
    """The PrimFuncs in what the caller gave, by type name: no framework is imported for it."""
    if type(fn).__name__ == "PrimFunc" or _is_of_tirx(fn):
        yield _symbol(fn) or "main", fn
    elif type(fn).__name__ == "IRModule":
        for variable, function in fn.functions.items():
            if type(function).__name__ == "PrimFunc":
                yield str(variable.name_hint), function
    elif type(fn).__name__ == "Schedule":
        yield from _functions(fn.mod)


def _is_of_tirx(fn: Any) -> bool:
    return type(fn).__name__ == "Function" and type(fn).__module__.startswith("tvm_tirx.")


def _symbol(function: Any) -> str | None:
    attributes = getattr(function, "attrs", None)
    if attributes is not None and "global_symbol" in attributes:
        return str(attributes["global_symbol"])
    return None


def _device(device: Any) -> Device:
    if isinstance(device, Device):
        return device
    if isinstance(device, (str, Path)):
        return load(device)
    if not hasattr(device, "compute_capability"):
        raise TypeError(
            "device must be an id, a Device, the path of a device file or an object with a "
            f"compute_capability, not {type(device).__name__}"
        )
    return from_architecture(device)


def _sum(values: Iterator[Any]) -> Any:
    found = list(values)
    return None if any(value is None for value in found) else sum(found)


def _rate(amount: float | None, time_s: float | None, unit: float) -> float | None:
    return None if amount is None or not time_s else amount / time_s / unit
