"""Small kernels that measure the rates and latencies of a GPU, compiled with the user's framework.

``main`` reads a request (JSON).  Without ``steps`` it prints what the driver reports of the GPU,
with them the times of each step (JSON).  A step names a kernel of `gpu_kernels`, or a product of
`gpu_products`, and its sizes; the server computes rates from the times.
"""

from __future__ import annotations

import importlib
import json
import statistics
import sys
from typing import Any, Dict, List, Optional, Sequence

from ...ir import dialect
from ..exclusive import exclusive

# Rounds over all steps, so that a short disturbance affects at most one time of a step.
MIN_ROUNDS = 3
# Most rounds, if the two least times of a step do not agree before.
MAX_ROUNDS = 6
# Ratio of the two least times of a step up to which they agree.
MAX_REPEAT_RATIO = 1.05
SAMPLE_S = 5e-3
SAMPLES = 10
# A long step runs for this long without a pause, so that a limit of power sets the clock.
LONG_S = 1.0
WARM_UP_S = 0.5
WARM_UP_BLOCKS = 1024
# Bytes that the driver copies to the GPU to remove the arrays of a step from its caches.
MIN_FLUSHED_BYTES = 256 << 20
Sizes = Dict[str, int]
Answer = Dict[str, Any]


class NoGpuError(Exception):
    """There is no GPU, or no framework that compiles for it; the message has what was tried."""


class Gpu:
    """The first GPU that the framework finds, with its target."""

    def __init__(self, tvm: Any, device: Any, target: Dict[str, Any], has_clock: bool) -> None:
        self.tvm, self.device, self.target, self.has_clock = tvm, device, target, has_clock

    def facts(self) -> Answer:
        """What the driver reports, None for what it does not."""
        kind = str(self.target["kind"])
        return {
            "name": str(self.device.device_name),
            "vendor": "NVIDIA" if kind == "cuda" else "AMD",
            "arch": str(self.target.get("arch") or self.target.get("mcpu") or ""),
            "sm_count": self._attribute("multi_processor_count"),
            "l2_bytes": self._attribute("l2_cache_size_bytes"),
            "memory_bytes": self._attribute("total_global_memory"),
            "framework": framework_version(self.tvm),
        }

    def _attribute(self, name: str) -> Optional[int]:
        try:
            value = getattr(self.device, name, None)
        except Exception:
            # An older framework has no such attribute.
            return None
        return int(value) if value else None


def framework_version(tvm: Any) -> str:
    """The framework that compiles the kernels and its version."""
    if "tilelang" in sys.modules:
        return "tilelang {}".format(getattr(sys.modules["tilelang"], "__version__", ""))
    return "tvm {}".format(tvm.__version__)


def find_gpu() -> Gpu:
    """The GPU of this machine.

    Raises:
        NoGpuError: there is none, or the framework compiles for none.
    """
    tried: List[str] = []
    try:
        # Before tvm: it brings a copy of its own, which compiles for GPUs.
        importlib.import_module("tilelang")
    except ImportError:
        tried.append("no tilelang in this Python")
    tvm: Any = importlib.import_module("tvm")
    for kind in ("cuda", "rocm"):
        if not tvm.runtime.enabled(kind):
            tried.append("{} was built without {}".format(framework_version(tvm), kind))
            continue
        device = getattr(tvm, kind)(0)
        if not device.exist:
            tried.append("{} finds no {} device".format(framework_version(tvm), kind))
            continue
        if kind == "cuda":
            arch = "sm_" + str(device.compute_version).replace(".", "")
            return Gpu(tvm, device, {"kind": kind, "arch": arch}, True)
        target = tvm.target.Target("rocm")
        # Its compiler makes LLVM's IR, without the functions of HIP's headers.
        return Gpu(tvm, device, {"kind": kind, "mcpu": str(target.attrs["mcpu"])}, False)
    raise NoGpuError("; ".join(tried))


def main() -> None:
    """Answer the request in the last argument."""
    request = json.loads(sys.argv[-1])
    try:
        gpu = find_gpu()
    except NoGpuError as error:
        print(json.dumps({"problem": str(error)}))
        return
    if "steps" not in request:
        print(json.dumps(gpu.facts()))
        return
    with exclusive():
        print(json.dumps(measure(gpu, request["steps"])))


def measure(gpu: Gpu, steps: Sequence[Dict[str, Any]]) -> Dict[str, Answer]:
    """The times of each step by its name: the two least ``seconds`` of a launch, and ``clk``.

    ``clk`` are the clocks of the SM in the measured loop, None where they are not read.  A step
    that fails has a ``problem`` instead.
    """
    from . import gpu_products

    answers: Dict[str, Answer] = {}
    runs: List[Any] = []
    compiled: Dict[str, Compiled] = {}
    for number, step in enumerate(steps):
        say("compiling, step {} of {}: {}".format(number + 1, len(steps), step["name"]))
        try:
            if step["kernel"] == "product":
                runs.append(gpu_products.Product(step))
            else:
                if step["kernel"] not in compiled:
                    compiled[step["kernel"]] = Compiled(gpu, step["kernel"])
                runs.append(Run(gpu, step, compiled[step["kernel"]]))
        except Exception as error:
            answers[step["name"]] = {"problem": describe(error)}
    warm_up(gpu, compiled)
    for number in range(MAX_ROUNDS):
        repeated = sum(run.is_repeated for run in runs)
        say(
            "round {} of at most {}: two runs agree for {} of {} steps".format(
                number + 1, MAX_ROUNDS, repeated, len(runs)
            )
        )
        for run in list(runs):
            if number < MIN_ROUNDS or not run.is_repeated:
                try:
                    run.measure()
                except Exception as error:
                    # What was measured before stays; a kernel that faults makes others fail.
                    runs.remove(run)
                    answers[run.name] = (
                        run.answer() if run.least_s else {"problem": describe(error)}
                    )
        if number >= MIN_ROUNDS - 1 and all(run.is_repeated for run in runs):
            break
    for run in runs:
        answers[run.name] = run.answer()
    return answers


def describe(error: Exception) -> str:
    """The last line of what an error says."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


def say(text: str) -> None:
    """Report progress."""
    print(text, file=sys.stderr, flush=True)


class Compiled:
    """A kernel and its module."""

    def __init__(self, gpu: Gpu, name: str) -> None:
        from . import gpu_kernels

        self.func = gpu_kernels.build(name, gpu.has_clock).with_attr("global_symbol", "kernel")
        target = gpu.tvm.target.Target(gpu.target)
        # tilelang's compiler takes the architecture from the current target.
        with target:
            compiled = gpu.tvm.compile(self.func, target=target)
        # The TVM of tilelang has no LLVM: a compiler of C builds the host's part.
        self._module = compiled.jit()

    def timer(self, device: Any, number: int, repeat: int) -> Any:
        """A function of the arguments, which times `repeat` times `number` launches."""
        return self._module.time_evaluator("kernel", device, number=number, repeat=repeat)


def warm_up(gpu: Gpu, compiled: Dict[str, Compiled]) -> None:
    """Keep the GPU busy until its clock is that of a busy one."""
    kernel = compiled.get("multiply-add")
    if kernel is not None:
        sizes = {"blocks": WARM_UP_BLOCKS, "steps": 64, "results": WARM_UP_BLOCKS * 256}
        run = Run(gpu, {"name": "warm-up", "sizes": sizes}, kernel)
        run.evaluate(run.arguments(), WARM_UP_S)


class Run:
    """A step with its kernel: its arrays exist while it is measured."""

    def __init__(self, gpu: Gpu, step: Dict[str, Any], kernel: Compiled) -> None:
        self.name = str(step["name"])
        self._gpu, self._kernel = gpu, kernel
        self._sizes: Sizes = step["sizes"]
        self._is_long = bool(step.get("is_long"))
        self.least_s: List[float] = []
        self._clk: List[float] = []

    @property
    def is_repeated(self) -> bool:
        """Whether the two least times agree."""
        return len(self.least_s) > 1 and self.least_s[1] < self.least_s[0] * MAX_REPEAT_RATIO

    def answer(self) -> Answer:
        """The two least times in seconds and the least clocks."""
        return {"seconds": (self.least_s * 2)[:2], "clk": min(self._clk) if self._clk else None}

    def measure(self) -> None:
        """Run the kernel; its least time, or that in the long run."""
        given = self.arguments()
        if self._sizes.get("is_flushed"):
            _flush(self._gpu)
        if self._is_long:
            results = self.evaluate(given, LONG_S)
            seconds = statistics.median(results[len(results) // 2 :])
        else:
            seconds = min(self.evaluate(given, SAMPLE_S * SAMPLES))
        self.least_s = sorted(self.least_s + [seconds])[:2]
        clocks = [array for array in given if str(getattr(array, "dtype", "")) == "int64"]
        if self._gpu.has_clock and clocks:
            self._clk.append(float(clocks[0].numpy().max()))

    def evaluate(self, given: Sequence[Any], total_s: float) -> List[float]:
        """The times of a launch in seconds, in `SAMPLES` samples that take `total_s` together."""
        device = self._gpu.device
        once = float(self._kernel.timer(device, 1, 3)(*given).min)
        number = max(1, int(total_s / SAMPLES / max(once, 1e-7)))
        results = self._kernel.timer(device, number, SAMPLES)(*given).results
        return [float(seconds) for seconds in results]

    def arguments(self) -> List[Any]:
        """The arrays on the GPU, and the numbers."""
        return [
            self._sizes[str(param.name)] if buffer is None else self._new_array(buffer)
            for param, buffer in dialect.parameters(self._kernel.func)
        ]

    def _new_array(self, buffer: Any) -> Any:
        import numpy

        elements = 1
        for size in buffer.shape:
            name = getattr(size, "name", None)
            elements *= int(size) if name is None else self._sizes[str(name)]
        dtype = str(buffer.dtype)
        if dtype == "int32" and str(buffer.name) == "A":
            values = cycle(elements, self._sizes.get("line", 1))
        else:
            values = numpy.full(elements, 0.5 if dtype == "float32" else 0, dtype)
        return self._gpu.tvm.runtime.tensor(values, self._gpu.device)


def cycle(elements: int, line: int) -> Any:
    """The index of the next line at the first element of each line: one random cycle over all."""
    import numpy

    order = numpy.random.default_rng(0).permutation(elements // line).astype("int32")
    values = numpy.zeros(elements, "int32")
    values[order * line] = numpy.roll(order, -1) * line
    return values


def _flush(gpu: Gpu) -> None:
    """Fill the caches of the GPU with another array."""
    import numpy

    size = max(MIN_FLUSHED_BYTES, 2 * (gpu.facts()["l2_bytes"] or 0))
    gpu.tvm.runtime.tensor(numpy.zeros(size // 4, "float32"), gpu.device)
    gpu.device.sync()
