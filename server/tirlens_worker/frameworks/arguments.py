"""Arrays and sizes with which a kernel of TVM can be run."""

from __future__ import annotations

import importlib
import re
from typing import Any, Callable, List, Mapping, Tuple

from ..facts import Expr, KernelFacts
from . import dialect

# A small integer is a valid index of any array, whatever it is used for.
_MOST = 128
_NUMPY_TYPE = re.compile(r"(float|u?int)(8|16|32|64)$")


class NotMeasuredError(Exception):
    """There is nothing here to run the kernel on or with; the message says what is wanting."""


def arguments(
    prim_func: Any, facts: KernelFacts, sizes: Mapping[str, int], tvm: Any, device: Any
) -> List[Any]:
    """Random arrays on `device` for the array parameters, sizes for the scalars.

    Raises:
        NotMeasuredError: a dynamic dimension is not among `sizes`.
    """
    arrays = {
        buffer.name: (buffer.dtype, tuple(evaluate(extent, sizes) for extent in buffer.shape))
        for buffer in facts.buffers
        if buffer.is_parameter
    }
    below = max(1, min([_MOST] + [size for _, shape in arrays.values() for size in shape]))
    given: List[Any] = []
    for param, buffer in dialect.parameters(prim_func):
        if buffer is None:
            given.append(evaluate(str(param.name), sizes))
        else:
            dtype, shape = arrays[str(buffer.name)]
            given.append(_random(tvm, device, dtype, shape, below))
    return given


def _random(tvm: Any, device: Any, dtype: str, shape: Tuple[int, ...], below: int) -> Any:
    numpy = importlib.import_module("numpy")
    random = numpy.random.default_rng(0)
    tensor = tvm.runtime.empty(shape, dtype, device)
    known = _NUMPY_TYPE.match(dtype)
    # The values of types that numpy does not have do not matter for the time.
    if known is not None:
        whole = known.group(1) != "float"
        data = random.integers(0, below, shape) if whole else random.random(shape)
        tensor.copyfrom(data.astype(dtype))
    return tensor


_OPERATORS: Mapping[str, Callable[[int, int], int]] = {
    "+": int.__add__,
    "-": int.__sub__,
    "*": int.__mul__,
    "//": int.__floordiv__,
    "%": int.__mod__,
    "min": min,
    "max": max,
}


def evaluate(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The size that a shape's expression has.

    Raises:
        NotMeasuredError: it depends on a size that is not given, or on data.
    """
    if isinstance(expr, str):
        if expr not in sizes:
            raise NotMeasuredError("needs {0}: give --bind {0}=SIZE".format(expr))
        return sizes[expr]
    if isinstance(expr, (int, float)):
        return int(expr)
    if expr[0] == "cast":
        return evaluate(expr[2], sizes)
    if expr[0] not in _OPERATORS:
        raise NotMeasuredError("the size of an array is not known: {}".format(expr))
    first, *rest = (evaluate(part, sizes) for part in expr[1:])
    for value in rest:
        first = _OPERATORS[expr[0]](first, value)
    return first
