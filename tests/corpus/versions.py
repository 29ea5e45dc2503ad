"""What each version of a framework gives: kernels with numbers, and counts as of the newest.

    python tests/corpus/versions.py PYTHON... [--files FILE...] [--checkout FOLDER]

Each PYTHON is an interpreter with one framework, the newest version last.  The files, by default
those of ``tests/examples`` for the framework, are analysed with each.  With a checkout of the
framework's repository, some files of the folder ``examples`` at the tag of each version are, too,
with that version.  The table has for each version: kernels with numbers of kernels found, kernels
whose FLOP and bytes equal those of the newest version, the same for the files of its tag, and what
is said of the most frequent failure.
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import io
import random
import re
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from tirlens import pipeline, source, worker_client
from tirlens.pipeline import FileReport
from tirlens.worker_client import Interpreter

EXAMPLES = Path(__file__).parents[1] / "examples"
_KERNEL_WORDS = re.compile(r"prim_func|@tilelang\.jit|ir_module")
Counts = dict[tuple[str, str], tuple[int | None, int | None]]


@dataclass
class Outcome:
    """The kernels of some files in one version: counts by file and definition, and failures."""

    found: int = 0
    counts: Counts = field(default_factory=Counts)
    failures: collections.Counter[str] = field(default_factory=collections.Counter[str])

    def __str__(self) -> str:
        return f"{len(self.counts)} of {self.found}"


async def main(arguments: argparse.Namespace) -> None:
    found = [
        worker_client.find_interpreter(EXAMPLES / "any.py", setting=str(Path(path).absolute()))
        for path in arguments.python
    ]
    newest = found[-1]
    name = _framework(newest)[0]
    files = [Path(path) for path in arguments.files or sorted(EXAMPLES.glob(f"*_{name}.py"))]
    reference = await _analyse(newest, files)
    print("| version | kernels | equal counts | kernels of its tag | first reason |")
    print("|---|--:|--:|--:|---|")
    for interpreter in found:
        version = _framework(interpreter)[1]
        if interpreter.problem is not None:
            print(f"| {version or interpreter.path} | - | - | - | {interpreter.problem.message} |")
            continue
        own = reference if interpreter is newest else await _analyse(interpreter, files)
        equal = sum(reference.counts.get(key) == counts for key, counts in own.counts.items())
        tagged = await _tagged(interpreter, version, arguments) if arguments.checkout else None
        failures = own.failures + tagged.failures if tagged else own.failures
        reason = next((f"{text} ({count})" for text, count in failures.most_common(1)), "")
        row = version, own, f"{equal} of {len(own.counts)}", tagged or "-", reason
        print("| " + " | ".join(map(str, row)) + " |", flush=True)


def _framework(interpreter: Interpreter) -> tuple[str, str]:
    """The name and the version of the framework that is analysed."""
    versions = interpreter.frameworks
    name = "tilelang" if "tilelang" in versions else "tvm"
    return name, versions.get(name, "")


async def _analyse(interpreter: Interpreter, files: list[Path]) -> Outcome:
    outcome = Outcome()
    client = worker_client.WorkerClient(interpreter)
    try:
        for path in files:
            text = path.read_text(encoding="utf-8", errors="replace")
            read = source.read(text)
            options = pipeline.Options(device="h100-sxm", time_limit_s=120.0)
            request = pipeline.analysis_request(1, str(path), text, read, options)
            report = pipeline.file_report(read, await client.analyze(request), options, str(path))
            outcome.found += len(read.kernels)
            _add(outcome, path.name, report)
    finally:
        await client.close()
    return outcome


def _add(outcome: Outcome, file: str, report: FileReport) -> None:
    for kernel in report.kernels:
        if kernel.status == "ok":
            figures = kernel.flop, kernel.global_bytes.total
            outcome.counts[file, kernel.definition] = figures
        else:
            outcome.failures[_shape(kernel.message)] += 1
    outcome.failures.update(_shape(item.message) for item in report.problems if item.kernel)
    outcome.failures.update(_shape(needs.reason) for needs in report.needs)


def _shape(message: str) -> str:
    return message.strip().partition("\n")[0].replace("|", "/")[:160]


async def _tagged(
    interpreter: Interpreter, version: str, arguments: argparse.Namespace
) -> Outcome | None:
    """The outcome for some example files at the tag of `version`; None without such a tag."""
    git = ["git", "-C", arguments.checkout, "archive", f"v{version}", "examples"]
    archive = subprocess.run(git, capture_output=True, check=False)
    if archive.returncode:
        return None
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as tar:
            tar.extractall(folder, filter="data")
        paths = [
            path
            for path in sorted(Path(folder).rglob("*.py"))
            if _KERNEL_WORDS.search(path.read_text(encoding="utf-8", errors="replace"))
        ]
        sample = random.Random(0).sample(paths, min(arguments.sample, len(paths)))
        return await _analyse(interpreter, sample)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="What each version of a framework gives.")
    parser.add_argument("python", nargs="+", help="interpreters, the newest framework last")
    parser.add_argument("--files", nargs="+", help="files to analyse with each")
    parser.add_argument("--checkout", help="the framework's repository, with tags")
    parser.add_argument("--sample", type=int, default=20, help="example files of each tag")
    sys.exit(asyncio.run(main(parser.parse_args())))
