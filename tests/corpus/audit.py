"""Whether the arguments that TIRLens chooses are of a size that the code base itself uses.

    python tests/corpus/audit.py --python INTERPRETER --rows ROWS.jsonl --captured FILE.json

The rows are those of `table.py`: kernels analysed without configuration. The sizes that the code
base uses are independent of it: they are of calls that its own tests, benchmarks and programs make,
recorded by ``tirlens capture`` (a file of which the paths are relative to its folder, or to
``--root``). Of the kernels in both, a sample whose arguments come from the repository or are
assumed is compared: the FLOP or the bytes must be within a factor of 8 of those of a recorded call.
The exit status is 1 if fewer than 90 % are.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import random
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from tirlens import model, pipeline, source, worker_client
from tirlens.hardware import load

FACTOR = 8
LEAST_SHARE = 0.9
_MAX_CALLS = 5
_CHOSEN = ("repository", "assumed")


class Work(NamedTuple):
    """The operations of a kernel and the bytes that it moves."""

    flop: int | None
    global_bytes: int | None

    def ratio(self, other: Work) -> float | None:
        """The factor between two amounts of work, of FLOP or of bytes, the smaller one."""
        pairs = ((self.flop, other.flop), (self.global_bytes, other.global_bytes))
        factors = [max(a, b) / min(a, b) for a, b in pairs if a and b]
        return min(factors, default=None)


async def main(arguments: argparse.Namespace) -> int:
    rows = _latest(Path(path) for path in arguments.rows)
    recorded = _recorded([Path(path) for path in arguments.captured], arguments.root)
    chosen = [
        (row["file"], kernel)
        for row in rows.values()
        for kernel in row["kernels"]
        if kernel["source"] in _CHOSEN and (row["file"], kernel["definition"]) in recorded
    ]
    random.Random(0).shuffle(chosen)
    sample = chosen[: arguments.sample]
    client = worker_client.WorkerClient(
        worker_client.find_interpreter(Path(sample[0][0]), setting=arguments.python)
    )
    verdicts: dict[tuple[str, str, str], tuple[str, float | None]] = {}
    try:
        for file in sorted({file for file, _ in sample}):
            kernels = [kernel for path, kernel in sample if path == file]
            calls = {k["definition"]: recorded[file, k["definition"]] for k in kernels}
            used = await _work_of_calls(client, file, calls, arguments)
            for kernel in kernels:
                key = (file, kernel["definition"], kernel["name"])
                verdicts[key] = kernel["source"], _nearest(kernel, used)
    finally:
        await client.close()
    return _print(verdicts)


def _latest(paths: Iterable[Path]) -> dict[str, dict[str, Any]]:
    rows = (json.loads(line) for path in paths for line in path.read_text().splitlines())
    return {row["file"]: row for row in rows}


def _recorded(
    paths: list[Path], root: str | None
) -> dict[tuple[str, str], dict[str, Mapping[str, int]]]:
    """The recorded calls with their sizes by file and function, `_MAX_CALLS` of each at most."""
    found: dict[tuple[str, str], dict[str, Mapping[str, int]]] = {}
    for path in paths:
        folder = Path(root) if root else path.absolute().parent
        for kernel in json.loads(path.read_text())["kernels"]:
            calls = found.setdefault((str(folder / kernel["file"]), kernel["function"]), {})
            given = [call for call in kernel["calls"] if call["call"]]
            step = max(1, len(given) // _MAX_CALLS)
            calls |= {call["call"]: call.get("sizes", {}) for call in given[::step]}
    return found


async def _work_of_calls(
    client: worker_client.WorkerClient,
    file: str,
    calls: Mapping[str, Mapping[str, Mapping[str, int]]],
    arguments: argparse.Namespace,
) -> dict[tuple[str, str], list[Work]]:
    """The work of recorded calls by function and kernel."""
    text = Path(file).read_text(encoding="utf-8", errors="replace")
    sizes = {call: given for one in calls.values() for call, given in one.items()}
    options = pipeline.Options(arguments.device, calls=tuple(sizes), time_limit_s=120.0)
    request = pipeline.analysis_request(1, file, text, source.read(text), options)
    result = await client.analyze(request)
    device = load(arguments.device)
    found: dict[tuple[str, str], list[Work]] = collections.defaultdict(list)
    for facts in result.kernels:
        report = model.analyze(facts, device, sizes.get(facts.call, {}))
        work = Work(report.flop, report.global_bytes.total)
        found[facts.definition, facts.name].append(work)
        found[facts.definition, ""].append(work)
    return found


def _nearest(kernel: Mapping[str, Any], used: Mapping[tuple[str, str], list[Work]]) -> float | None:
    """The least factor between a kernel and the recorded calls of it."""
    own = Work(kernel["flop"], kernel["global_bytes"])
    definition, name = kernel["definition"], kernel["name"]
    works = used.get((definition, name)) or used.get((definition, ""), [])
    factors = [factor for work in works if (factor := own.ratio(work)) is not None]
    return min(factors, default=None)


def _print(verdicts: Mapping[tuple[str, str, str], tuple[str, float | None]]) -> int:
    compared = {key: (s, f) for key, (s, f) in verdicts.items() if f is not None}
    near = sum(factor <= FACTOR for _, factor in compared.values() if factor is not None)
    share = near / max(len(compared), 1)
    print(f"kernels compared: {len(compared)}, without comparable figures: "
          f"{len(verdicts) - len(compared)}")  # fmt: skip
    print(f"within a factor of {FACTOR} of a size that the code base uses: {near} ({share:.1%})")
    for origin in _CHOSEN:
        factors = [factor for source, factor in compared.values() if source == origin and factor]
        print(f"  {origin}: {sum(f <= FACTOR for f in factors)} of {len(factors)}")
    for (file, definition, _), (origin, factor) in sorted(compared.items()):
        if factor is not None and factor > FACTOR:
            print(f"  {factor:8.1f}  {origin:10}  {definition}  {file}")
    return 0 if share >= LEAST_SHARE else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--python", required=True, help="interpreter with the framework")
    parser.add_argument("--rows", nargs="+", required=True, help="rows of table.py")
    parser.add_argument("--captured", nargs="+", required=True, help="files of tirlens capture")
    parser.add_argument("--root", help="folder to which the files' paths are relative")
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("--sample", type=int, default=200)
    sys.exit(asyncio.run(main(parser.parse_args())))
