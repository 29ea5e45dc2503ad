"""What one evaluation of the model costs, over sets of kernels.

    python tests/benchmarks/model.py [--device ID] [--python INTERPRETER FOLDER...]

Without folders: the measured kernels, whose facts are in the repository.  With folders (a checkout
of tilelang's ``examples``, of TVM's ``tests/python``): all kernels of the files below each of them,
traced by an interpreter that has the framework.

For each set, in milliseconds of processor time: the median, the 95th percentile and the worst of
whole evaluations, and the medians of counting alone, of a what-if that reuses the counts, and of
a bare walk over the facts, which says how fast the machine is.  Memory is the most that one
evaluation holds at once.
"""

from __future__ import annotations

import argparse
import asyncio
import gzip
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "server"))

from tirlens import pipeline, source, worker_client  # noqa: E402
from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze, count_all  # noqa: E402
from tirlens_worker.codec import from_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

ROUNDS = 3
# What variables without a size are bound to.
SIZE = 4096


@dataclass(frozen=True)
class Row:
    """One kernel: milliseconds, and the bytes of the peak of its evaluation."""

    name: str
    whole_ms: float
    count_ms: float
    what_if_ms: float
    walk_ms: float
    peak_bytes: int


def measured_kernels() -> list[tuple[str, KernelFacts]]:
    path = ROOT / "tests/measured/facts/h200_tileops.json.gz"
    content = json.loads(gzip.decompress(path.read_bytes()))
    kernels = [from_json(KernelFacts, item) for item in content["facts"]]
    return [(facts.definition, facts) for facts in kernels]


async def kernels_below(folder: Path, python: str) -> list[tuple[str, KernelFacts]]:
    """Every kernel that the files below a folder have with the arguments that they give."""
    found: list[tuple[str, KernelFacts]] = []
    paths = sorted(folder.rglob("*.py"))
    client = worker_client.WorkerClient(worker_client.find_interpreter(paths[0], setting=python))
    options = pipeline.Options(time_limit_s=30.0)
    try:
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")
            kernels = source.read(text)
            if kernels.kernels:
                request = pipeline.request(1, str(path), text, kernels, options)
                result = await client.analyze(request)
                found += [(f"{path.name}:{item.definition}", item) for item in result.kernels]
    finally:
        await client.close()
    return found


def best_ms(action: Callable[[], object]) -> float:
    """The least of a few rounds: another process may take the core for a while."""
    best = float("inf")
    for _ in range(ROUNDS):
        started = time.process_time()
        action()
        best = min(best, 1e3 * (time.process_time() - started))
    return best


def walk(value: Any) -> Iterator[Any]:
    """Everything in the facts, once."""
    yield value
    if isinstance(value, tuple):
        for item in value:
            yield from walk(item)
    elif is_dataclass(value):
        for item in fields(value):
            yield from walk(getattr(value, item.name))


def measure(name: str, facts: KernelFacts, device: Device) -> Row:
    bindings = {variable.name: SIZE for variable in facts.variables} | dict(facts.sizes)
    known = count_all(facts, bindings)
    tracemalloc.start()
    analyze(facts, device, bindings)
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return Row(
        name,
        best_ms(lambda: analyze(facts, device, bindings)),
        best_ms(lambda: count_all(facts, bindings)),
        best_ms(lambda: analyze(facts, device, bindings, known)),
        best_ms(lambda: sum(1 for _ in walk(facts.body))),
        peak_bytes,
    )


def show(title: str, rows: Sequence[Row]) -> None:
    def median(values: Iterator[float]) -> float:
        return statistics.median(values)

    whole = sorted(row.whole_ms for row in rows)
    worst = max(rows, key=lambda row: row.whole_ms)
    largest = max(rows, key=lambda row: row.peak_bytes)
    bare = median(row.walk_ms for row in rows)
    print(f"{title}: {len(rows)} kernels")
    print(
        f"  evaluation  median {median(iter(whole)):8.2f} ms"
        f"  p95 {whole[int(0.95 * (len(whole) - 1))]:8.2f} ms"
        f"  worst {worst.whole_ms:8.2f} ms  {worst.name}"
    )
    for label, value in (
        ("counting", median(row.count_ms for row in rows)),
        ("what-if", median(row.what_if_ms for row in rows)),
        ("bare walk", bare),
    ):
        print(f"  {label:11} median {value:8.2f} ms  {value / bare:8.1f} x the bare walk")
    ratio = median(row.whole_ms / row.walk_ms for row in rows if row.walk_ms)
    print(f"  evaluation  {ratio:.1f} x the bare walk of the same kernel, at the median")
    print(f"  memory      {largest.peak_bytes / 1e6:.1f} MB at the most  {largest.name}")
    slowest = sorted(rows, key=lambda row: -row.whole_ms)[1:5]
    print("  next        " + ", ".join(f"{row.whole_ms:.1f} {row.name}" for row in slowest))


def main(arguments: argparse.Namespace) -> None:
    device = load(arguments.device)
    sets: list[tuple[str, list[tuple[str, KernelFacts]]]] = []
    for folder in map(Path, arguments.folder):
        sets.append((str(folder), asyncio.run(kernels_below(folder, arguments.python))))
    for title, kernels in sets or [("measured", measured_kernels())]:
        if kernels:
            show(title, [measure(name, facts, device) for name, facts in kernels])


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="*")
    parser.add_argument("--python", help="interpreter with the framework, for folders")
    parser.add_argument("--device", default="h200")
    main(parser.parse_args())
