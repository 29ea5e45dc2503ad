"""How many kernels of code bases get numbers without configuration, and where arguments come from.

    python tests/corpus/table.py --python INTERPRETER FOLDER... [--rows FILE.jsonl] [--sample N]

Every Python file with kernels below each folder is analysed as the command line does, with the
calls of its repository and without lowering. The table has for each folder: files with kernels and
with numbers, factories, kernels without an unknown figure, the sources of arguments, the reasons of
failures, and times. ``--rows`` stores a JSON object a file; a file that has one with the same text
is not analysed again, so that a run which was interrupted goes on. ``--again`` repeats those
whose kernels do not all have numbers, ``--all`` repeats all, ``--show`` prints the table of the
stored rows. Cold is the first analysis of a file by a running worker; warm is the analysis of the
text with one more line, of each file whose number is divisible by ``--warm-every``. A schedule
counts as one kernel, its last version.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import hashlib
import json
import random
import re
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tirlens import pipeline, source, worker_client
from tirlens.collector import scan_new_objects_only
from tirlens.hardware import load
from tirlens.model.report import KernelReport
from tirlens.pipeline import FileReport
from tirlens.repository import SearchClient, root_of, with_calls
from tirlens.source import SourceFile

Row = dict[str, Any]
_FIGURES = ("flop", "global_bytes", "time_s", "bound")
_KERNEL_WORDS = re.compile(r"prim_func|jit\b|ir_module|T\.Kernel")
_SHORTEST_S, _LONGEST_S = 2e-6, 50e-3


async def main(arguments: argparse.Namespace) -> None:
    # As the command line does.
    scan_new_objects_only()
    rows = _stored(arguments.rows)
    if not arguments.show:
        await _analyse(arguments, rows)
    for folder in arguments.folder:
        root = str(Path(folder).absolute())
        _print(folder, [row for path, row in rows.items() if path.startswith(root)])


async def _analyse(arguments: argparse.Namespace, rows: dict[str, Row]) -> None:
    roots = [Path(folder).absolute() for folder in arguments.folder]
    paths = [path for root in roots for path in _python_files(root) if _has_kernels(path)]
    if arguments.sample is not None and arguments.sample < len(paths):
        paths = sorted(random.Random(0).sample(paths, arguments.sample))
    interpreter = worker_client.find_interpreter(paths[0], setting=arguments.python)
    client = worker_client.WorkerClient(interpreter)
    searches = SearchClient()
    try:
        for number, path in enumerate(paths):
            text = _text(path)
            digest = hashlib.sha256(text.encode()).hexdigest()[:16]
            if not _is_wanted(rows.get(str(path)), digest, arguments):
                continue
            _say(f"\r{number + 1}/{len(paths)} {path.name[:60]:60}")
            is_warm = number % arguments.warm_every == 0
            row = await _row(client, searches, path, text, arguments, is_warm)
            rows[str(path)] = {"file": str(path), "digest": digest, **row}
            if arguments.rows:
                with Path(arguments.rows).open("a") as stream:
                    stream.write(json.dumps(rows[str(path)]) + "\n")
    finally:
        await client.close()
        _say("\n")


def _is_wanted(known: Row | None, digest: str, arguments: argparse.Namespace) -> bool:
    if known is None or known["digest"] != digest or arguments.all:
        return True
    return arguments.again and not _is_complete(known)


def _has_kernels(path: Path) -> bool:
    text = _text(path)
    if not _KERNEL_WORDS.search(text):
        return False
    return any(not kernel.off for kernel in source.read(text, path).kernels)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8", errors="replace")


async def _row(
    client: worker_client.WorkerClient,
    searches: SearchClient,
    path: Path,
    text: str,
    arguments: argparse.Namespace,
    is_warm: bool,
) -> Row:
    options = pipeline.Options(device=arguments.device, time_limit_s=arguments.timeout)

    async def analyse(text: str) -> tuple[FileReport, SourceFile, float, float]:
        began = time.perf_counter()
        found = _with_calls(searches, source.read(text, path), path)
        searched = time.perf_counter()
        request = pipeline.analysis_request(1, str(path), text, found, options)
        result = await client.analyze(request)
        report = pipeline.file_report(found, result, options, str(path))
        return report, found, searched - began, time.perf_counter() - began

    report, found, search_s, cold_s = await analyse(text)
    warm_s = (await analyse(text + "\n"))[3] if is_warm else None
    memory_bytes = load(arguments.device).dram.bytes
    kernels = [kernel for kernel in found.kernels if not kernel.off]
    reported = {kernel.definition for kernel in report.kernels}
    reported |= {item.kernel for item in report.problems if item.kernel}
    # Statements of compiler passes, which build kernels from what others pass to them.
    idle = [k for k in kernels if k.style == "built" and k.name not in reported]
    return {
        "found": [[kernel.name, kernel.span.line] for kernel in kernels if kernel not in idle],
        "idle": [[kernel.name, kernel.span.line] for kernel in idle],
        "kernels": [
            _kernel(kernel, memory_bytes) for kernel in report.kernels if kernel.is_last_version
        ],
        "needs": [[item.kernel, list(item.names), item.reason] for item in report.needs],
        "problems": [
            [item.kernel, item.kind, item.message, item.detail[-1500:]] for item in report.problems
        ],
        "search_s": search_s,
        "cold_s": cold_s,
        "warm_s": warm_s,
    }


def _with_calls(client: SearchClient, found: SourceFile, path: Path) -> SourceFile:
    root = root_of(path)
    if root is None:
        return found
    return with_calls(found, path, root, lambda targets: client.search(root, targets))


def _kernel(report: KernelReport, memory_bytes: int | None) -> Row:
    total = report.compulsory_bytes
    site = report.call_site
    return {
        "name": report.name,
        "definition": report.definition,
        "line": report.span.line,
        "status": report.status,
        "message": report.message,
        "needs": list(report.needs),
        "call": report.call,
        "source": report.call_source,
        "site": f"{site.file}:{site.line}" if site is not None else None,
        "bindings": dict(report.bindings),
        "flop": report.flop,
        "global_bytes": report.global_bytes.total,
        "compulsory_bytes": total,
        "time_s": report.time_s,
        "unknown": [name for name in _FIGURES if _value(report, name) is None],
        "exceeds_memory": total is not None and memory_bytes is not None and total > memory_bytes,
        "errors": [item.rule for item in report.advice if item.severity == "error"],
        "caveats": [item.message for item in report.caveats],
    }


def _value(report: KernelReport, name: str) -> object:
    value = getattr(report, name)
    return value.total if name == "global_bytes" else value


def _say(progress: str) -> None:
    if sys.stderr.isatty():
        print(progress, end="", file=sys.stderr, flush=True)


def _python_files(root: Path) -> list[Path]:
    return [root] if root.is_file() else sorted(p for p in root.rglob("*.py") if p.is_file())


def _stored(path: str | None) -> dict[str, Row]:
    if path is None or not Path(path).exists():
        return {}
    lines = Path(path).read_text().splitlines()
    return {row["file"]: row for row in map(json.loads, lines)}


def _is_complete(row: Row) -> bool:
    with_numbers = {kernel["definition"] for kernel in row["kernels"] if _is_whole(kernel)}
    return with_numbers == {name for name, _ in row["found"]}


def _is_whole(kernel: Row) -> bool:
    return kernel["status"] == "ok" and not kernel["unknown"]


# The table


def _print(folder: str, rows: list[Row]) -> None:
    def row(name: str, value: object) -> None:
        print(f"{name:46} {value}")

    all_rows = rows
    rows = [_without_empty(one) for one in rows]
    rows = [one for one in rows if one["found"]]
    kernels = [kernel for one in rows for kernel in one["kernels"]]
    names = [{name for name, _ in one["found"]} for one in rows]
    with_number = [
        {kernel["definition"] for kernel in one["kernels"] if kernel["status"] == "ok"}
        for one in rows
    ]
    traced = [{kernel["definition"] for kernel in one["kernels"]} for one in rows]
    pairs = list(zip(names, with_number, traced, strict=True))
    answered = sum(len(known & numbers) for known, numbers, _ in pairs)
    without = sum(len(known - reached) for known, _, reached in pairs)
    whole = sum(map(_is_whole, kernels))
    print(f"\n{folder}")
    row(
        "files with statements that were not called", sum(bool(one.get("idle")) for one in all_rows)
    )
    row("kernels that compute and move nothing", sum(map(_count_empty, all_rows)))
    row("files with other kernels", len(rows))
    row("  with numbers", _share(sum(map(bool, with_number)), len(rows)))
    row("factories and kernels in the text", sum(map(len, names)))
    row("  with numbers", _share(answered, sum(map(len, names))))
    row("kernels without an unknown", _share(whole, len(kernels) + without))
    row("source of arguments", _counts(kernel["source"] for kernel in kernels))
    guessed = [kernel for kernel in kernels if kernel["source"] == "assumed"]
    extreme = [k for k in kernels if k["time_s"] and not _SHORTEST_S <= k["time_s"] <= _LONGEST_S]
    row("  below 2 us or above 50 ms", _counts(kernel["source"] for kernel in extreme))
    row("  arrays beyond the device's memory", _exceeding(kernels))
    row("  with an error that an assumption caused", sum(bool(k["errors"]) for k in guessed))
    row("seconds cold, p50 and p95", _percentiles(one["cold_s"] for one in rows))
    row("  of these, search in the repository", _percentiles(one["search_s"] for one in rows))
    row("seconds warm", _percentiles(one["warm_s"] for one in rows if one["warm_s"] is not None))
    print("without numbers, by reason:")
    for reason, count in _reasons(rows).most_common(12):
        print(f"  {count:4}  {reason}")


def _without_empty(one: Row) -> Row:
    """A row without the kernels that compute and move nothing, which is what is said of them."""
    kept = [kernel for kernel in one["kernels"] if not _is_empty(kernel)]
    with_work = {kernel["definition"] for kernel in kept}
    empty = {kernel["definition"] for kernel in one["kernels"]} - with_work
    return {
        **one,
        "kernels": kept,
        "found": [pair for pair in one["found"] if pair[0] not in empty],
    }


def _count_empty(one: Row) -> int:
    return sum(map(_is_empty, one["kernels"]))


def _is_empty(kernel: Row) -> bool:
    return kernel["status"] == "no-time" and kernel["message"].startswith("it computes nothing")


def _exceeding(kernels: list[Row]) -> str:
    found = [kernel for kernel in kernels if kernel["exceeds_memory"]]
    silent = [k for k in found if not any("the arrays take" in text for text in k["caveats"])]
    return f"{len(found)}, without a word {len(silent)}"


def _reasons(rows: list[Row]) -> collections.Counter[str]:
    reasons: collections.Counter[str] = collections.Counter()
    for one in rows:
        for kernel in one["kernels"]:
            if kernel["status"] != "ok":
                reasons[_shape(f"{kernel['status']}: {kernel['message'] or kernel['needs']}")] += 1
            elif kernel["unknown"]:
                reasons[f"unknown {', '.join(kernel['unknown'])}"] += 1
        reasons.update(_shape(f"needs arguments: {reason}") for _, _, reason in one["needs"])
        reasons.update(_shape(f"{item[1]}: {item[2]}") for item in one["problems"] if item[0])
    return reasons


def _counts(values: Iterable[str]) -> str:
    counter = collections.Counter(values)
    return ", ".join(f"{name} {count}" for name, count in counter.most_common()) or "none"


def _share(count: int, of: int) -> str:
    return f"{count} of {of} ({count / max(of, 1):.1%})"


def _percentiles(values: Iterable[float]) -> str:
    known = sorted(values)
    if not known:
        return "not measured"
    return f"{known[len(known) // 2]:.2f}, {known[int(len(known) * 0.95)]:.2f} (of {len(known)})"


def _shape(message: str) -> str:
    """The message without names and numbers, so that like reasons add up."""
    first = message.strip().splitlines()[0] if message.strip() else "(no message)"
    return re.sub(r"\d+", "#", re.sub(r"'[^']*'|\"[^\"]*\"", "'...'", first))[:130]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="+")
    parser.add_argument("--python", help="interpreter with the framework")
    parser.add_argument("--device", default="h100-sxm")
    parser.add_argument("--timeout", type=float, default=60.0)
    parser.add_argument("--rows", help="a row for each file is stored here")
    parser.add_argument("--sample", type=int, help="analyse as many files, chosen at random")
    parser.add_argument("--warm-every", type=int, default=5)
    parser.add_argument("--again", action="store_true", help="repeat files without all numbers")
    parser.add_argument("--all", action="store_true", help="repeat all files")
    parser.add_argument("--show", action="store_true", help="analyse nothing")
    asyncio.run(main(parser.parse_args()))
