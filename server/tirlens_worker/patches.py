"""Let kernels be traced where there is no GPU, and keep anything from being compiled or run.

Kernel files ask the machine about its GPU while they are imported and traced (the number of
multiprocessors for persistent kernels, the compute capability for the choice of an instruction)
and compile what they define.  Here those questions are answered as the asked target would answer
them, and a compilation yields its function, captured.

The frameworks are reached through `sys.modules` only: what the user's program has not imported
needs no patch.  `install` may be called again after more has been imported.
"""

from __future__ import annotations

import inspect
import linecache
import os
import sys
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Mapping, Optional, Set, Tuple

from . import array_shapes, other_versions
from .fake_gpu import FakeGpu
from .frameworks import old_tvm

# Where a PrimFunc keeps the options of its compilation (tilelang/jit/__init__.py).
PASS_CONFIGS = "tilelang_pass_configs"
COMPILE_FLAGS = "tilelang_compile_flags"


class NotRunError(RuntimeError):
    """The program wanted to compile or run something; only the definitions are read."""


class CapturedKernel:
    """What a compilation returns here: the function that would have been compiled."""

    def __init__(self, prim_func: Any) -> None:
        self.prim_func = prim_func

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotRunError("kernels are read here and not run")

    def __getattr__(self, name: str) -> Any:
        raise NotRunError("kernels are read here and not compiled: no '{}'".format(name))


class _State:
    def __init__(self) -> None:
        self.gpu = FakeGpu({})
        self.asked = False
        self.captured: List[Any] = []


_state = _State()
_done: Set[str] = set()


def shared_bytes_per_block() -> int:
    """The shared memory that a block of the device can have."""
    return _state.gpu.shared_per_block_bytes


def install(target: Mapping[str, Any]) -> None:
    """Answer as the GPU `target` from now on and capture compilations.

    `target` may have ``kind``, ``arch`` (``sm_90``) and ``sm_count``.
    """
    _state.gpu = FakeGpu(target)
    _install((*_CAPTURES, *_ANSWERS))


def capture() -> None:
    """Capture compilations from now on, and let the machine answer for its GPU itself."""
    _install(_CAPTURES)


def _install(patches: Tuple[Tuple[str, Callable[[Any], None]], ...]) -> None:
    for name, patch in patches:
        module = sys.modules.get(name)
        if module is not None and name not in _done:
            _done.add(name)
            try:
                patch(module)
            except AttributeError:
                # Another version of the framework that lacks the place: nothing to redirect.
                continue


def asked_for_device() -> bool:
    """Whether the program has asked what GPU there is: another answer may give other kernels."""
    return _state.asked


def _asked() -> FakeGpu:
    _state.asked = True
    return _state.gpu


def captured() -> List[Any]:
    """The functions whose compilation was asked for since the last call."""
    taken, _state.captured = _state.captured, []
    return taken


def tuned_arguments(
    configs: Any, names: List[str], args: Tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Dict[str, Any]:
    """The first of autotuning's configurations, or nothing if the call sets one of its values."""
    first = first_configuration(configs, args, kwargs)
    if any(key in kwargs or key in names[: len(args)] for key in first):
        return {}
    return first


def first_configuration(
    configs: Any, args: Tuple[Any, ...] = (), kwargs: Optional[Mapping[str, Any]] = None
) -> Dict[str, Any]:
    """The first entry of a list of configurations, or of what a function of the call gives."""
    if callable(configs):
        configs = configs(*args, **(kwargs or {}))
    for config in configs or ():
        return {key: value for key, value in dict(config).items() if key != "pass_configs"}
    return {}


def with_options(
    function: Any, pass_configs: Optional[Mapping[Any, Any]], compile_flags: Any = None
) -> Any:
    """`function` with the options of its compilation in tilelang's own attributes."""
    if pass_configs:
        own = dict(function.attrs.get(PASS_CONFIGS) or {})
        known = other_versions.known(pass_configs)
        own.update({getattr(key, "value", key): value for key, value in known.items()})
        function = function.with_attr(PASS_CONFIGS, own)
    if compile_flags:
        flags = [compile_flags] if isinstance(compile_flags, str) else list(compile_flags)
        before = list(function.attrs.get(COMPILE_FLAGS) or ())
        function = function.with_attr(COMPILE_FLAGS, before + flags)
    return function


def _capture(function: Any) -> CapturedKernel:
    _state.captured.append(function)
    return CapturedKernel(function)


def _refuse(*args: Any, **kwargs: Any) -> Any:
    raise NotRunError("nothing is compiled while a file is analysed")


def _answer(value: Callable[[], Any]) -> Callable[..., Any]:
    """A function of any arguments that gives what `value` gives when it is called."""

    def answer(*args: Any, **kwargs: Any) -> Any:
        return value()

    return answer


def _patch_torch_cuda(cuda: Any) -> None:
    def properties(device: Any = None) -> Any:
        fake = _asked()
        return SimpleNamespace(
            name=fake.name,
            major=fake.capability[0],
            minor=fake.capability[1],
            multi_processor_count=fake.sm_count,
            total_memory=fake.memory_bytes,
            shared_memory_per_block=49152,
            shared_memory_per_block_optin=fake.shared_per_block_bytes,
            shared_memory_per_multiprocessor=fake.shared_per_sm_bytes,
            max_threads_per_multi_processor=2048,
            regs_per_multiprocessor=65536,
            warp_size=32,
            L2_cache_size=fake.l2_bytes,
        )

    cuda.is_available = _answer(lambda: True)
    cuda.device_count = _answer(lambda: 1)
    cuda.current_device = _answer(lambda: 0)
    cuda.get_device_capability = _answer(lambda: _asked().capability)
    cuda.get_device_name = _answer(lambda: _asked().name)
    cuda.get_device_properties = properties
    for name in ("synchronize", "init", "set_device", "empty_cache"):
        setattr(cuda, name, _answer(lambda: None))


def _patch_jit(jit: Any) -> None:
    def cached(func: Any = None, *args: Any, **kwargs: Any) -> CapturedKernel:
        options = kwargs.get("pass_configs"), kwargs.get("compile_flags")
        return _capture(with_options(func, *options))

    def compile_jit(self: Any, *args: Any, **kwargs: Any) -> CapturedKernel:
        kwargs.pop("__return_kernel", None)
        kwargs.update(kwargs.pop("__tune_params", {}))
        function = self.get_tir(*args, **kwargs)
        names = self.signature.parameters
        # Sizes of ``T.const`` are given by name and are no parameters.
        arrays = {name: value for name, value in kwargs.items() if name in names}
        given = self.signature.bind_partial(*args, **arrays).arguments
        noted = array_shapes.noted(function, given)
        return _capture(with_options(noted, self.pass_configs, self.compile_flags))

    jit.cached = cached
    jit.JITImpl.compile = compile_jit
    jit.JITImpl.__call__ = compile_jit


def _patch_tuner(tuner: Any) -> None:
    def tune(self: Any, *args: Any, **kwargs: Any) -> CapturedKernel:
        kwargs.pop("__return_kernel", None)
        names = list(self.jit_impl.signature.parameters)
        extra = tuned_arguments(self.configs, names, args, kwargs)
        return self.jit_impl(*args, **dict(kwargs, **extra))

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        config = first_configuration(self.configs)
        names = inspect.signature(self.fn).parameters
        function = self.fn(**{key: value for key, value in config.items() if key in names})
        kernel = function if isinstance(function, CapturedKernel) else _capture(function)
        return SimpleNamespace(
            kernel=kernel, func=kernel.prim_func, config=config, latency=None, ref_latency=None
        )

    tuner.AutoTuner.run = run
    tuner.AutoTuneImpl.__call__ = tune
    tuner.AutoTuneImpl.compile = tune


def _patch_driver(driver: Any) -> None:
    driver.get_num_sms = _answer(lambda: _asked().sm_count)
    driver.get_cuda_device_properties = _answer(
        lambda: sys.modules["torch"].cuda.get_device_properties()
    )
    driver.get_device_name = _answer(lambda: _asked().name)
    driver.get_shared_memory_per_block = _shared_memory(lambda: 49152)
    driver.get_max_dynamic_shared_size_bytes = _shared_memory(lambda: _asked().shared_per_sm_bytes)
    driver.get_persisting_l2_cache_max_size = _answer(lambda: _asked().l2_bytes)
    driver.get_registers_per_block = _answer(lambda: 65536)


def _shared_memory(size_bytes: Callable[[], int]) -> Callable[..., int]:
    def answer(device_id: int = 0, format: str = "bytes") -> int:  # noqa: A002
        return size_bytes() // {"bytes": 1, "kb": 1 << 10, "mb": 1 << 20}[format]

    return answer


def _patch_arch(arch: Any) -> None:
    def create(self: Any, target: Any) -> None:
        fake = _asked()
        self.target = target if not isinstance(target, (str, dict)) else fake.target()
        self.sm_version = fake.capability[0] * 10 + fake.capability[1]
        self.name = fake.name
        self.device = None
        self.platform = "CUDA"
        self.smem_cap = fake.shared_per_block_bytes
        self.compute_max_core = fake.sm_count
        self.warp_size = 32
        self.compute_capability = "{}{}".format(*fake.capability)
        self.reg_cap = 65536
        self.max_smem_usage = 2 * self.smem_cap
        self.sm_partition = 4
        self.l2_cache_size_bytes = fake.l2_bytes
        self.transaction_size = [32, 128]
        self.bandwidth = [750, 12080]
        self.available_tensor_instructions = None

    arch.CUDA.__init__ = create


def _patch_target(module: Any) -> None:
    module.auto_detect_target = _answer(lambda: _state.gpu.target())


def _patch_lower(module: Any) -> None:
    module.lower = _refuse


def _patch_torch(torch: Any) -> None:
    def leave(model: Any = None, **_: Any) -> Any:
        """`torch.compile` as it is without a compiler, which takes seconds to import."""
        return leave if model is None else model

    torch.compile = leave


def _patch_tvm(tvm: Any) -> None:
    tvm.compile = _refuse
    tvm.build = _refuse
    old_tvm.install(tvm)


def _patch_inspect(module: Any) -> None:
    """End `inspect.stack` where user code begins, as it would for ``python file.py``.

    TVM's parser asks for the stack, with source lines, at each function: half of its time.
    """

    def stack(context: int = 1) -> List[Any]:
        own = inspect.currentframe()
        frame = own and own.f_back
        frames: List[Any] = []
        while frame is not None and frame.f_code.co_filename not in _OURS:
            path, line = frame.f_code.co_filename, frame.f_lineno
            lines = linecache.getlines(path, frame.f_globals)
            first = max(0, min(line - 1 - context // 2, len(lines) - context))
            source = lines[first : first + context] if context > 0 else []
            # `inspect.getframeinfo` would look through all modules for the one of this path.
            info = (path, line, frame.f_code.co_name, source or None, line - 1 - first)
            frames.append(module.FrameInfo(frame, *info))
            frame = frame.f_back
        return frames

    module.stack = stack


_OURS = frozenset(
    os.path.join(os.path.dirname(__file__), name) for name in ("load.py", "evaluate.py")
)
_CAPTURES: Tuple[Tuple[str, Callable[[Any], None]], ...] = (
    ("inspect", _patch_inspect),
    ("tilelang.jit", _patch_jit),
    ("tilelang.autotuner.tuner", _patch_tuner),
    ("tilelang", _patch_lower),
    ("tilelang.transform.pass_config", other_versions.allow_unknown_options),
    ("torch", _patch_torch),
    ("tvm", _patch_tvm),
)
_ANSWERS: Tuple[Tuple[str, Callable[[Any], None]], ...] = (
    ("torch.cuda", _patch_torch_cuda),
    ("tilelang.carver.arch.driver", _patch_driver),
    ("tilelang.carver.arch.driver.cuda_driver", _patch_driver),
    ("tilelang.carver.arch.cuda", _patch_arch),
    ("tilelang.backend.target", _patch_target),
    ("tilelang.utils.target", _patch_target),
)
