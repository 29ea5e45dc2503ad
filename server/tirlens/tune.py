"""The choice of configurations in Python, and a filter before a framework's own tuner.

@tilelang.autotune(configs=tirlens.tune.best(configs, 8))
@tilelang.jit
def matmul(M, N, K, block_M=128, ...): ...

The functions run in the process of the kernel, which has tvm or tilelang.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, TypeAlias

from tirlens.api import HeldKernel, UnboundSizesError, held_kernels
from tirlens.hardware import DEFAULT_DEVICE, Device, load
from tirlens.hardware.detect import machine_device
from tirlens.ide import labels
from tirlens.tuning import Estimate, estimate_of, worth_measuring
from tirlens.tuning.ranking import order_of

__all__ = ["Prefilter", "Ranked", "best", "rank"]

Config: TypeAlias = Mapping[str, Any]
_log = logging.getLogger("tirlens.tune")
# A key of tilelang's configurations that is no parameter: options of the compilation.
_PASS_CONFIGS = "pass_configs"


@dataclass(frozen=True)
class Ranked:
    """A configuration, the values of parameters by name, with its estimate.

    Attributes
    ----------
    config : Mapping
        The configuration as it was given.
    estimate : Estimate
        Its predicted time in seconds with the band, or the reason why there is none.
    """

    config: Config
    estimate: Estimate


def rank(
    build: Callable[..., Any],
    configs: Iterable[Config],
    device: Device | str | Path | None = None,
    bindings: Mapping[str, int] | None = None,
    executor: Executor | None = None,
) -> list[Ranked]:
    """Configurations in the order of their predicted times, the fastest first.

    Those without a known time follow, then those that are refused. Nothing is compiled or run.

    Parameters
    ----------
    build
        Called with the values of a configuration; returns the PrimFunc, IRModule or Schedule:
        ``lambda **config: matmul.get_tir(4096, 4096, 4096, **config)``. One for which it raises an
        exception is refused.
    configs
        The configurations.
    device
        A device of the catalogue, or the path of a device file; the GPU of this machine by default,
        else `DEFAULT_DEVICE`.
    bindings
        Sizes of dynamic dimensions by name.
    executor
        Executes the model: processes of this machine, or of a cluster that have tirlens. `build` is
        called in this thread.

    Raises
    ------
    DeviceError
        There is no such device.
    """
    chosen, given, sizes = _device(device), list(configs), dict(bindings or {})
    kernels = (_kernels(build, config) for config in given)
    if executor is None:
        estimates = [_estimate(each, chosen, sizes) for each in kernels]
    else:
        futures = [executor.submit(_estimate, each, chosen, sizes) for each in kernels]
        estimates = [future.result() for future in futures]
    found = [Ranked(*each) for each in zip(given, estimates, strict=True)]
    return sorted(found, key=lambda one: order_of(one.estimate))


def best(
    configs: Iterable[Config] | Callable[..., Iterable[Config]],
    n: int,
    device: Device | str | Path | None = None,
) -> Prefilter:
    """The configurations that are worth compiling, for ``@tilelang.autotune(configs=...)``.

    Whatever its tuner measures stays final. The prediction only leaves out

    - what the framework or the device refuses,
    - what is predicted to be slower than the best one beyond both bands, and
    - what is behind the first `n`.

    It defers where it cannot tell: a configuration without a known time is kept beyond the `n`, and
    where no configuration can be built or predicted all are.

    Parameters
    ----------
    configs
        A list, or a function of the kernel's arguments, as the tuner takes it.
    n
        The most configurations with a predicted time that are kept.
    device
        As for `rank`.

    Raises
    ------
    ValueError
        `n` is below 1.
    """
    if n < 1:
        raise ValueError(f"n is {n}; at least one configuration is kept")
    return Prefilter(configs if callable(configs) else list(configs), n, device)


@dataclass(frozen=True, eq=False)
class Prefilter:
    """The function of configurations that `best` returns; the tuner calls it.

    Attributes
    ----------
    candidates
        All configurations, or the function that returns them.
    """

    candidates: Sequence[Config] | Callable[..., Iterable[Config]]
    n: int
    device: Device | str | Path | None

    def __call__(self, *args: Any, **kwargs: Any) -> list[Config]:
        """The configurations to compile for a call of the kernel with these arguments."""
        candidates = self.candidates
        configs = list(candidates(*args, **kwargs) if callable(candidates) else candidates)
        build = _builder(self, sys._getframe(1))  # pyright: ignore[reportPrivateUsage]
        if build is None:
            _log.warning("the kernel that is tuned was not found: all configurations are kept")
            return configs
        ranked = rank(build, configs, self.device)
        kept = worth_measuring(ranked, self.n)
        if not kept:
            reason = ranked[0].estimate.reason if ranked else "there are none"
            _log.warning("all configurations are kept: no one is predicted to run: %s", reason)
            return configs
        first = kept[0]
        time = labels.estimate(first.estimate.time_s, first.estimate.time_band_s)
        _log.info(
            "%d of %d configurations kept; predicted best: %s, %s",
            len(kept), len(configs), dict(first.config), time,
        )  # fmt: skip
        return [one.config for one in kept]


def _builder(prefilter: Prefilter, frame: FrameType | None) -> Callable[..., Any] | None:
    """Builds the kernel of the tuner that calls `prefilter`, with the arguments of its call.

    tilelang hands them on only as the key of its cache, where arrays are strings. The call itself
    is in the frame of the tuner's `AutoTuneImpl`.
    """
    while frame is not None:
        names = frame.f_locals
        tuner = names.get("self")
        kernel = getattr(tuner, "jit_impl", None)
        if kernel is not None and getattr(tuner, "configs", None) is prefilter:
            return partial(_build, kernel, names.get("args", ()), names.get("kwargs", {}))
        frame = frame.f_back
    return None


def _build(kernel: Any, args: Sequence[Any], kwargs: Mapping[str, Any], **config: Any) -> Any:
    return kernel.get_tir(*args, **{**kwargs, **config})


def _kernels(build: Callable[..., Any], config: Config) -> tuple[HeldKernel, ...] | Estimate:
    """The kernels of a configuration, without the functions; an estimate where there are none."""
    values = {name: value for name, value in config.items() if name != _PASS_CONFIGS}
    try:
        function = build(**values)
    except Exception as error:
        return Estimate(is_refused=True, reason=f"{type(error).__name__}: {error}")
    try:
        return tuple(replace(one, function=None) for one in held_kernels(function))
    except (TypeError, ValueError) as error:
        # What is no kernel may run.
        return Estimate(reason=str(error))


def _estimate(
    kernels: tuple[HeldKernel, ...] | Estimate, device: Device, bindings: Mapping[str, int]
) -> Estimate:
    if isinstance(kernels, Estimate):
        return kernels
    try:
        return estimate_of([one.report(device, bindings, advice=False) for one in kernels])
    except UnboundSizesError as error:
        return Estimate(reason=str(error))


def _device(device: Device | str | Path | None) -> Device:
    if isinstance(device, Device):
        return device
    return load(device) if device is not None else machine_device() or load(DEFAULT_DEVICE)
