"""Predicted times in TVM's MetaSchedule: a cost model, and a filter of candidates.

from tirlens import metaschedule
ms.tune_tir(mod, target, work_dir, max_trials_global=64, cost_model=metaschedule.cost_model())

Both run in the process of the tuner, which has tvm with MetaSchedule (`tvm.s_tir.meta_schedule`).
What the tuner measures stays final.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from tirlens.api import Analyzer
from tirlens.hardware import DEFAULT_DEVICE, Device, load
from tirlens.hardware.targets import for_target
from tirlens.ide import labels
from tirlens.tuning import Estimate, estimate_of
from tirlens.tuning.ranking import worth_measuring

__all__ = ["cost_model", "postproc"]

_log = logging.getLogger("tirlens.metaschedule")
# What nothing is known of is neither preferred nor avoided.
_UNKNOWN_SCORE = 0.5


def cost_model(device: Device | str | Path | None = None) -> Any:
    """A cost model for ``ms.tune_tir(..., cost_model=...)`` that needs no measurements.

    A candidate's score is the shortest predicted time of its batch over its own: 1 for the best, 0
    for what the device does not run. One without a known time has 0.5. Measured times do not change
    the predictions; each round is written to the log ``tirlens.metaschedule``.

    Parameters
    ----------
    device
        A device of the catalogue, or the path of a device file; that of the tuner's target by
        default.

    Raises
    ------
    DeviceError
        There is no such device.
    ImportError
        tvm has no ``s_tir.meta_schedule``.
    """
    ms, derived_object = _meta_schedule()
    predictor = _Predictor(device)

    class PredictedTimes(ms.cost_model.PyCostModel):
        def load(self, path: str) -> None:
            """There is nothing to load."""

        def save(self, path: str) -> None:
            """There is nothing to save."""

        def update(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
            predictor.log_round(context, candidates, results)

        def predict(self, context: Any, candidates: Sequence[Any]) -> Any:
            import numpy

            found = [predictor.estimate(context, one.sch.mod) for one in candidates]
            return numpy.array(_scores(found), "float64")

    return derived_object(PredictedTimes)()


def postproc(device: Device | str | Path | None = None) -> Any:
    """A post-processor that drops candidates before they are built.

    Those are what the device does not run, and what is predicted to be slower than the best one so
    far beyond both bands. Append it to those of the space:
    ``ms.space_generator.PostOrderApply(postprocs=[*ms.Postproc.create("cuda"), postproc()])``.

    Parameters and errors are those of `cost_model`.
    """
    ms, derived_object = _meta_schedule()
    predictor = _Predictor(device)

    class DropSlower(ms.postproc.PyPostproc):
        context: Any = None
        best: Estimate | None = None

        def _initialize_with_tune_context(self, context: Any) -> None:
            self.context = context

        def apply(self, sch: Any) -> bool:
            found = predictor.estimate(self.context, sch.mod)
            if found.is_refused or found.time_s is None:
                return not found.is_refused
            best = self.best
            if best is None or found.time_s < (best.time_s or math.inf):
                self.best = found
                return True
            return len(worth_measuring([_Candidate(best), _Candidate(found)], 2)) == 2

        def clone(self) -> Any:
            return derived_object(DropSlower)()

    return derived_object(DropSlower)()


class _Candidate:
    def __init__(self, estimate: Estimate) -> None:
        self.estimate = estimate


class _Predictor:
    """Estimates of modules on one device, that of the target if none is given."""

    def __init__(self, device: Device | str | Path | None) -> None:
        self._device = device if isinstance(device, Device) or device is None else load(device)

    def estimate(self, context: Any, mod: Any) -> Estimate:
        try:
            found = Analyzer.analysis(
                mod, self._device_of(context), lower=False, compile=False, advice=False
            )
        except Exception as error:  # the tuner must not end, whatever the module
            return Estimate(reason=f"{type(error).__name__}: {error}")
        return estimate_of(found.reports)

    def _device_of(self, context: Any) -> Device:
        if self._device is None:
            self._device = for_target(_attributes(context.target)) or load(DEFAULT_DEVICE)
        return self._device

    def log_round(self, context: Any, candidates: Sequence[Any], results: Sequence[Any]) -> None:
        """Write what was measured beside what was predicted to be the best of the same round."""
        pairs = [
            (self.estimate(context, candidate.sch.mod), _measured_s(result))
            for candidate, result in zip(candidates, results, strict=True)
        ]
        known = [
            (estimate.time_s, measured_s)
            for estimate, measured_s in pairs
            if estimate.time_s is not None and measured_s is not None
        ]
        if not known:
            return
        predicted_s, chosen_s = min(known)
        _log.info(
            "%d candidates measured: the best takes %s; the predicted best takes %s, predicted %s",
            len(results),
            labels.seconds(min(measured_s for _, measured_s in known)),
            labels.seconds(chosen_s),
            labels.seconds(predicted_s),
        )


def _scores(found: Sequence[Estimate]) -> list[float]:
    times = [one.time_s for one in found if one.time_s is not None and not one.is_refused]
    best_s = min(times, default=0.0)
    return [
        0.0
        if one.is_refused
        else _UNKNOWN_SCORE
        if one.time_s is None
        else best_s / one.time_s
        if one.time_s
        else 1.0
        for one in found
    ]


def _measured_s(result: Any) -> float | None:
    """The mean of the runs of a candidate; None where it failed."""
    runs = [float(one) for one in result.run_secs or ()]
    return sum(runs) / len(runs) if runs else None


def _attributes(target: Any) -> Mapping[str, Any]:
    # Imported late, because it imports a framework.
    from tirlens_worker.frameworks.targets import attributes_of

    return attributes_of(target)


def _meta_schedule() -> tuple[Any, Any]:
    """MetaSchedule, and its decorator of classes."""
    ms = import_module("tvm.s_tir.meta_schedule")
    try:
        module = import_module("tvm.ir.utils")
    except ModuleNotFoundError:
        # The TVM of tilelang.
        module = import_module("tvm.s_tir.meta_schedule.utils")
    return ms, module.derived_object
