"""What one evaluation of the model costs, over sets of kernels.

    python tests/benchmarks/model.py [--device ID] [--set NAME INTERPRETER FOLDER]...

Measured are the kernels whose facts are in the repository, and all kernels of the files below each
folder (a checkout of tilelang's ``examples``, of TVM's ``tests/python``), traced by an interpreter
that has the framework.  Facts of folders are kept in the user's cache folder until a file below
them, or the worker, changes.

Times are processor time in milliseconds, the best of a few rounds.  Each is also given in turns of
a fixed loop that runs right before and after it, which holds on a busy machine: ``evaluation`` is
of a kernel that the model has never seen (all that its functions remember is forgotten first),
``what-if`` one that reuses the counts.  GEMMs are told by their names.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import gzip
import hashlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "server"))

from tirlens import pipeline, source, worker_client  # noqa: E402
from tirlens.collector import scan_new_objects_only  # noqa: E402
from tirlens.hardware import Device, load  # noqa: E402
from tirlens.model import analyze, count_workload  # noqa: E402
from tirlens_worker.codec import from_json, to_json  # noqa: E402
from tirlens_worker.facts import KernelFacts  # noqa: E402

CACHE = user_cache_path("tirlens-test") / "facts"
ROUNDS = 3
LOOP_TURNS = 3000
# What variables without a size are bound to.
SIZE = 4096
SHOWN = 4

Kernels = Sequence[tuple[str, KernelFacts]]


@dataclass(frozen=True)
class Cost:
    """Milliseconds of processor time, and the same in turns of the fixed loop."""

    ms: float
    loops: float


@dataclass(frozen=True)
class Row:
    """One kernel: its evaluation, and a what-if that reuses its counts."""

    name: str
    whole: Cost
    what_if: Cost

    @property
    def is_gemm(self) -> bool:
        name = self.name.lower()
        return "gemm" in name or "matmul" in name


def measured_kernels() -> Iterator[tuple[str, Kernels]]:
    """Each set of facts in the repository."""
    for path in sorted((ROOT / "tests/measured/facts").glob("*.json.gz")):
        content: list[dict[str, Any]] | dict[str, list[dict[str, Any]]]
        content = json.loads(gzip.decompress(path.read_bytes()))
        items = content["facts"] if isinstance(content, dict) else content
        kernels = [from_json(KernelFacts, item.get("facts", item)) for item in items]
        yield path.name.split(".")[0], [(facts.definition, facts) for facts in kernels]


def kernels_below(folder: Path, python: str) -> Kernels:
    """Every kernel that the files below a folder have with the arguments that they give."""
    paths = sorted(folder.rglob("*.py"))
    key = hashlib.sha256(str(python).encode())
    for path in (*paths, *sorted((ROOT / "server/tirlens_worker").rglob("*.py"))):
        key.update(str(path).encode() + path.read_bytes())
    kept = CACHE / f"{key.hexdigest()[:16]}.json.gz"
    if not kept.exists():
        found = asyncio.run(_traced(paths, python))
        CACHE.mkdir(parents=True, exist_ok=True)
        kept.write_bytes(gzip.compress(json.dumps(found).encode()))
    content: list[tuple[str, Any]] = json.loads(gzip.decompress(kept.read_bytes()))
    return [(name, from_json(KernelFacts, item)) for name, item in content]


async def _traced(paths: Sequence[Path], python: str) -> list[tuple[str, Any]]:
    found: list[tuple[str, Any]] = []
    client = worker_client.WorkerClient(worker_client.find_interpreter(paths[0], setting=python))
    options = pipeline.Options(time_limit_s=30.0)
    try:
        for path in paths:
            text = path.read_text(encoding="utf-8", errors="replace")
            kernels = source.read(text)
            if kernels.kernels:
                request = pipeline.analysis_request(1, str(path), text, kernels, options)
                result = await client.analyze(request)
                found += [
                    (f"{path.name}:{item.definition}", to_json(item)) for item in result.kernels
                ]
    finally:
        await client.close()
    return found


def loop_ms() -> float:
    """One turn of a loop over what the model is made of: tuples, their hashes, dictionaries."""
    started = time.process_time()
    table: dict[tuple[Any, ...], int] = {}
    for number in range(LOOP_TURNS):
        key = (number % 97, "x", (number % 7,))
        table[key] = table.get(key, 0) + number
    return 1e3 * (time.process_time() - started)


def forget() -> None:
    """Empty the caches of the model's and the counting library's functions."""
    for name, module in list(sys.modules.items()):
        if name.startswith(("tirlens.model", "tirlens_counting")):
            for value in vars(module).values():
                if hasattr(value, "cache_clear"):
                    value.cache_clear()


def best(action: Callable[[], object], before: Callable[[], None] = lambda: None) -> Cost:
    """The least of a few rounds: another process may take the core for a while."""
    costs: list[Cost] = []
    for _ in range(ROUNDS):
        before()
        loop = loop_ms()
        started = time.process_time()
        action()
        ms = 1e3 * (time.process_time() - started)
        costs.append(Cost(ms, 2 * ms / (loop + loop_ms())))
    return Cost(min(cost.ms for cost in costs), min(cost.loops for cost in costs))


def measure(name: str, facts: KernelFacts, device: Device) -> Row:
    bindings = {variable.name: SIZE for variable in facts.variables} | dict(facts.sizes)
    known = count_workload(facts, bindings)
    return Row(
        name,
        best(lambda: analyze(facts, device, bindings), forget),
        best(lambda: analyze(facts, device, bindings, known)),
    )


HEADER = (
    f"{'':24} {'kernels':>7}   {'evaluation, ms':>22}   {'in turns of the loop':>22}"
    f"   {'what-if':>8}\n{'':24} {'':7}   {'median':>7}{'p95':>7}{'worst':>8}"
    f"   {'median':>7}{'p95':>7}{'worst':>8}   {'median':>8}"
)


def line(title: str, rows: Sequence[Row]) -> str:
    """One line of the table."""
    ms = _spread([row.whole.ms for row in rows])
    loops = _spread([row.whole.loops for row in rows])
    what_if = _spread([row.what_if.ms for row in rows])
    return (
        f"{title:24} {len(rows):7}   {ms[0]:7.1f}{ms[1]:7.1f}{ms[2]:8.1f}"
        f"   {loops[0]:7.1f}{loops[1]:7.1f}{loops[2]:8.1f}   {what_if[0]:8.1f}"
    )


def _spread(values: Sequence[float]) -> tuple[float, float, float]:
    """Median, 95th percentile and worst."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return ordered[last // 2], ordered[int(0.95 * last)], ordered[last]


def show(sets: Mapping[str, Kernels], device: Device) -> None:
    print(HEADER)
    everything: list[Row] = []
    slowest: list[str] = []
    for title, kernels in sets.items():
        rows = [measure(name, facts, device) for name, facts in kernels]
        everything += rows
        print(line(title, rows), flush=True)
        worst = sorted(rows, key=lambda row: -row.whole.ms)[:SHOWN]
        slowest.append(f"{title}: " + ", ".join(f"{r.whole.ms:.1f} {r.name}" for r in worst))
    gemms = [row for row in everything if row.is_gemm]
    if gemms:
        print(line("GEMMs of all sets", gemms))
    print(
        f"\none turn of the loop: {min(loop_ms() for _ in range(20)):.2f} ms at best\nslowest, ms"
    )
    print("\n".join(slowest))


def main(arguments: argparse.Namespace) -> None:
    sets = dict(measured_kernels())
    for name, python, folder in arguments.set:
        sets[name] = kernels_below(Path(folder), python)
    # The garbage collector looks through all of them otherwise; an editor has a few kernels.
    gc.collect()
    scan_new_objects_only()
    show({title: kernels for title, kernels in sets.items() if kernels}, load(arguments.device))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument(
        "--set", nargs=3, action="append", default=[], metavar=("NAME", "INTERPRETER", "FOLDER")
    )
    parser.add_argument("--device", default="h200")
    main(parser.parse_args())
