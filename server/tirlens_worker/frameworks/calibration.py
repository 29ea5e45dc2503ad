"""Small kernels whose times tell the rates of a CPU, compiled with the user's TVM.

``main`` reads sizes (JSON) and prints the least seconds of a step of each kernel (JSON).  What a
step is stands with each kernel; the server makes clocks and rates of them.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Dict, Generator, Iterator, List, Tuple

# Rounds lie seconds apart: what else the machine does for a while disturbs one of them at most.
ROUNDS = 5
REPEATS = 25
REPEAT_S = 2e-4


def main() -> None:
    """Measure with the sizes in the first argument and print the seconds."""
    sizes = json.loads(sys.argv[-1])
    os.environ.setdefault("TVM_NUM_THREADS", str(sizes["cores"]))
    print(json.dumps(measure(sizes)))


def measure(sizes: Dict[str, int]) -> Dict[str, float]:
    """The least seconds of a step, by kernel.

    `sizes` are ``cores``, ``lanes`` and ``vector`` (floats in the widest register and in the
    vectors that the compiler makes), ``l2``, ``l3``, ``dram``: bytes to read so that they come from
    there, ``pages N``: numbers of pages to look up, and ``last``, the size of the last cache;
    ``l3`` and ``last`` may be missing.
    """
    tvm: Any = importlib.import_module("tvm")
    host = tvm.get_global_func("target.llvm_get_system_cpu")
    target = tvm.target.Target({"kind": "llvm", "mcpu": str(host())})
    compiled = [
        (name, func, _module(tvm.compile(func, target=target)), steps)
        for name, func, steps in _kernels(sizes)
    ]
    found: Dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, func, module, steps in compiled:
            step_s = _seconds(tvm, func, module) / steps
            found[name] = min(step_s, found.get(name, step_s))
    return found


def _module(compiled: Any) -> Any:
    return getattr(compiled, "mod", compiled)


def _seconds(tvm: Any, func: Any, inner: Any) -> float:
    """The least time of one call of a compiled function; its arrays live no longer than that."""
    import numpy

    from . import dialect

    given: List[Any] = []
    for _, buffer in dialect.parameters(func):
        shape = tuple(int(size) for size in buffer.shape)
        value = 0.5 if "float" in str(buffer.dtype) else 1
        given.append(tvm.runtime.tensor(numpy.full(shape, value, str(buffer.dtype))))
    name = str(func.attrs["global_symbol"])
    once = inner.time_evaluator(name, tvm.cpu(), number=1, repeat=2)(*given).min
    number = max(1, int(REPEAT_S / max(once, 1e-8)))
    timer = inner.time_evaluator(name, tvm.cpu(), number=number, repeat=REPEATS)
    with first_in_line():
        return float(min(timer(*given).results))


@contextmanager
def first_in_line() -> Generator[None, None, None]:
    """Meanwhile no ordinary process takes the processor away, where the system grants that."""

    def schedule(policy: int, priority: int) -> None:
        for thread in Path("/proc/self/task").glob("*"):
            with suppress(OSError):
                os.sched_setscheduler(int(thread.name), policy, os.sched_param(priority))

    if not hasattr(os, "sched_setscheduler"):
        yield
        return
    schedule(os.SCHED_FIFO, 1)
    try:
        yield
    finally:
        schedule(os.SCHED_OTHER, 0)


def _kernels(sizes: Dict[str, int]) -> Iterator[Tuple[str, Any, float]]:
    """Each kernel with its number of steps, made when it is asked for."""
    from . import calibration_kernels as kernels

    lanes = sizes["lanes"]
    yield ("call", *kernels.call())
    yield ("integer chain", *kernels.integer_chain())
    yield ("float chain", *kernels.float_chain())
    yield ("sums", *kernels.sums(1))
    yield ("copies", *kernels.copies(1))
    yield ("divide", *kernels.binary("divide"))
    yield ("polynomial", *kernels.binary("polynomial"))
    yield ("chain", *kernels.binary("chain"))
    yield ("exp", *kernels.binary("exp"))
    yield ("gather", *kernels.apart(kernels.APART, 1))
    yield ("scatter", *kernels.apart(1, kernels.APART))
    yield ("wide sums", *kernels.sums(lanes))
    yield ("wide copies", *kernels.copies(lanes))
    yield ("wide polynomial", *kernels.wide_polynomial(lanes))
    for level in ("l2", "l3", "dram"):
        if level in sizes:
            yield ("stream " + level, *kernels.stream(sizes[level]))
            yield ("walk " + level, *kernels.walk(sizes[level]))
    for level in ("l3", "dram"):
        if level in sizes:
            yield ("copy " + level, *kernels.copy(sizes[level], sizes["vector"]))
            yield ("wide copy " + level, *kernels.copy(sizes[level], lanes))
    for part in (2, 3, 4):
        if "last" in sizes:
            yield ("stream last {}/4".format(part), *kernels.stream(sizes["last"] * part // 4))
    for name, count in sizes.items():
        if name.startswith("pages "):
            yield (name, *kernels.touch(count))
    yield ("stream all", *kernels.stream_all(sizes["dram"], sizes["cores"]))
    yield ("parallel", *kernels.parallel(sizes["cores"]))
