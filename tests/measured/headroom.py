"""What the library of structures reaches beside the fastest measured kernel of each job.

    python tests/measured/headroom.py [EVERY]

Prints, by family, how many jobs there are and the quartiles of the reachable time over the fastest
measured one. Of the passes one in `EVERY` is evaluated. Below 1 no kernel that was measured is as
fast as the structure, above 1 one of them is faster.
"""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import quantiles

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE.parents[1] / "server")]

from measured.predict import FILES, MOST_HARNESS  # noqa: E402
from measured.tables import board, measurements  # noqa: E402
from tirlens.headroom import reachable  # noqa: E402
from tirlens.headroom.job import Job, Pass, job_of  # noqa: E402
from tirlens.model import Workload, workload_of  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402


@dataclass(frozen=True)
class Reach:
    """The fastest measured kernel of a job on a device, and the reachable time over its time."""

    family: str
    device: str
    job: Job
    measured_s: float
    ratio: float


def reaches(every: int = 1) -> Iterator[Reach]:
    """The jobs of one launch, on GPUs, that were measured with little of a harness."""
    fastest: dict[tuple[str, Job], tuple[float, str, Workload]] = {}
    for name in FILES:
        book = json.loads(gzip.decompress((HERE / "facts" / f"{name}.json.gz").read_bytes()))
        table = measurements(book["table"])
        facts = [from_json(KernelFacts, item) for item in book["facts"]]
        for entry in book["rows"]:
            row = table.get(entry["row"])
            # The alternatives of a library's kernel differ in their tiles.
            launches = entry["alternatives"][0]
            if row is None or len(launches) != 1:
                continue
            if row.harness_s > MOST_HARNESS * row.measured_s:
                continue
            workload = workload_of(facts[launches[0]], entry.get("bindings", {}))
            if workload is None or (job := job_of(workload)) is None:
                continue
            found = (row.measured_s - row.harness_s, row.family, workload)
            known = fastest.get((row.device_id, job), found)
            fastest[row.device_id, job] = min(found, known, key=lambda one: one[0])
    passes = 0
    for (device, job), (measured_s, family, workload) in fastest.items():
        if isinstance(job, Pass):
            passes += 1
            if passes % every:
                continue
        found = reachable(workload, board(device))
        if found is not None:
            yield Reach(family, device, job, measured_s, found.time_s / measured_s)


def main(every: int) -> None:
    by_family: dict[str, list[float]] = {}
    for one in reaches(every):
        by_family.setdefault(one.family, []).append(one.ratio)
    for family, ratios in sorted(by_family.items()):
        middle = quantiles(ratios, n=4) if len(ratios) > 1 else ratios * 3
        print(f"{family:<36} {len(ratios):>5}", *(f"{value:6.2f}" for value in middle))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
