"""The Python API, for an environment that has tvm or tilelang.

from tirlens import Analyzer
result = Analyzer.analysis(prim_func, "h100-sxm")
print(result.tflops, result.kernels[0]["bound"])
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tirlens.collector import scanning_new_objects_only
from tirlens.hardware import Device, DeviceError, load
from tirlens.hardware.detect import FoundGpu, identify
from tirlens.model.report import KernelReport
from tirlens.pipeline.report_cache import evaluate_kernel
from tirlens.pipeline.report_json import kernel_json
from tirlens_worker.facts import Span


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
        """10^9 bytes of DRAM per second at the estimated time."""
        dram_bytes = _sum(report.dram_bytes.total for report in self.reports)
        return _rate(dram_bytes, self.estimated_time, 1e9)


class Analyzer:
    """Analyses functions of tvm and tilelang in this process."""

    @staticmethod
    def analysis(fn: Any, device: Any, bindings: Mapping[str, int] | None = None) -> AnalysisResult:
        """Estimate what a function costs on a device.

        Parameters
        ----------
        fn
            A PrimFunc, or an IRModule with one or more of them.
        device
            An id of the catalogue, a `Device`, the path of a device file, or any object with a
            ``compute_capability`` (tilelang's ``CUDA``).
        bindings
            Sizes of dynamic dimensions by name.

        Returns
        -------
        AnalysisResult
            The report of each kernel, and their totals.

        Raises
        ------
        TypeError
            `fn` is no function of tvm or tilelang.
        DeviceError
            There is no such device.
        """
        chosen = _device(device)
        functions = list(_functions(fn))
        if not functions:
            raise TypeError(f"expected a PrimFunc or an IRModule with one, not {type(fn).__name__}")
        return AnalysisResult(
            chosen, tuple(_report(name, item, chosen, bindings or {}) for name, item in functions)
        )


def _report(name: str, function: Any, device: Device, bindings: Mapping[str, int]) -> KernelReport:
    # Imported here, for it imports tvm or tilelang.
    from tirlens_worker.frameworks.extract import extract

    facts = extract(
        function, definition=name, span=Span(1, 0, 1, 0), call=name, call_source="module-level"
    )
    with scanning_new_objects_only():
        report = evaluate_kernel(facts, device, bindings, advice=True)
    return replace(report, device_source="option")


def _functions(fn: Any) -> Iterator[tuple[str, Any]]:
    """The PrimFuncs in what the caller gave, by type name: no framework is imported for it."""
    if type(fn).__name__ == "PrimFunc":
        yield _symbol(fn) or "main", fn
    elif type(fn).__name__ == "IRModule":
        for variable, function in fn.functions.items():
            if type(function).__name__ == "PrimFunc":
                yield str(variable.name_hint), function


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
    capability = getattr(device, "compute_capability", None)
    if capability is None:
        raise TypeError(
            "device must be an id, a Device, the path of a device file or an object with a "
            f"compute_capability, not {type(device).__name__}"
        )
    arch = "sm_" + _dotted_version(capability).replace(".", "")
    found = identify(FoundGpu(str(getattr(device, "name", "")), "NVIDIA", arch)).device
    if found is None:
        raise DeviceError(f"no device of the catalogue has compute capability {capability}")
    return found


def _dotted_version(capability: Any) -> str:
    """``9.0`` for ``(9, 0)``, ``90``, ``"90"``, ``"sm_90a"`` and ``9.0``."""
    if isinstance(capability, (tuple, list)):
        return ".".join(map(str, capability))  # pyright: ignore[reportUnknownArgumentType]
    digits = str(capability).removeprefix("sm_").rstrip("af")
    return digits if "." in digits else f"{digits[:-1]}.{digits[-1:]}"


def _sum(values: Iterator[Any]) -> Any:
    found = list(values)
    return None if any(value is None for value in found) else sum(found)


def _rate(amount: float | None, time_s: float | None, unit: float) -> float | None:
    return None if amount is None or not time_s else amount / time_s / unit
