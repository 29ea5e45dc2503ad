"""How long a save takes in real packages, whose kernels' files import much of a library.

    python tests/benchmarks/package_saves.py PYTHON FILE... [--rounds N]

``PYTHON`` is an interpreter with the framework and what the package imports.  Each file is opened
in a server of its own; then a line of its first kernel is edited (``--all-kernels``: of each) and
the file is saved, ``--rounds`` times.  ``cold`` is the time from the opening to the first result,
and ``p50`` and ``p95`` are times from a save to its result.  ``cpu`` is the median of the processor
time that the server and its workers take for a save, which a busy machine prolongs less.  No file
is written.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import os
import sys
import time
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parents[1]))

from support.responses import quantile
from support.rpc import Client

_LIMIT_S = 120
# Between the last key and the save; a debounced reading of the text fits in.
_PAUSE_S = 0.3
# After a result, as a person looks at it.
_LOOK_S = 1.0


def edited(text: str, number: int, is_each: bool = False) -> str:
    """`text` with other statements without effect at the start of the first kernel's body, or of
    each one's."""
    lines = text.splitlines(keepends=True)
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.With) and "T.Kernel(" in (ast.unparse(node.items[0])):
            first = node.body[0]
            at = first.lineno - 1
            lines[at] = " " * first.col_offset + "; ".join(["pass"] * number) + "\n" + lines[at]
            if not is_each:
                break
    return "".join(lines)


def processor_s(process: psutil.Process) -> float:
    """The processor time of a process and all its descendants, also of those that have ended."""
    total_s = 0.0
    for item in (process, *process.children(recursive=True)):
        with contextlib.suppress(psutil.NoSuchProcess):
            total_s += sum(item.cpu_times()[:4])
    return total_s


def saves(
    python: str, file: Path, options: argparse.Namespace
) -> tuple[float, list[float], list[float]]:
    """The seconds from the opening of `file` to its result, and from each save."""
    text = file.read_text()
    with Client() as client:
        client.initialize(trusted=True, interpreter=python, settings={"timeout": options.timeout})
        began = time.perf_counter()
        uri = client.open(file)
        client.wait_ready(uri, timeout_s=_LIMIT_S)
        cold_s = time.perf_counter() - began
        found: list[float] = []
        processor: list[float] = []
        server = psutil.Process(client.process.pid)
        for number in range(options.rounds):
            time.sleep(_LOOK_S)
            ready = client.states(uri).count("ready")
            client.replace(uri, number + 2, edited(text, number + 1, options.all_kernels))
            time.sleep(_PAUSE_S)
            used_s = processor_s(server)
            began = time.perf_counter()
            client.save(uri)
            client.wait_ready(uri, ready + 1, timeout_s=_LIMIT_S)
            found.append(time.perf_counter() - began)
            processor.append(processor_s(server) - used_s)
    return cold_s, found, processor


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("python")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--all-kernels", action="store_true", help="edit each kernel of the file")
    parser.add_argument("--timeout", type=float, default=60, help="seconds of one analysis")
    options = parser.parse_args()
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores; seconds")
    print(f"{'cold':>7} {'p50':>7} {'p95':>7} {'cpu':>7}")
    for file in options.files:
        cold_s, found, processor = saves(options.python, file.absolute(), options)
        p50, p95 = quantile(found, 0.5), quantile(found, 0.95)
        cpu = quantile(processor, 0.5)
        print(f"{cold_s:7.2f} {p50:7.2f} {p95:7.2f} {cpu:7.2f}  {file}", flush=True)


if __name__ == "__main__":
    main()
