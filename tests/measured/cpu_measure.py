"""Compile the kernels of `cpu_kernels` with TVM's LLVM, time them here, and write the table.

    python tests/measured/cpu_measure.py OUTPUT_STEM [--facts] [FAMILY ...]

Runs in an environment with tvm; set TVM_NUM_THREADS to the number of cores, of which TVM otherwise
takes half on x86. Writes ``OUTPUT_STEM.json.gz``, the facts of each kernel with its measured time.
The time is the least of many repeats with warm caches, so that what else runs on the machine
disturbs it little. Kernels of an earlier run are kept with the lesser of both times and what each
run gave; with ``--facts`` nothing runs, and only the facts of the table's kernels are made anew.
"""

from __future__ import annotations

import gzip
import importlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[1] / "server"), str(HERE)]

import numpy as np  # noqa: E402
import tvm  # noqa: E402

from tirlens_worker.codec import to_json  # noqa: E402
from tirlens_worker.facts import KernelFacts, Span  # noqa: E402
from tirlens_worker.frameworks.benchmarking.calibration.cpu import real_time_priority  # noqa: E402
from tirlens_worker.frameworks.extract import extract  # noqa: E402

FAMILIES = (
    *("matmul", "convolution", "stencil", "reduction", "elementwise", "layout", "held_out"),
    *("operators", "windows", "products", "programs", "everyday"),
    *("contractions", "sweeps", "layers", "numerics", "formats", "solvers"),
    *("textbook", "staples"),
)
# A repeat is long enough for the clock; together they are over before others miss the processor.
REPEAT_S = 1e-4
REPEATS = 200
LONGEST_S = 0.12


def host() -> Any:
    """The target for this machine, as a user would write it to get its vector instructions."""
    cpu = tvm.get_global_func("target.llvm_get_system_cpu")()
    return tvm.target.Target({"kind": "llvm", "mcpu": cpu})


def facts_of(func: Any, name: str) -> KernelFacts:
    facts = extract(
        func, definition=name, span=Span(1, 0, 1, 0), call=name, call_source="module-level"
    )
    # The analysis asks for neither the lines nor the version; without them the table is small.
    return replace(facts, framework_version="")


def arguments(func: Any, facts: KernelFacts) -> list[Any]:
    """Random arrays; integers stay small, so that they are valid indices of any table.

    A function with larger tables says in its attribute ``indices_below`` how many they have.
    """
    random = np.random.default_rng(0)
    below = int(func.attrs.get("indices_below", 100))
    made: list[Any] = []
    for buffer in facts.buffers:
        if buffer.is_parameter:
            shape = tuple(int(size) for size in buffer.shape)
            if buffer.dtype.startswith("float"):
                data = random.random(shape).astype(buffer.dtype)
            else:
                data = random.integers(0, below, shape).astype(buffer.dtype)
            made.append(tvm.runtime.tensor(data))
    return made


def seconds(func: Any, facts: KernelFacts, target: Any) -> float:
    """The least time of one call with warm caches."""
    inner = tvm.compile(func, target=target).mod
    name = str(func.attrs["global_symbol"])
    given = arguments(func, facts)
    once = inner.time_evaluator(name, tvm.cpu(), number=1, repeat=2)(*given).min
    with real_time_priority():
        repeats = max(2, min(REPEATS, int(LONGEST_S / max(once, REPEAT_S))))
        number = max(1, int(REPEAT_S / max(once, 1e-8)))
        timer = inner.time_evaluator(name, tvm.cpu(), number=number, repeat=repeats)
        return min(timer(*given).results)


def kernels() -> Iterator[tuple[str, str, str, Any]]:
    for family in FAMILIES:
        for workload, schedule, func in importlib.import_module(f"cpu_kernels.{family}").kernels():
            yield family, workload, schedule, func


def main(stem: str, *options: str) -> None:
    only_facts = "--facts" in options
    families = [option for option in options if option != "--facts"]
    path = Path(f"{stem}.json.gz")
    table: dict[str, Any] = {}
    if path.exists():
        for row in json.loads(gzip.decompress(path.read_bytes())):
            table[f"{row['workload']} | {row['schedule']}"] = row
    target = host()
    for family, workload, schedule, func in kernels():
        if families and family not in families:
            continue
        key = f"{workload} | {schedule}"
        if only_facts and key not in table:
            continue
        facts = facts_of(func, workload.split()[0])
        time_s = table[key]["time_s"] if only_facts else seconds(func, facts, target)
        before = table.get(key, {})
        runs = before.get("runs_s", []) if only_facts else [*before.get("runs_s", []), time_s]
        table[key] = {
            "family": family,
            "workload": workload,
            "schedule": schedule,
            "time_s": min(before.get("time_s", time_s), time_s),
            "runs_s": runs,
            "facts": to_json(facts),
        }
        print(f"{time_s * 1e6:12.2f} us  {key}", flush=True)
    text = json.dumps(list(table.values()), separators=(",", ":"))
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main(*sys.argv[1:])
