"""apache-tvm without a GPU: what it would compile is a module that records its launches."""

# The values of torch, tvm and tilelang have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false, reportUnknownLambdaType=false

from __future__ import annotations

import inspect
import sys
from typing import Any, Dict, List, Mapping, Optional, Tuple

from ..frameworks.ir import dialect
from ..program import fake_gpu
from . import origins, recording
from .answers import returns
from .array_sizes import named_sizes
from .origins import Call
from .recording import Kernel

_MAX_PARSED = 4096
# Arrays on the fake GPU of up to so many bytes have the values that they were made of.
_SMALL_BYTES = 1 << 20


class NotCapturedError(RuntimeError):
    """What the program wants is neither run nor recorded."""


# The calls in which functions were parsed: by the function, and by name the last of each.
_parsed: Dict[int, Tuple[Any, Call]] = {}
_named: Dict[str, Call] = {}


def patch_parser(module: Any) -> None:
    """Note the call in which each function or module is parsed."""
    parse = module.parse

    def parse_program(program: Any, *args: Any, **kwargs: Any) -> Any:
        result = parse(program, *args, **kwargs)
        if inspect.isfunction(program) or inspect.isclass(program):
            call = origins.enclosing_call(origins.caller()) or _top_level(program)
            for name, function in _functions(result):
                while len(_parsed) >= _MAX_PARSED:
                    del _parsed[next(iter(_parsed))]
                _parsed[hash(function)] = (function, call)
                _named[name or program.__name__] = call
        return result

    module.parse = parse_program


def _top_level(program: Any) -> Call:
    frame = origins.user_frame(origins.caller())
    file = origins.file_of(frame.f_globals) if frame is not None else "?"
    return Call(file, program.__qualname__, program.__qualname__)


def _functions(value: Any) -> List[Tuple[str, Any]]:
    """The kernels of a function or a module, with their names."""
    if type(value).__name__ == "PrimFunc":
        return [(_symbol(value), value)]
    functions: Mapping[Any, Any] = getattr(value, "functions", None) or {}
    return [
        (str(variable.name_hint), function)
        for variable, function in functions.items()
        if type(function).__name__ == "PrimFunc"
    ]


def _symbol(function: Any) -> str:
    attributes = function.attrs
    if attributes is not None and "global_symbol" in attributes:
        return str(attributes["global_symbol"])
    return str(getattr(function, "__name__", "main"))


def _call_of(name: str, function: Any) -> Call:
    known = _parsed.get(hash(function))
    if known is not None and known[0].same_as(function):
        return known[1]
    call = _named.get(name)
    frame = origins.user_frame(origins.caller())
    if call is not None or frame is None:
        return call or Call("?", name, None, "its definition is not known")
    around = origins.function_name(frame) or frame.f_code.co_name
    problem = "it is built by a program and not written as a function"
    return Call(origins.file_of(frame.f_globals), around, None, problem)


class RecordedModule:
    """In place of a compiled module: each of its functions records its launches."""

    def __init__(self, compiled: Any) -> None:
        found = _functions(compiled)
        if not found:
            raise NotCapturedError("tirlens capture: this module has no TIR function to record")
        self._kernels = {
            name: RecordedFunction(Kernel("tvm", name, _call_of(name, function)), function)
            for name, function in found
        }
        self.entry_name = next(iter(self._kernels))
        self.mod = self
        self.imports: List[Any] = []
        self.imported_modules: List[Any] = []

    def __call__(self, *arrays: Any) -> None:
        name = "main" if "main" in self._kernels else self.entry_name
        self._kernels[name](*arrays)

    def __getitem__(self, name: str) -> Any:
        return self._kernels[name]

    def __getattr__(self, name: str) -> Any:
        kernels = self.__dict__.get("_kernels", {})
        if name not in kernels:
            raise AttributeError(name)
        return kernels[name]

    def get_function(self, name: str, *_: Any, **__: Any) -> Any:
        """The function `name`."""
        return self._kernels[name]

    def jit(self, **_: Any) -> Any:
        """The module, which needs no compilation."""
        return self

    def export_library(self, *_: Any, **__: Any) -> None:
        """There is no library."""

    def inspect_source(self, *_: Any) -> str:
        """There is no source."""
        return ""

    get_source = inspect_source

    def time_evaluator(self, func_name: str, dev: Any = None, *_: Any, **__: Any) -> Any:
        """A function that launches the kernel once; its times are without meaning."""
        kernel = self._kernels.get(func_name) or self._kernels[self.entry_name]

        def evaluate(*arrays: Any) -> Any:
            kernel(*arrays)
            return sys.modules["tvm.runtime.module"].BenchmarkResult([1e-3])

        return evaluate


class RecordedFunction:
    """A function that records its launches."""

    def __init__(self, kernel: Kernel, function: Any) -> None:
        self._kernel = kernel
        self._parameters = dialect.parameters(function)

    def __call__(self, *arrays: Any) -> None:
        sizes: Dict[str, int] = {}
        for (parameter, buffer), value in zip(self._parameters, arrays):
            shape = getattr(value, "shape", None)
            if buffer is not None and shape is not None:
                sizes.update(named_sizes(list(buffer.shape), [int(size) for size in shape]))
            elif isinstance(value, int) and not isinstance(value, bool):
                sizes[str(parameter.name)] = value
        recording.current().launch(self._kernel, sizes)


def patch_build_module(module: Any) -> None:
    """Record in place of ``tvm.compile`` and ``tvm.build``."""

    def compile_module(mod: Any = None, *_: Any, **__: Any) -> Any:
        return RecordedModule(mod)

    for name in ("compile", "build"):
        if hasattr(module, name):
            setattr(module, name, compile_module)


def patch_tirx_build(module: Any) -> None:
    """Record in place of ``tvm.tirx.build``."""
    module.build = lambda mod=None, *_, **__: RecordedModule(mod)


def patch_device(module: Any) -> None:
    """Answer queries of a CUDA device."""
    ask = module.Device._GetDeviceAttr

    def answer(self: Any, device_type: Any, index: int, attribute: int) -> Any:
        if int(device_type) != 2:
            return ask(self, device_type, index, attribute)
        gpu = fake_gpu.requested_gpu()
        version = "{}.{}".format(*gpu.capability)
        known: Dict[int, Any] = {
            0: 1, 1: 1024, 2: 32, 3: 49152, 4: version, 5: gpu.name, 6: 1_700_000,
            7: gpu.sm_count, 8: "[1024, 1024, 64]", 9: 65536, 12: gpu.memory_bytes,
            13: gpu.l2_bytes,
        }  # fmt: skip
        return known.get(attribute)

    module.Device._GetDeviceAttr = answer
    if hasattr(module.Device, "sync"):
        module.Device.sync = lambda self, stream=None: None


class GpuArray:
    """An array on the fake GPU: a shape, and the values that it was made of if it is small."""

    def __init__(self, shape: Any, dtype: Any, device: Any, values: Any = None) -> None:
        self.shape = tuple(int(size) for size in shape)
        self.dtype = str(dtype)
        self.device = device
        small = values is not None and values.nbytes <= _SMALL_BYTES
        self._values = values if small else None

    def numpy(self) -> Any:
        """The values; zeros where they are not known."""
        if self._values is not None:
            return self._values
        numpy: Any = sys.modules["numpy"]
        try:
            return numpy.zeros(self.shape, self.dtype)
        except TypeError:
            return numpy.zeros(self.shape, "float32")

    asnumpy = numpy

    def copyfrom(self, source: Any) -> Any:
        """Take the shape alone."""
        return self

    def copyto(self, target: Any, *_: Any) -> Any:
        """A copy on another device."""
        if isinstance(target, GpuArray) or not hasattr(target, "dlpack_device_type"):
            return target
        runtime: Any = sys.modules["tvm.runtime._tensor"]
        return runtime.tensor(self.numpy(), target)


def patch_tensor(module: Any) -> None:
    """Arrays on a CUDA device take no memory."""
    empty: Any = module.empty
    tensor: Any = getattr(module, "tensor", None)

    def new_empty(
        shape: Any, dtype: Any = "float32", device: Any = None, mem_scope: Any = None
    ) -> Any:
        if _is_cuda(device):
            return GpuArray(shape if hasattr(shape, "__iter__") else (shape,), dtype, device)
        return empty(shape, dtype, device, mem_scope)

    def new_tensor(arr: Any, device: Any = None, mem_scope: Any = None) -> Any:
        if _is_cuda(device):
            values = arr if hasattr(arr, "nbytes") else sys.modules["numpy"].asarray(arr)
            values = values if not isinstance(values, GpuArray) else values.numpy()
            return GpuArray(values.shape, values.dtype, device, values)
        return tensor(arr.numpy() if isinstance(arr, GpuArray) else arr, device, mem_scope)

    module.empty = new_empty
    if tensor is not None:
        module.tensor = new_tensor


def _is_cuda(device: Any) -> bool:
    kind: Optional[Any] = getattr(device, "dlpack_device_type", None)
    return kind is not None and int(kind()) == 2


def patch_testing(module: Any) -> None:
    """Compare no results: there are none."""
    for name in ("assert_allclose", "assert_array_equal", "assert_array_almost_equal"):
        if hasattr(module, name):
            setattr(module, name, returns(None))


def patch_numpy(numpy: Any) -> None:
    """Results that are compared are equal."""
    numpy.allclose = numpy.array_equal = returns(True)
