"""Milliseconds of one analysis for each kernel of the measured facts: median, worst, slowest five.

python tests/benchmarks/model.py [DEVICE]
"""

from __future__ import annotations

import gzip
import json
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "server"))

from tirlens.hardware import load  # noqa: E402
from tirlens.model import analyze  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

ROUNDS = 3


def main(arguments: list[str]) -> None:
    device = load(arguments[0] if arguments else "h200")
    content = json.loads(
        gzip.decompress((ROOT / "tests/measured/facts/h200_tileops.json.gz").read_bytes())
    )
    kernels = [from_json(KernelFacts, item) for item in content["facts"]]
    analyze(kernels[0], device)
    times: list[tuple[float, str]] = []
    for facts in kernels:
        # The best of a few rounds: another process may take the core for a while.
        best = float("inf")
        for _ in range(ROUNDS):
            started = time.perf_counter()
            analyze(facts, device)
            best = min(best, 1e3 * (time.perf_counter() - started))
        times.append((best, facts.definition))
    times.sort(reverse=True)
    for milliseconds, name in times[:5]:
        print(f"{milliseconds:8.2f} ms  {name}")
    median = statistics.median(milliseconds for milliseconds, _ in times)
    print(f"{median:8.2f} ms  median of {len(times)}, {times[0][0]:.2f} ms worst")


if __name__ == "__main__":
    main(sys.argv[1:])
