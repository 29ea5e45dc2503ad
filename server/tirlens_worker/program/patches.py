"""Patches of the frameworks: kernels are traced without a GPU, and nothing is compiled or run.

Kernel files query the GPU while they are imported and traced (the number of multiprocessors for
persistent kernels, the compute capability for the choice of an instruction), and compile their
kernels.  The patched queries return the values of the requested target.  A patched compilation
records its function.

The frameworks are patched in `sys.modules`, as far as the user's program has imported them.
`install` may be called again after further imports.
"""

from __future__ import annotations

import functools
import inspect
import linecache
import sys
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Mapping, Set, Tuple

from ..frameworks import (
    array_shapes,
    fast_syntax_trees,
    lazy_rewriting,
    old_relax,
    old_tilelang,
    old_tvm,
    removed_names,
)
from ..frameworks.targets import COMPILE_TARGET
from . import build_record, execution, fake_gpu, gpu_queries, other_versions, tuning
from .compilations import (
    CapturedKernel,
    NotRunError,
    capture,
    first_configuration,
    tuned_arguments,
    with_options,
    with_target,
)
from .relax_compilation import with_default_passes

_done: Set[str] = set()
_MAX_SOURCES = 1000
_ADD_LOWER_PASS = "tirx.add_lower_pass"


def install(target: Mapping[str, Any]) -> None:
    """Patch the queries of the GPU, for the GPU `target`, and the compilations.

    `target` may have ``kind``, ``arch`` (``sm_90``) and ``sm_count``.
    """
    fake_gpu.set_gpu(target)
    _install((*_CAPTURES, *_ANSWERS))


def install_captures() -> None:
    """Patch the compilations; queries return the values of the machine's GPU."""
    _install(_CAPTURES)


def _install(patches: Tuple[Tuple[str, Callable[[Any], None]], ...]) -> None:
    for name, patch in patches:
        module = sys.modules.get(name)
        if module is not None and name not in _done:
            _done.add(name)
            try:
                patch(module)
            except AttributeError:
                # Another version of the framework, without the attribute to patch.
                continue


def _capture_lowered(func: Any = None, *args: Any, **kwargs: Any) -> Any:
    """`tilelang.lower`: the function is recorded; there is no result to go on with."""
    capture(func)
    raise NotRunError("nothing is compiled while a file is analysed")


def _patch_inspect(module: Any) -> None:
    _patch_stack(module)
    patch_source_lines(module)


def _patch_stack(module: Any) -> None:
    """Patch `inspect.stack` to end at the first frame of user code, as in ``python file.py``.

    TVM's parser requests the stack with source lines for each function, half of its time.
    """

    def stack(context: int = 1) -> List[Any]:
        this_frame = inspect.currentframe()
        frame = this_frame and this_frame.f_back
        frames: List[Any] = []
        while frame is not None and frame.f_code.co_filename != execution.__file__:
            path, line = frame.f_code.co_filename, frame.f_lineno
            lines = linecache.getlines(path, frame.f_globals)
            first = max(0, min(line - 1 - context // 2, len(lines) - context))
            source = lines[first : first + context] if context > 0 else []
            # `inspect.getframeinfo` would search all modules for this path.
            info = (path, line, frame.f_code.co_name, source or None, line - 1 - first)
            frames.append(module.FrameInfo(frame, *info))
            frame = frame.f_back
        return frames

    module.stack = stack


def patch_source_lines(module: Any) -> None:
    """Patch `inspect.getsourcelines` to return what it has found for the same function before.

    tilelang requests the source of a kernel seven times, and each time it is read token by token.
    """
    find = module.getsourcelines
    # A code object is stored with its lines, so that no other one gets its identity.
    found: Dict[int, Tuple[Any, List[str], int]] = {}

    def getsourcelines(value: Any) -> Tuple[List[str], int]:
        code = getattr(value, "__code__", None)
        if not inspect.isfunction(value) or hasattr(value, "__wrapped__"):
            return find(value)
        known = found.get(id(code))
        if known is None:
            lines, number = find(value)
            while len(found) >= _MAX_SOURCES:
                del found[next(iter(found))]
            known = found[id(code)] = (code, lines, number)
        return list(known[1]), known[2]

    module.getsourcelines = getsourcelines


def _for_target(function: Any, target: Any) -> Any:
    """A function of tilelang with the target of its compilation, unless that is ``auto``."""
    is_open = target is None or (isinstance(target, str) and target == "auto")
    return function if is_open else with_target(function, target, COMPILE_TARGET)


def _patch_jit(jit: Any) -> None:
    def capture_cached(func: Any = None, *args: Any, **kwargs: Any) -> CapturedKernel:
        options = kwargs.get("pass_configs"), kwargs.get("compile_flags")
        return capture(_for_target(with_options(func, *options), kwargs.get("target")))

    def compile_jit(self: Any, *args: Any, **kwargs: Any) -> CapturedKernel:
        kwargs.pop("__return_kernel", None)
        kwargs.update(kwargs.pop("__tune_params", {}))
        function = self.get_tir(*args, **kwargs)
        names = self.signature.parameters
        # Sizes of ``T.const`` are given by name and are no parameters.
        arrays = {name: value for name, value in kwargs.items() if name in names}
        bound_arguments = self.signature.bind_partial(*args, **arrays).arguments
        with_shapes = array_shapes.attach_shapes(function, bound_arguments)
        complete = with_options(with_shapes, self.pass_configs, self.compile_flags)
        return capture(_for_target(complete, getattr(self, "target", None)))

    jit.cached = capture_cached
    jit.JITImpl.compile = compile_jit
    jit.JITImpl.__call__ = compile_jit
    jit.jit = _with_finished_functions(jit.jit)
    tilelang: Any = sys.modules.get("tilelang")
    if tilelang is not None:
        tilelang.jit = jit.jit


def _with_finished_functions(jit: Callable[..., Any]) -> Callable[..., Any]:
    """`tilelang.jit` that compiles a function of ``T.prim_func``, as older versions do."""

    @functools.wraps(jit)
    def jit_or_compile(func: Any = None, **options: Any) -> Any:
        def decorate(value: Any) -> Any:
            if type(value).__name__ != "PrimFunc":
                return jit(**options)(value)
            flags = options.get("pass_configs"), options.get("compile_flags")
            return capture(_for_target(with_options(value, *flags), options.get("target")))

        return decorate if func is None else decorate(func)

    return jit_or_compile


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
        kernel = function if isinstance(function, CapturedKernel) else capture(function)
        return SimpleNamespace(
            kernel=kernel, func=kernel.prim_func, config=config, latency=None, ref_latency=None
        )

    tuner.AutoTuner.run = run
    tuner.AutoTuneImpl.__call__ = tune
    tuner.AutoTuneImpl.compile = tune


def _patch_tilelang(module: Any) -> None:
    module.lower = _capture_lowered
    old_tilelang.install(module)


def _patch_torch(torch: Any) -> None:
    def leave(model: Any = None, **_: Any) -> Any:
        """`torch.compile` without a compiler, whose import takes seconds."""
        return leave if model is None else model

    torch.compile = leave


def _patch_tvm(tvm: Any) -> None:
    for module in (tvm, getattr(tvm, "tirx", None), getattr(tvm, "relax", None)):
        for name in ("compile", "build"):
            if hasattr(module, name):
                setattr(module, name, _capturing(getattr(module, name)))
    old_tvm.install(tvm)
    if hasattr(tvm, "relax"):
        old_relax.install()
    removed_names.install(tvm)


def _patch_tirx(package: Any) -> None:
    for module in (package, package.tirx):
        if hasattr(module, "compile"):
            module.compile = _capturing(module.compile)


def _capturing(compile_module: Callable[..., Any]) -> Callable[..., Any]:
    """`tvm.compile` and its like: the functions, for the target if they have none.

    A call by the framework itself is part of a compilation that is to be done.
    """

    def capture_or_compile(mod: Any = None, target: Any = None, *args: Any, **kwargs: Any) -> Any:
        frame = inspect.currentframe()
        caller = frame and frame.f_back
        if caller is not None and _is_of_framework(caller):
            return compile_module(mod, target, *args, **kwargs)
        pipeline = kwargs.get("relax_pipeline", args[1] if len(args) > 1 else "default")
        scheduled = with_default_passes(mod, target, pipeline)
        return capture(_with_lower_passes(with_target(scheduled, target)))

    return capture_or_compile


def _is_of_framework(frame: Any) -> bool:
    return str(frame.f_globals.get("__name__")).startswith(("tvm.", "tvm_tirx."))


def _with_lower_passes(module: Any) -> Any:
    """`module` after the passes of ``tirx.add_lower_pass`` that are the first of all.

    Those of later phases see lowered code.
    """
    tvm = sys.modules.get("tvm")
    if tvm is None:
        return module
    passes = tvm.transform.PassContext.current().config.get(_ADD_LOWER_PASS) or ()
    first = [one for phase, one in passes if int(phase) == 0]
    later = len(passes) - len(first)
    if later:
        text = "the figures are without passes of {} that see lowered code: {}"
        build_record.remark(text.format(_ADD_LOWER_PASS, later))
    is_function = type(module).__name__ == "PrimFunc"
    if not first or not (is_function or type(module).__name__ == "IRModule"):
        return module
    changed = tvm.IRModule({"main": module}) if is_function else module
    for one in first:
        changed = one(changed)
    return changed["main"] if is_function else changed


def _patch_relax_operators(op: Any) -> None:
    """Record kernels that become operators of a graph; no graph is built."""

    def handed_over(func: Any, name_hint: str, args: Any, *others: Any, out: Any = None) -> Any:
        capture(func)
        return others[-1] if out is None and others else out

    op.tensor_ir_op = handed_over
    op.tensor_ir_inplace_op = handed_over


def _patch_relax_builder(module: Any) -> None:
    """A builder in a function for operators of a graph that are called outside of one.

    Functions that make operators, kernels among them, take for granted that a model is being built.
    """
    builder = module.BlockBuilder
    current = builder.current

    def current_or_own() -> Any:
        if current() is None:
            builder().function("main", []).__enter__()
        return current()

    builder.current = staticmethod(current_or_own)


_CAPTURES: Tuple[Tuple[str, Callable[[Any], None]], ...] = (
    ("inspect", _patch_inspect),
    ("tilelang.jit", _patch_jit),
    ("tilelang.language.eager.ast", fast_syntax_trees.install),
    ("tilelang.language.eager.builder", lazy_rewriting.install),
    ("tilelang.autotuner.tuner", _patch_tuner),
    ("tilelang", _patch_tilelang),
    ("tilelang.transform.pass_config", other_versions.allow_unknown_options),
    ("torch", _patch_torch),
    ("tvm", _patch_tvm),
    ("tvm_tirx", _patch_tirx),
    ("tvm.relax.block_builder", _patch_relax_builder),
    ("tvm.te", build_record.patch_te),
    ("tvm.s_tir", build_record.patch_schedule),
    ("tvm.relax.transform", tuning.patch_transforms),
    ("tvm.s_tir.meta_schedule", tuning.patch_meta_schedule),
    ("tvm.relax.frontend.nn.op", _patch_relax_operators),
)
_ANSWERS: Tuple[Tuple[str, Callable[[Any], None]], ...] = (
    ("torch.cuda", gpu_queries.patch_torch_cuda),
    ("tvm.target", gpu_queries.patch_tvm_target),
    ("tvm.runtime.device", gpu_queries.patch_device),
    ("tvm_tirx.target", gpu_queries.patch_tvm_target),
    ("tvm_tirx.runtime.device", gpu_queries.patch_device),
    ("tilelang.carver.arch.driver", gpu_queries.patch_driver),
    ("tilelang.carver.arch.driver.cuda_driver", gpu_queries.patch_driver),
    ("tilelang.carver.arch.cuda", gpu_queries.patch_arch),
    ("tilelang.backend.target", gpu_queries.patch_target),
    ("tilelang.utils.target", gpu_queries.patch_target),
)
