"""Times of kernels on the device of this machine, by the profiler of the framework.

Sources: tilelang ``jit/kernel.py`` (JITKernel), ``profiler/__init__.py`` (Profiler.do_bench);
TVM ``python/tvm/runtime/module.py`` (time_evaluator).
"""

from __future__ import annotations

import importlib
import math
import statistics
import sys
from typing import Any, Dict, List, Mapping, Optional, Sequence, Tuple

from ...facts import KernelFacts
from ...protocol import RUNS_FOR_COUNTERS, Timing
from ..compile_options import COMPILE_FLAGS, PASS_CONFIGS
from ..ir import dialect
from .exclusive import exclusive
from .kernel_arguments import NotMeasuredError, arguments, is_integer

# Least time of one sample, greatest time of all samples.
_SAMPLE_S = 1e-3
_TOTAL_S = 1.0
_MAX_SAMPLES = 100
_FLUSHED_BYTES = 256 << 20
# A launch takes some microseconds: less than 1 % of a kernel that takes longer than this.
_LAUNCH_RELEVANT_MS = 1.0
_DECILES = [0.1, 0.5, 0.9]


def measure(
    prim_func: Any, facts: KernelFacts, sizes: Mapping[str, int], for_counters: bool
) -> Optional[Timing]:
    """The time of `prim_func` with the dynamic dimensions `sizes`; None if it ran `for_counters`.

    Raises:
        NotMeasuredError: no device, no compiler, or a size that is not given.
        Exception: what the framework raises while it compiles or runs the kernel.
    """
    if facts.framework == "tilelang":
        return _tilelang(prim_func, facts, sizes, for_counters)
    if facts.framework != "tvm":
        raise NotMeasuredError("kernels of {} are not run yet".format(facts.framework))
    return _tvm(prim_func, facts, sizes, for_counters)


def is_usable() -> bool:
    """Whether the GPU is usable: after an access out of bounds, no kernel of this process runs."""
    try:
        if "torch" in sys.modules and sys.modules["torch"].cuda.is_initialized():
            sys.modules["torch"].cuda.synchronize()
        elif "tvm" in sys.modules and sys.modules["tvm"].runtime.enabled("cuda"):
            device = sys.modules["tvm"].cuda(0)
            if device.exist:
                device.sync()
    except Exception:
        return False
    return True


def _tilelang(
    prim_func: Any, facts: KernelFacts, sizes: Mapping[str, int], for_counters: bool
) -> Optional[Timing]:
    cuda = importlib.import_module("torch").cuda
    if not cuda.is_available():
        raise NotMeasuredError("there is no GPU here: torch.cuda.is_available() is false")
    profiler = compiled_by_tilelang(prim_func)
    arch = "sm_{}{}".format(*cuda.get_device_capability())
    target = {"kind": "cuda", "arch": arch}
    with exclusive():
        given = tilelang_arguments(profiler, prim_func, facts, sizes)
        if for_counters:
            for _ in range(RUNS_FOR_COUNTERS):
                profiler.func(*given)
            cuda.synchronize()
            return None
        low, median, high = profiler.do_bench(input_tensors=given, quantiles=_DECILES)
        launch = _launch_ms(profiler, given, median)
    samples = max(1, int(100 / median))
    method = "tilelang do_bench, L2 flushed before each run"
    if launch:
        method += ", less {:.1f} us of launch by CUPTI".format(launch * 1e3)
    low, median, high = ((value - launch) * 1e-3 for value in (low, median, high))
    return Timing(median, max(low, 0.0), high, samples, method, cuda.get_device_name(), target)


def compiled_by_tilelang(prim_func: Any, **how: Any) -> Any:
    """tilelang's profiler of a kernel that is compiled with the options of its source and `how`."""
    attributes = dialect.attributes(prim_func)
    options: Mapping[Any, Any] = attributes.get(PASS_CONFIGS) or {}
    flags = [str(flag) for flag in attributes.get(COMPILE_FLAGS) or ()]
    how = {
        "pass_configs": {str(key): value for key, value in options.items()},
        **({"compile_flags": flags} if flags else {}),
        **how,
    }
    return importlib.import_module("tilelang.jit.kernel").JITKernel(prim_func, **how).get_profiler()


def tilelang_arguments(
    profiler: Any, prim_func: Any, facts: KernelFacts, sizes: Mapping[str, int]
) -> List[Any]:
    """Arguments of a compiled kernel on its device, without the arrays that it allocates itself."""
    torch = importlib.import_module("torch")
    new_param = importlib.import_module("tilelang.engine.param").KernelParam
    parameter_dtypes = {str(parameter.dtype): parameter.dtype for parameter in profiler.params}

    def new_array(dtype: str, shape: Tuple[int, ...], below: int) -> Any:
        # tilelang supplies the values, but for signed integers, where it may supply negative ones.
        values = profiler.supply(new_param(parameter_dtypes.get(dtype, dtype), list(shape)))
        if is_integer(dtype) and not dtype.startswith("u"):
            torch.randint(0, below, shape, out=values)
        return values

    given = arguments(prim_func, facts, sizes, new_array)
    results = {index % len(given) for index in profiler.result_idx or ()}
    return [value for number, value in enumerate(given) if number not in results]


def _launch_ms(profiler: Any, given: Sequence[Any], median_ms: float) -> float:
    """The launch time in ms that events include and CUPTI does not; 0 where CUPTI is missing."""
    if median_ms > _LAUNCH_RELEVANT_MS:
        return 0.0
    try:
        kernel_ms = float(profiler.do_bench(input_tensors=given, backend="cupti"))
    except Exception:
        # An older tilelang without CUPTI, or a machine that does not permit its use.
        return 0.0
    return median_ms - kernel_ms if 0 < kernel_ms < median_ms else 0.0


def _tvm(
    prim_func: Any, facts: KernelFacts, sizes: Mapping[str, int], for_counters: bool
) -> Optional[Timing]:
    tvm = importlib.import_module("tvm")
    on_gpu = bool(facts.launch.grid or facts.launch.threads)
    tvm_device = _gpu(tvm) if on_gpu else _cpu(tvm)
    name = str(dialect.attributes(prim_func).get("global_symbol") or "main")
    function = prim_func.with_attr("global_symbol", name)
    # `tvm.compile` is patched while a file is executed; this is the original.
    compile_now = importlib.import_module("tvm.driver").compile
    module = compile_now(function, target=tvm.target.Target(tvm_device.target)).mod
    with exclusive():
        given = arguments(prim_func, facts, sizes, tvm_device.new_array)
        if for_counters:
            for _ in range(RUNS_FOR_COUNTERS):
                module[name](*given)
            tvm_device.device.sync()
            return None
        return _timing(_samples(module, name, given, tvm_device, on_gpu), tvm_device, on_gpu)


def _samples(
    module: Any, name: str, given: Sequence[Any], tvm_device: _TvmDevice, on_gpu: bool
) -> List[float]:
    """The times in seconds of enough runs of a compiled function."""
    once = module.time_evaluator(name, tvm_device.device, number=1, repeat=3)(*given).min
    number = 1 if on_gpu else max(1, math.ceil(_SAMPLE_S / max(once, 1e-9)))
    samples = max(5, min(_MAX_SAMPLES, int(_TOTAL_S / max(once * number, 1e-9))))
    timer = module.time_evaluator(
        name,
        tvm_device.device,
        number=number,
        repeat=samples,
        cache_flush_bytes=_FLUSHED_BYTES if on_gpu else 0,
    )
    return list(timer(*given).results)


def _timing(results: Sequence[float], tvm_device: _TvmDevice, is_flushed: bool) -> Timing:
    deciles = statistics.quantiles(results, n=10, method="inclusive")
    caches = "caches flushed before each run" if is_flushed else "warm caches"
    return Timing(
        median_s=statistics.median(results),
        low_s=deciles[0],
        high_s=deciles[-1],
        samples=len(results),
        method="tvm time_evaluator, " + caches,
        device=tvm_device.name,
        target=tvm_device.target,
    )


class _TvmDevice:
    """A device on which TVM runs a kernel, with its name and the target of the compilation."""

    def __init__(self, device: Any, name: str, target: Dict[str, Any]) -> None:
        self.device, self.name, self.target = device, name, target

    def new_array(self, dtype: str, shape: Tuple[int, ...], below: int) -> Any:
        """A random array on the device; integers are below `below`."""
        numpy = importlib.import_module("numpy")
        random = numpy.random.default_rng(0)
        array = importlib.import_module("tvm").runtime.empty(shape, dtype, self.device)
        # Types that numpy does not have are not initialised: values do not affect the time.
        if hasattr(numpy, dtype):
            whole = is_integer(dtype)
            data = random.integers(0, below, shape) if whole else random.random(shape)
            array.copyfrom(data.astype(dtype))
        return array


def _cpu(tvm: Any) -> _TvmDevice:
    system_cpu = tvm.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    if system_cpu is None:
        raise NotMeasuredError("this TVM was built without LLVM and compiles nothing for a CPU")
    name = str(system_cpu())
    return _TvmDevice(tvm.cpu(), name, {"kind": "llvm", "mcpu": name})


def _gpu(tvm: Any) -> _TvmDevice:
    if not tvm.runtime.enabled("cuda"):
        raise NotMeasuredError("this TVM was built without CUDA and runs nothing on a GPU")
    device = tvm.cuda(0)
    if not device.exist:
        raise NotMeasuredError("there is no GPU here: TVM finds no CUDA device")
    arch = "sm_" + str(device.compute_version).replace(".", "")
    return _TvmDevice(device, str(device.device_name), {"kind": "cuda", "arch": arch})
