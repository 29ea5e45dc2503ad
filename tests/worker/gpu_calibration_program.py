"""The kernels of a GPU's calibration without a GPU, under the framework of this interpreter.

    PYTHON gpu_calibration_program.py sources       {"NAME": CUDA SOURCE, ...}
    PYTHON gpu_calibration_program.py timers        the kernels that can be timed
    PYTHON gpu_calibration_program.py products      {"DTYPE ROWS x COLUMNS": CUDA SOURCE, ...}
    PYTHON gpu_calibration_program.py results       what kernels compute on this CPU
    PYTHON gpu_calibration_program.py measure STEPS the answers of the steps, on this CPU

On the CPU a kernel is executed with loops over its blocks and threads.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import sys
from typing import Any

with contextlib.suppress(ImportError):
    importlib.import_module("tilelang")
tvm = importlib.import_module("tvm")

from tirlens_worker.frameworks.benchmarking.calibration import (  # noqa: E402
    gpu,
    gpu_kernels,
    gpu_products,
)

CUDA = {"kind": "cuda", "arch": "sm_90"}


class StoppedError(Exception):
    """The source that would be compiled."""


def stop(code: str, *_: Any) -> None:
    raise StoppedError(code)


def sources() -> dict[str, str]:
    """The CUDA source of each kernel."""
    if tvm.runtime.enabled("cuda"):
        # It would compile the source.
        register = getattr(tvm, "register_global_func", None) or tvm.register_func
        register("tvm_callback_cuda_compile", stop, override=True)
    found = {}
    for name in gpu_kernels.NAMES:
        func = gpu_kernels.build(name, True).with_attr("global_symbol", "kernel")
        try:
            (module,) = tvm.compile(func, target=tvm.target.Target(CUDA)).mod.imports
            found[name] = str(module.inspect_source())
        except Exception as error:
            if "#include" not in str(error) and "__global__" not in str(error):
                raise
            found[name] = str(error)
    return found


def timers() -> list[str]:
    """The kernels that the framework compiles with nvcc and that can be timed."""
    found = []
    for name in gpu_kernels.NAMES:
        gpu.Compiled(gpu.Gpu(tvm, None, CUDA, True), name).timer(tvm.cpu(), 1, 1)
        found.append(name)
    return found


def products() -> dict[str, str]:
    """The CUDA source of each product, which tilelang compiles for an H100."""
    from tirlens_worker.frameworks.benchmarking.calibration import product_kernels

    tilelang = importlib.import_module("tilelang")
    found = {}
    for dtype, (name, _, accumulator) in gpu_products.TYPES.items():
        for tile in gpu_products.TILES:
            size = {"float32": 4, "float16": 2, "bfloat16": 2}.get(name, 1)
            row = gpu_products.ROW_BYTES // size
            func = product_kernels.product(1024, tile, row, name, accumulator)
            target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
            kernel = tilelang.compile(func, target=target)
            found["{} {} x {}".format(dtype, *tile[:2])] = kernel.get_kernel_source()
    return found


def on_cpu(func: Any) -> Any:
    """The kernel with loops in place of its blocks and threads."""
    tir = getattr(tvm, "tirx", None) or tvm.tir

    def loop(statement: Any) -> Any:
        if statement.attr_key != "thread_extent":
            return None
        return tir.For(statement.node.var, 0, statement.value, tir.ForKind.SERIAL, statement.body)

    body = tir.stmt_functor.ir_transform(func.body, None, loop, [f"{dialect_name()}.AttrStmt"])
    return func.with_body(body)


def dialect_name() -> str:
    return "tirx" if hasattr(tvm, "tirx") else "tir"


def measure(steps: list[dict[str, Any]]) -> Any:
    """The answers of the steps on the CPU."""
    device = tvm.cpu()
    build = gpu_kernels.build
    gpu_kernels.build = lambda name, has_clock: on_cpu(build(name, has_clock))
    gpu.SAMPLE_S, gpu.LONG_S, gpu.WARM_UP_S, gpu.SAMPLES = 1e-3, 0.02, 0.01, 4
    gpu.WARM_UP_BLOCKS = 1
    gpu.MIN_FLUSHED_BYTES = 1 << 20
    return gpu.measure(gpu.Gpu(tvm, device, {"kind": "llvm"}, False), steps)


def results() -> dict[str, Any]:
    """What some kernels compute on the CPU."""
    import numpy

    device = tvm.cpu()
    elements, blocks = 8192, 2
    given = numpy.arange(elements, dtype="float32")

    def run(name: str, *arguments: Any) -> list[Any]:
        func = on_cpu(gpu_kernels.build(name, False)).with_attr("global_symbol", "kernel")
        module = tvm.compile(func, target="llvm")
        arrays = [
            tvm.runtime.tensor(value, device) if hasattr(value, "dtype") else value
            for value in arguments
        ]
        getattr(module, "mod", module)["kernel"](*arrays)
        return [array.numpy() if hasattr(array, "numpy") else array for array in arrays]

    zeros = numpy.zeros(elements, "float32")
    copied = run("copy", given, zeros, blocks)[1]
    combined = run("triad", given, given, zeros, blocks)[2]
    sums = run("read", given, numpy.zeros(512, "float32"), blocks, 1, 3, 1)[1]
    written = run("write", numpy.full(elements, -1, "float32"), blocks, 1, 2, 1)[0]
    cycle = gpu.cycle(elements, 32)
    first = numpy.zeros(1, "int32")
    visited, clocks = [], numpy.zeros(1, "int64")
    for _ in range(elements // 32 // gpu_kernels.CHASE_STEPS):
        first = run("chase", cycle, first, clocks, 1)[1]
        visited.append(int(first[0]))
    return {
        "copy": bool((copied == given).all()),
        "triad": bool(numpy.allclose(combined, 1.4 * given)),
        "read": [float(sums.sum()), 3 * float(given.sum())],
        "write": bool((written >= 0).all()),
        "visited": visited,
        "lines": sorted(int(index) for index in numpy.unique(cycle)),
    }


if __name__ == "__main__":
    commands = {"sources": sources, "timers": timers, "products": products, "results": results}
    command = commands.get(sys.argv[1])
    answer = measure(json.loads(sys.argv[2])) if command is None else command()
    print(json.dumps(answer))
