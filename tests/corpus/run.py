"""Analyse every kernel file of a source tree and say what came of it.

    python tests/corpus/run.py --python INTERPRETER FOLDER... [--json FILE] [--limit N]

Point it at a checkout of a real project (tilelang's ``examples`` and ``benchmark``, TVM's
``tests/python``) and at an interpreter that has the framework.  It prints, for the tree: files,
kernels found, kernels with numbers by the source of their arguments, kernels that need bindings or
arguments, kernels that failed, and the ten most frequent reasons.  The exit status is 1 if the
worker or the model raised where it must not, or a report does not add up.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import json
import math
import re
import sys
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from tirlens import pipeline, source, worker_client
from tirlens.model.report import BreakdownEntry, KernelReport


@dataclass
class Tally:
    """What happened over all files so far."""

    files: int = 0
    files_with_kernels: int = 0
    files_with_numbers: int = 0
    found: int = 0
    by_status: collections.Counter[str] = field(default_factory=collections.Counter)
    by_source: collections.Counter[str] = field(default_factory=collections.Counter)
    unknown: collections.Counter[str] = field(default_factory=collections.Counter)
    reasons: collections.Counter[str] = field(default_factory=collections.Counter)
    caveats: collections.Counter[str] = field(default_factory=collections.Counter)
    raised: list[str] = field(default_factory=list)
    seconds: list[tuple[float, str]] = field(default_factory=list)
    silent: list[str] = field(default_factory=list)


async def main(arguments: argparse.Namespace) -> int:
    roots = [Path(folder).absolute() for folder in arguments.folder]
    paths = sorted(path for root in roots for path in _python_files(root))
    tally = Tally()
    interpreter = worker_client.find_interpreter(paths[0], setting=arguments.python)
    client = worker_client.WorkerClient(interpreter)
    records: list[dict[str, object]] = []
    try:
        for number, path in enumerate(paths[: arguments.limit]):
            print(f"\r{number + 1}/{len(paths)} {path.name[:60]:60}", end="", file=sys.stderr)
            try:
                records.append(await _one_file(client, path, arguments, tally))
            except Exception:
                tally.raised.append(f"{path}: {traceback.format_exc(limit=-4)}")
    finally:
        await client.close()
    print(file=sys.stderr)
    _print(tally)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(records, indent=1))
    return 1 if tally.raised else 0


def _python_files(root: Path) -> list[Path]:
    return [root] if root.is_file() else sorted(root.rglob("*.py"))


async def _one_file(
    client: worker_client.WorkerClient, path: Path, arguments: argparse.Namespace, tally: Tally
) -> dict[str, object]:
    text = path.read_text(encoding="utf-8", errors="replace")
    tally.files += 1
    found = source.read(text, path)
    if not found.kernels:
        return {"file": str(path), "found": 0}
    tally.files_with_kernels += 1
    tally.found += len(found.kernels)
    options = pipeline.Options(device=arguments.device, time_limit_s=arguments.timeout)
    began = time.perf_counter()
    result = await client.analyze(pipeline.analysis_request(1, str(path), text, found, options))
    traced = time.perf_counter()
    report = pipeline.file_report(found, result, options)
    modelled = time.perf_counter()
    tally.seconds.append((modelled - began, path.name))
    answered = set()
    for kernel in report.kernels:
        answered.add(kernel.definition)
        tally.by_status[kernel.status] += 1
        tally.raised += [f"{path}: {kernel.name}: {broken}" for broken in _broken_rules(kernel)]
        if kernel.status == "ok":
            tally.by_source[kernel.call_source] += 1
            for name in ("flop", "global_bytes", "compulsory_bytes", "time_s", "bound"):
                value = getattr(kernel, name)
                if value is None or getattr(value, "total", 0) is None:
                    tally.unknown[name] += 1
        else:
            tally.reasons[_shape(f"{kernel.status}: {kernel.message or kernel.needs}")] += 1
        tally.caveats.update({_shape(caveat.message) for caveat in kernel.caveats})
    for needs in report.needs:
        answered.add(needs.kernel)
        tally.by_status["needs-arguments"] += 1
        tally.reasons[_shape(f"needs arguments: {needs.reason}")] += 1
    for problem in report.problems:
        if problem.kernel is not None:
            answered.add(problem.kernel)
            tally.by_status["failed"] += 1
        tally.reasons[_shape(f"{problem.kind}: {problem.message}")] += 1
    tally.files_with_numbers += any(kernel.status == "ok" for kernel in report.kernels)
    tally.silent += [
        f"{path}: {kernel.name}" for kernel in found.kernels if kernel.name not in answered
    ]
    return {
        "file": str(path),
        "found": len(found.kernels),
        "trace_s": traced - began,
        "model_s": modelled - traced,
        "kernels": [[k.name, k.status, k.call, k.call_source, k.flop] for k in report.kernels],
        "needs": [[n.kernel, *n.names, n.reason] for n in report.needs],
        "problems": [[p.kernel, p.kind, p.message, p.detail[-1500:]] for p in report.problems],
    }


def _broken_rules(report: KernelReport) -> list[str]:
    """The rules of the JSON that the report does not keep."""
    broken = []
    for what, total, parts in (
        ("time_s", report.time_s, [cost.time_s for cost in report.loops]),
        ("flop", report.flop, [cost.flop for cost in report.loops]),
        ("global_bytes", report.global_bytes.total, [cost.global_bytes for cost in report.loops]),
    ):
        if total is None or None in parts:
            continue
        if not math.isclose(total, sum(part or 0 for part in parts), rel_tol=1e-9, abs_tol=1e-15):
            broken.append(f"{what} is {total} and its parts add up to {parts}")
    for cost in _all(report.loops):
        if cost.span.line < 1 or cost.span.column < 0:
            broken.append(f"{cost.label} stands at {cost.span}")
        if cost.time_s is not None and not cost.time_s >= 0:
            broken.append(f"{cost.label} takes {cost.time_s} s")
        for what in ("time_s", "flop", "global_bytes"):
            inside = [getattr(child, what) for child in cost.children]
            whole = getattr(cost, what)
            if whole is None or None in inside or not inside:
                continue
            if sum(inside) > whole * (1 + 1e-9) + 1e-15:
                broken.append(f"{what} of {cost.label} is less than that of its parts")
    return broken


def _all(costs: tuple[BreakdownEntry, ...]) -> Iterator[BreakdownEntry]:
    for cost in costs:
        yield cost
        yield from _all(cost.children)


def _shape(message: str) -> str:
    """The message with names and numbers taken out, so that like reasons add up."""
    first = message.strip().splitlines()[0] if message.strip() else "(no message)"
    return re.sub(r"\d+", "#", re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", first))[:110]


def _print(tally: Tally) -> None:
    def row(name: str, value: object) -> None:
        print(f"{name:34} {value}")

    row("files", tally.files)
    row("  with kernels in their text", tally.files_with_kernels)
    share = tally.files_with_numbers / max(1, tally.files_with_kernels)
    row("  of these with numbers", f"{tally.files_with_numbers} ({share:.1%})")
    row("kernels found", tally.found)
    for status, count in tally.by_status.most_common():
        row(f"  {status}", count)
    row("analysed, by source of arguments", dict(tally.by_source.most_common()))
    row("ok, but the figure is unknown", dict(tally.unknown.most_common()))
    row("found, with neither word nor number", len(tally.silent))
    slowest = sorted(tally.seconds, reverse=True)[:5]
    row("slowest files", ", ".join(f"{name} {s:.1f} s" for s, name in slowest))
    for title, counter in (("reasons", tally.reasons), ("caveats", tally.caveats)):
        print(f"ten most frequent {title}:")
        for message, count in counter.most_common(10):
            print(f"  {count:5}  {message}")
    for text in tally.raised:
        print(f"RAISED {text}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--python", required=True, help="interpreter with the framework")
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--limit", type=int, default=None)
    parser.add_argument("--json", help="write one record a file here")
    sys.exit(asyncio.run(main(parser.parse_args())))
