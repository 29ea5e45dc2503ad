"""Small kernels whose times tell the rates of a CPU, compiled with the user's TVM.

``main`` reads what to measure (JSON) and prints the two least times of a step of each kernel in
seconds (JSON): one that was met twice is likely the machine's and not that of what disturbs it.
What a step is stands with each kernel; the server makes clocks and rates of them.
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
ROUNDS = 8
# With kernels whose least time was met once only there are more.
MOST_ROUNDS = 12
MET_AGAIN = 1.05
REPEAT_S = 2e-4
# Short kernels run a few times before each of the long ones.  A neighbour on the other thread of
# the core, which a virtual machine does not see, slows them by half for some tenths of a second.
SHORT_REPEATS = 5
LONG_REPEATS = 25


def main() -> None:
    """Measure with the ``sizes`` in the last argument and print the seconds.

    The kernels are compiled for this machine, or where ``host`` is false for plain ``llvm``.
    """
    given = json.loads(sys.argv[-1])
    sizes = given["sizes"]
    os.environ.setdefault("TVM_NUM_THREADS", str(sizes["cores"]))
    print(json.dumps(measure(sizes, given["host"])))


def measure(sizes: Dict[str, int], host: bool) -> Dict[str, List[float]]:
    """The two least times of a step in seconds, by kernel.

    `sizes` are ``cores``, ``lanes`` and ``vector`` (floats in the widest register and in the
    vectors that the compiler makes), ``l2``, ``l3``, ``dram``: bytes to read that come from there,
    ``crowded l2`` and ``crowded l3``: bytes of pages of which a line each does, ``pages N``:
    numbers of pages to look up, and ``last``, the size of the last cache; ``l3``, ``crowded l3``
    and ``last`` may be missing.
    """
    tvm: Any = importlib.import_module("tvm")
    options = {"kind": "llvm"}
    if host:
        options["mcpu"] = str(tvm.get_global_func("target.llvm_get_system_cpu")())
    target = tvm.target.Target(options)
    kernels = [
        Kernel(name, func, _module(tvm.compile(func, target=target)), steps)
        for name, func, steps in _kernels(sizes)
    ]
    # The others run between those that are long, of which there is one at least.
    limit = min(REPEAT_S, max(kernel.run(tvm, 1) for kernel in kernels))
    short = [kernel for kernel in kernels if kernel.least[0] < limit]
    long = [kernel for kernel in kernels if kernel not in short]
    for number in range(MOST_ROUNDS):
        for kernel in long:
            if number < ROUNDS or not kernel.settled:
                for other in short:
                    other.run(tvm, SHORT_REPEATS)
                kernel.run(tvm, LONG_REPEATS)
        if number >= ROUNDS - 1 and all(kernel.settled for kernel in kernels):
            break
    return {kernel.name: [least / kernel.steps for least in kernel.least] for kernel in kernels}


def _module(compiled: Any) -> Any:
    return getattr(compiled, "mod", compiled)


class Kernel:
    """A compiled kernel of some steps with the two least times in seconds of its runs."""

    def __init__(self, name: str, func: Any, compiled: Any, steps: float) -> None:
        self.name = name
        self.func = func
        self.compiled = compiled
        self.steps = steps
        self.least: List[float] = []

    @property
    def settled(self) -> bool:
        """Whether the least time was met twice."""
        return len(self.least) > 1 and self.least[1] < self.least[0] * MET_AGAIN

    def run(self, tvm: Any, repeats: int) -> float:
        """Run it some times and return the least; its arrays live no longer than that."""
        import numpy

        from . import dialect

        given: List[Any] = []
        for _, buffer in dialect.parameters(self.func):
            shape = tuple(int(size) for size in buffer.shape)
            value = 0.5 if "float" in str(buffer.dtype) else 1
            given.append(tvm.runtime.tensor(numpy.full(shape, value, str(buffer.dtype))))
        name = str(self.func.attrs["global_symbol"])
        once = self.compiled.time_evaluator(name, tvm.cpu(), number=1, repeat=2)(*given).min
        number = max(1, int(REPEAT_S / max(once, 1e-8)))
        timer = self.compiled.time_evaluator(name, tvm.cpu(), number=number, repeat=repeats)
        with first_in_line():
            least = float(min(timer(*given).results))
        self.least = sorted([*self.least, least])[:2]
        return least


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
    for name in ("float", "multiply-add", "max"):
        yield (name + " chain", *kernels.float_chain(name))
    yield ("sums", *kernels.sums(1))
    yield ("copies", *kernels.copies(1))
    yield ("updates", *kernels.updates())
    yield ("two sums", *kernels.two_sums(1, "float32"))
    yield ("two vector sums", *kernels.two_sums(sizes["vector"], "float32"))
    yield ("two integer sums", *kernels.two_sums(1, "int32"))
    yield ("integers", *kernels.integers())
    yield ("divide", *kernels.binary("divide"))
    yield ("polynomial", *kernels.binary("polynomial"))
    yield ("chain", *kernels.binary("chain"))
    yield ("exp", *kernels.binary("exp"))
    yield ("gather", *kernels.apart(kernels.APART, 1))
    yield ("scatter", *kernels.apart(1, kernels.APART))
    for width, elements in (("wide", lanes), ("narrow", sizes["vector"] // 2)):
        yield (width + " sums", *kernels.sums(elements))
        yield (width + " copies", *kernels.copies(elements))
        yield (width + " polynomial", *kernels.explicit_polynomial(elements))
    for level in ("l2", "l3", "dram"):
        if level in sizes:
            yield ("stream " + level, *kernels.stream(sizes[level], lanes))
            yield ("walk " + level, *kernels.walk(sizes[level], kernels.SPREAD, lanes))
        if "crowded " + level in sizes:
            pages = kernels.walk(sizes["crowded " + level], kernels.PAGE, lanes)
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
