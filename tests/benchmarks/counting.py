"""Milliseconds to count each kernel of the facts files (JSON) given on the command line."""

from __future__ import annotations

import json
import statistics
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "server"))

from tirlens.model.counts import count
from tirlens_worker.codec import from_json
from tirlens_worker.facts import KernelFacts


def main(paths: list[str]) -> None:
    times: list[float] = []
    for path in paths:
        facts = from_json(KernelFacts, json.loads(Path(path).read_text("utf-8")))
        bindings = {variable.name: 4096 for variable in facts.variables}
        started = time.perf_counter()
        count(facts, bindings)
        times.append(1e3 * (time.perf_counter() - started))
        print(f"{times[-1]:9.2f} ms  {path}")
    if times:
        print(f"{statistics.median(times):9.2f} ms  median, {max(times):.2f} ms worst")


if __name__ == "__main__":
    main(sys.argv[1:])
