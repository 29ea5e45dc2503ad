"""Small kernels that measure the rates of a CPU, compiled with the user's TVM.

``main`` reads the sizes (JSON) and prints the two least times of a step of each kernel in seconds
(JSON).  Two equal times are unlikely to be disturbed by other processes.  `cpu_kernels`
documents the step of each kernel; the server computes clocks and rates from the times.
"""

from __future__ import annotations

import importlib
import json
import os
import platform
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Dict, Generator, Iterator, List, Tuple

# What LLVM compiles for without a processor; on Arm it is not known.
PLAIN_PROCESSOR = "x86-64" if platform.machine().lower() in ("x86_64", "amd64") else ""
# Rounds are seconds apart, so that a short disturbance affects at most one of them.
MIN_ROUNDS = 8
# Most rounds, if the two least times of a kernel do not agree before.
MAX_ROUNDS = 12
# Ratio of the two least times of a kernel up to which they agree.
MAX_REPEAT_RATIO = 1.05
REPEAT_S = 2e-4
# Repetitions of the short kernels, which run before each of the long ones, and of the long ones.
# Another virtual machine on the core's other thread slows kernels by half for some tenths of a
# second.
SHORT_REPEATS = 5
LONG_REPEATS = 25


def main() -> None:
    """Measure with the ``sizes`` in the last argument and print the seconds.

    The kernels are compiled for this machine, or where ``host`` is false for plain ``llvm``.
    """
    given = json.loads(sys.argv[-1])
    sizes = given["sizes"]
    os.environ.setdefault("TVM_NUM_THREADS", str(sizes["cores"]))
    seconds = measure(sizes, given["host"])
    print(json.dumps({"seconds": seconds, "processor": processor(given["host"])}))


def processor(host: bool) -> str:
    """LLVM's name of this machine's processor, or of that of plain ``llvm``."""
    if not host:
        return PLAIN_PROCESSOR
    tvm: Any = importlib.import_module("tvm")
    return str(tvm.get_global_func("target.llvm_get_system_cpu")())


def measure(sizes: Dict[str, int], host: bool) -> Dict[str, List[float]]:
    """The two least times of a step in seconds, by kernel.

    Parameters
    ----------
    sizes
        ``cores``; ``lanes`` and ``vector``, floats in the widest register and in the compiler's
        vectors; ``l2``, ``l3`` and ``dram``, bytes to read from that level; ``crowded l2`` and
        ``crowded l3``, bytes of pages of which one line each is read from that level; ``pages N``,
        numbers of pages to access; ``last``, the size of the last-level cache.  ``l3``,
        ``crowded l3`` and ``last`` may be missing.
    host
        Whether to compile for this machine, not for plain ``llvm``.
    """
    tvm: Any = importlib.import_module("tvm")
    options = {"kind": "llvm"}
    if host:
        options["mcpu"] = processor(host)
    target = tvm.target.Target(options)
    print("compiling the kernels", file=sys.stderr, flush=True)
    kernels = [
        CalibrationKernel(name, func, _module(tvm.compile(func, target=target)), steps)
        for name, func, steps in _kernels(sizes)
    ]
    # Short kernels run between long ones, of which there is at least one.
    limit = min(REPEAT_S, max(kernel.run(tvm, 1) for kernel in kernels))
    short = [kernel for kernel in kernels if kernel.least_s[0] < limit]
    long = [kernel for kernel in kernels if kernel not in short]
    for number in range(MAX_ROUNDS):
        repeated = sum(kernel.is_repeated for kernel in kernels)
        print(
            f"round {number + 1} of at most {MAX_ROUNDS}: "
            f"two runs agree for {repeated} of {len(kernels)} kernels",
            file=sys.stderr,
            flush=True,
        )
        for kernel in long:
            if number < MIN_ROUNDS or not kernel.is_repeated:
                for other in short:
                    other.run(tvm, SHORT_REPEATS)
                kernel.run(tvm, LONG_REPEATS)
        if number >= MIN_ROUNDS - 1 and all(kernel.is_repeated for kernel in kernels):
            break
    return {kernel.name: [least / kernel.steps for least in kernel.least_s] for kernel in kernels}


def _module(compiled: Any) -> Any:
    return getattr(compiled, "mod", compiled)


class CalibrationKernel:
    """A compiled kernel of `steps` steps, and the two least times of its runs in seconds."""

    def __init__(self, name: str, func: Any, compiled: Any, steps: float) -> None:
        self.name = name
        self.func = func
        self.compiled = compiled
        self.steps = steps
        self.least_s: List[float] = []

    @property
    def is_repeated(self) -> bool:
        """Whether the two least times agree."""
        return len(self.least_s) > 1 and self.least_s[1] < self.least_s[0] * MAX_REPEAT_RATIO

    def run(self, tvm: Any, repeats: int) -> float:
        """Run the kernel several times and return its least time; the arrays are freed after."""
        import numpy

        from ...ir import dialect

        given: List[Any] = []
        for _, buffer in dialect.parameters(self.func):
            shape = tuple(int(size) for size in buffer.shape)
            value = 0.5 if "float" in str(buffer.dtype) else 1
            given.append(tvm.runtime.tensor(numpy.full(shape, value, str(buffer.dtype))))
        name = str(self.func.attrs["global_symbol"])
        once = self.compiled.time_evaluator(name, tvm.cpu(), number=1, repeat=2)(*given).min
        number = max(1, int(REPEAT_S / max(once, 1e-8)))
        timer = self.compiled.time_evaluator(name, tvm.cpu(), number=number, repeat=repeats)
        with real_time_priority():
            least = float(min(timer(*given).results))
        self.least_s = sorted([*self.least_s, least])[:2]
        return least


@contextmanager
def real_time_priority() -> Generator[None, None, None]:
    """Run at real-time priority, if the system permits it."""

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
    """Each kernel with its name and number of steps."""
    from . import cpu_kernels as kernels

    lanes = sizes["lanes"]
    yield ("call", *kernels.call())
    yield ("integer chain", *kernels.integer_chain())
    for name in ("float", "multiply-add", "max"):
        yield (name + " chain", *kernels.float_chain(name))
    yield ("sums", *kernels.sums(1))
    yield ("copies", *kernels.copies(1))
    yield ("updates", *kernels.updates())
    yield ("two sums", *kernels.two_sums(1, "float32"))
    yield ("two vector sums", *kernels.two_sums(sizes["vector"], "float32"))
    yield ("two integer sums", *kernels.two_sums(1, "int32"))
    yield ("integers", *kernels.integers())
    yield ("divide", *kernels.elementwise("divide"))
    yield ("polynomial", *kernels.elementwise("polynomial"))
    yield ("chain", *kernels.elementwise("chain"))
    yield ("exp", *kernels.elementwise("exp"))
    yield ("gather", *kernels.strided_copy(kernels.GATHER_STRIDE, 1))
    yield ("scatter", *kernels.strided_copy(1, kernels.GATHER_STRIDE))
    for width, elements in (("wide", lanes), ("narrow", sizes["vector"] // 2)):
        yield (width + " sums", *kernels.sums(elements))
        yield (width + " copies", *kernels.copies(elements))
        yield (width + " polynomial", *kernels.explicit_polynomial(elements))
    for level in ("l2", "l3", "dram"):
        if level in sizes:
            yield ("stream " + level, *kernels.stream(sizes[level], lanes))
            yield ("walk " + level, *kernels.walk(sizes[level], kernels.ROW_FLOATS, lanes))
        if "crowded " + level in sizes:
            pages = kernels.walk(sizes["crowded " + level], kernels.PAGE_FLOATS, lanes)
            yield ("crowded walk " + level, *pages)
    yield ("fill l2", *kernels.fill(sizes["l2"], lanes))
    for level in ("l3", "dram"):
        if level in sizes:
            yield ("copy " + level, *kernels.copy(sizes[level], sizes["vector"]))
            yield ("wide copy " + level, *kernels.copy(sizes[level], lanes))
    for part in (2, 3, 4):
        if "last" in sizes:
            yield (
                "stream last {}/4".format(part),
                *kernels.stream(sizes["last"] * part // 4, lanes),
            )
    for name, count in sizes.items():
        if name.startswith("pages "):
            yield (name, *kernels.touch(count, lanes))
    yield ("stream all", *kernels.stream_all(sizes["dram"], sizes["cores"], lanes))
    yield ("parallel", *kernels.parallel(sizes["cores"]))
