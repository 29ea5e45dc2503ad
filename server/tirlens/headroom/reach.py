"""The fastest kernel of the library for a job, by the model that predicts the kernel itself."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass

from tirlens.hardware.spec import Device
from tirlens.headroom.job import Attention, Job, Pass, Product, job_of
from tirlens.headroom.kernels import Candidate
from tirlens.headroom.structures import attention, single_pass, tiled_product
from tirlens.model import Workload, analyze

_MAX_JOBS = 256


@dataclass(frozen=True)
class Reachable:
    """The predicted time of a known structure for a job, and which it is."""

    time_s: float
    structure: str


def reachable(workload: Workload, device: Device) -> Reachable | None:
    """What the job of a kernel takes on a GPU; None where the job is not known."""
    if device.kind != "gpu" or not workload.is_scheduled:
        return None
    job = job_of(workload)
    return None if job is None else _cache.best(job, device)


class _Cache:
    """The results for the last jobs: a kernel that is edited mostly has the same job.

    Threads may share it.
    """

    def __init__(self) -> None:
        self._entries: OrderedDict[tuple[Job, str], tuple[Device, Reachable | None]] = OrderedDict()
        self._lock = threading.Lock()

    def best(self, job: Job, device: Device) -> Reachable | None:
        with self._lock:
            known = self._entries.get((job, device.id))
        if known is not None and known[0] == device:
            return known[1]
        found = _best(job, device)
        with self._lock:
            self._entries[job, device.id] = device, found
            while len(self._entries) > _MAX_JOBS:
                self._entries.popitem(last=False)
        return found


_cache = _Cache()


def _best(job: Job, device: Device) -> Reachable | None:
    found: list[Reachable] = []
    for one in _candidates(job, device):
        report = analyze(one.facts, device, by_line=False)
        if isinstance(job, Pass) and report.bound_class == "compute":
            # What computes that much is more than a pass over its bytes.
            return None
        if report.time_s is not None:
            found.append(Reachable(report.time_s, one.description))
    return min(found, key=lambda one: one.time_s, default=None)


def _candidates(job: Job, device: Device) -> Iterator[Candidate]:
    if isinstance(job, Product):
        return tiled_product.candidates(job, device)
    if isinstance(job, Attention):
        return attention.candidates(job, device)
    return single_pass.candidates(job, device)
