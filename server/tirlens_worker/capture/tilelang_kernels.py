"""tilelang without a compiler: what it would compile is a kernel that records its launches."""

# The values of torch, tvm and tilelang have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import inspect
import sys
from typing import Any, Dict, List, Optional, Tuple

from ..program.compilations import first_configuration
from . import origins, recording
from .array_sizes import named_sizes, result_shape
from .origins import Call
from .recording import Kernel
from .unknown_values import UnknownInt, has_unknown_size, mark_size

# The attribute of a function that is a kernel, or that makes one, for the call it is defined in.
_ENCLOSING = "__tirlens_enclosing_call__"


def patch_builder(module: Any) -> None:
    """Note the call in which each function of ``T.prim_func`` is defined."""
    get = module.Builder.get

    def get_function(self: Any) -> Any:
        function = get(self)
        frame = origins.caller()
        while frame is not None and origins.is_framework(frame):
            inner = frame.f_locals.get("func")
            if inspect.isfunction(inner):
                _note(inner, frame.f_back)
                break
            frame = frame.f_back
        return function

    module.Builder.get = get_function


def _note(function: Any, frame: Any) -> None:
    if _ENCLOSING not in function.__dict__:
        setattr(function, _ENCLOSING, origins.enclosing_call(frame))


def patch_jit(jit: Any) -> None:
    """Make kernels that record in place of compiled ones."""
    # The name through which all compilations go.
    assert jit.cached is not None
    kernel_class = _kernel_class(sys.modules["tilelang.jit.kernel"])

    def new_kernel(func: Any = None, out_idx: Any = None, *args: Any, **kwargs: Any) -> Any:
        return kernel_class(func, out_idx, _plain_kernel(func))

    def compile_jit(self: Any, *args: Any, **kwargs: Any) -> Any:
        configurations = kwargs.pop("__tirlens_configurations", 0)
        kwargs.update(kwargs.pop("__tune_params", {}))
        function = self.get_tir(*args, **kwargs)
        call = _jit_call(self, args, kwargs)
        kernel = Kernel("tilelang", _name(function), call, configurations)
        return kernel_class(function, _outputs(function, self.out_idx), kernel)

    initialize = jit.JITImpl.__post_init__

    def initialize_jit(self: Any) -> None:
        initialize(self)
        function = _python_function(self.func)
        if function is not None:
            _note(function, origins.caller())

    jit.cached = new_kernel
    jit.JITImpl.compile = compile_jit
    jit.JITImpl.__post_init__ = initialize_jit


def _python_function(value: Any) -> Any:
    function = getattr(value, "orig_func", value)
    return function if inspect.isfunction(function) else None


def _jit_call(jit: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Call:
    """The call of a jitted function, which may be the result of another call."""
    function = _python_function(jit.func)
    if function is None:
        return Call("?", "?", None, "its factory is no function")
    outer: Optional[Call] = getattr(function, _ENCLOSING, None)
    if outer is not None:
        return outer.then(args, kwargs, function.__globals__)
    return origins.top_level_call(function).then(args, kwargs, function.__globals__)


def _plain_kernel(function: Any) -> Kernel:
    """The kernel of a function that was given to ``tilelang.compile``."""
    inner = _python_function(function)
    if inner is None:
        name = _name(function)
        return Kernel("tilelang", name, Call("?", name, None, "its definition is not known"))
    call: Optional[Call] = getattr(inner, _ENCLOSING, None)
    if call is None:
        call = origins.top_level_call(inner)
    return Kernel("tilelang", inner.__name__, call)


def _name(function: Any) -> str:
    inner = getattr(function, "orig_func", None)
    if inner is not None:
        return str(inner.__name__)
    return str((function.attrs or {}).get("global_symbol", "main"))


def _outputs(function: Any, out_idx: Any) -> Any:
    attributes = function.attrs
    if attributes and "tilelang_out_idx" in attributes:
        return [int(index) for index in attributes["tilelang_out_idx"]]
    return out_idx


def patch_tuner(tuner: Any) -> None:
    """Take the first configuration: none can be timed."""

    def choose_config(self: Any, args: Tuple[Any, ...], kwargs: Dict[str, Any]) -> Any:
        configs: Any = self.configs(*args, **kwargs) if callable(self.configs) else self.configs
        names = list(self.jit_impl.signature.parameters)
        first = first_configuration(configs)
        given = {**dict(zip(names, args)), **kwargs}
        if any(key in given for key in first):
            return {key: given.get(key, value) for key, value in first.items()}, 0
        return first, len(list(configs or ()))

    def tune(self: Any, *args: Any, **kwargs: Any) -> Any:
        return_kernel = kwargs.pop("__return_kernel", False)
        mode = self.jit_impl.initialize_jit_mode(*args, **kwargs)
        config, count = choose_config(self, args, kwargs)
        merged = dict(kwargs, **(config if count else {}))
        kernel = self.jit_impl.compile(*args, __tirlens_configurations=count, **merged)
        kernel.config, kernel.latency = config, 1.0
        if mode == "lazy" or return_kernel:
            return kernel
        _, arguments = self.jit_impl.func.parse_args(*args, **merged)
        return kernel(*arguments.values())

    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        config = first_configuration(self.configs)
        names = inspect.signature(self.fn).parameters
        function = self.fn(**{key: value for key, value in config.items() if key in names})
        if hasattr(function, "prim_func"):
            kernel = function
        else:
            out_idx = getattr(getattr(self, "compile_args", None), "out_idx", None)
            kernel = sys.modules["tilelang"].compile(function, out_idx=out_idx)
        kernel.config, kernel.latency = config, 1.0
        return tuner.AutotuneResult(
            latency=1.0, config=config, ref_latency=None, libcode="", func=kernel.prim_func,
            kernel=kernel,
        )  # fmt: skip

    tuner.AutoTuneImpl.__call__ = tune
    tuner.AutoTuneImpl.compile = lambda self, *args, **kwargs: tune(
        self, *args, __return_kernel=True, **kwargs
    )
    tuner.AutoTuner.run = run


def patch_bench(module: Any) -> None:
    """Call the timed function once; the time is without meaning."""

    def do_bench(fn: Any, *args: Any, **kwargs: Any) -> Any:
        fn()
        quantiles = kwargs.get("quantiles")
        return [1.0] * len(quantiles) if quantiles else 1.0

    module.do_bench = do_bench


def patch_profiler(module: Any) -> None:
    """Compare no results: there are none."""
    patch_bench(module)
    module.Profiler.assert_allclose = _run_both
    module.Profiler.manual_assert_close = _run_both
    module.Profiler.assert_consistent = lambda self, *_, **__: self.run_once()


def _run_both(self: Any, reference_program: Any, input_tensors: Any = None, **_: Any) -> None:
    self.func(*(self._get_inputs() if input_tensors is None else input_tensors))


def _kernel_class(module: Any) -> Any:
    """A subclass of tilelang's ``JITKernel`` that is compiled from nothing."""

    class RecordedKernel(module.JITKernel):
        """A kernel that records its launches and gives results of the right shapes."""

        def __init__(self, function: Any, out_idx: Any, kernel: Kernel) -> None:
            self.prim_func = function
            self.kernel = kernel
            self.adapter = self
            self.torch_function = self
            self.func = self
            self.artifact = None
            self.config = {}
            self._parameters = list(function.params)
            listed = [out_idx] if isinstance(out_idx, int) else list(out_idx or ())
            count = len(self._parameters)
            self.result_idx = [index % count for index in listed if count]
            self._returns_one = isinstance(out_idx, int) or len(self.result_idx) == 1

        @property
        def out_idx(self) -> List[int]:
            return self.result_idx

        @property
        def params(self) -> List[Any]:
            parameter = sys.modules["tilelang.engine.param"].KernelParam
            buffers = self.prim_func.buffer_map
            return [
                parameter.from_buffer(buffers[item])
                if item in buffers
                else parameter.from_var(item)
                for item in self._parameters
            ]

        @property
        def kernel_source(self) -> str:
            return ""

        @property
        def host_source(self) -> str:
            return ""

        def get_kernel_source(self, *_: Any, **__: Any) -> str:
            return ""

        def get_host_source(self) -> str:
            return ""

        def __call__(self, *arrays: Any, **named: Any) -> Any:
            sizes, unknown, outputs = self._bind((*arrays, *named.values()))
            recording.current().launch(self.kernel, sizes, unknown)
            if not outputs:
                return None
            return outputs[0] if self._returns_one else outputs

        def _bind(self, arrays: Tuple[Any, ...]) -> Tuple[Dict[str, int], List[str], List[Any]]:
            """The sizes of dynamic dimensions, those that depend on data, and the results."""
            buffers = self.prim_func.buffer_map
            # A caller may pass the arrays of results as well.
            all_given = len(arrays) >= len(self._parameters)
            results = [] if all_given else self.result_idx
            given = iter(arrays)
            sizes: Dict[str, int] = {}
            unknown: List[str] = []
            for index, parameter in enumerate(self._parameters):
                if index in results:
                    continue
                value = next(given, None)
                if parameter in buffers:
                    shape = getattr(value, "shape", None)
                    if shape is not None:
                        found = named_sizes(buffers[parameter].shape, shape)
                        sizes.update(found)
                        if has_unknown_size(value):
                            unknown.extend(found)
                        _forget_values(value)
                elif isinstance(value, int) and not isinstance(value, bool):
                    sizes[str(parameter.name)] = int(value)
                    if isinstance(value, UnknownInt):
                        unknown.append(str(parameter.name))
            outputs = [_new_array(buffers[self._parameters[i]], sizes) for i in results]
            if unknown:
                outputs = list(map(mark_size, outputs))
            return sizes, unknown, outputs

    return RecordedKernel


def _forget_values(array: Any) -> None:
    shapes = sys.modules.get("tirlens_worker.capture.torch_shapes")
    if shapes is not None:
        shapes.forget_values(array)


def _new_array(buffer: Any, sizes: Dict[str, int]) -> Any:
    torch: Any = sys.modules["torch"]
    dtype = sys.modules["tilelang.engine.param"].KernelParam.from_buffer(buffer)
    shape = result_shape(buffer.shape, sizes)
    return torch.empty(shape, dtype=dtype.torch_dtype(), device="meta")
