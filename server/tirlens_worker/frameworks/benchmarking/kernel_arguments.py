"""The arguments of a kernel that is run: arrays and sizes."""

from __future__ import annotations

import re
from typing import Any, Callable, List, Mapping, Tuple

from ...facts import Expr, KernelFacts
from ..ir import dialect
from ..symbolic.evaluation import evaluate
from ..symbolic.expression_text import text

# Upper bound of random integers: small ones are valid indices of most arrays.
_MAX_INTEGER = 128
_INTEGER = re.compile(r"u?int\d+$")

#: Makes an array of a data type and a shape; the last argument is the upper bound of integers.
NewArray = Callable[[str, Tuple[int, ...], int], Any]


class NotMeasuredError(Exception):
    """A device, a compiler or an argument is missing; the message says which."""


def arguments(
    prim_func: Any, facts: KernelFacts, sizes: Mapping[str, int], new_array: NewArray
) -> List[Any]:
    """The arguments of a call of the kernel: a new array for each buffer, sizes for scalars.

    Raises:
        NotMeasuredError: a dynamic dimension or a scalar is not among `sizes`, or a parameter is a
            pointer of which no array is known.
    """
    arrays = {
        buffer.name: (buffer.dtype, tuple(_size(extent, sizes) for extent in buffer.shape))
        for buffer in facts.buffers
        if buffer.is_parameter
    }
    below = max(1, min([_MAX_INTEGER] + [size for _, shape in arrays.values() for size in shape]))
    given: List[Any] = []
    for param, buffer in dialect.parameters(prim_func):
        if buffer is not None:
            given.append(new_array(*arrays[str(buffer.name)], below))
        elif str(param.dtype) == "handle":
            raise NotMeasuredError("of the pointer {} no array is known".format(param.name))
        else:
            given.append(_size(str(param.name), sizes))
    return given


def is_integer(dtype: str) -> bool:
    """Whether `dtype` is an integer type."""
    return _INTEGER.match(dtype) is not None


def _size(expr: Expr, sizes: Mapping[str, int]) -> int:
    """The value of an expression of a shape.

    Raises:
        NotMeasuredError: it depends on a size that is not given, or on data.
    """

    def value_of(name: str) -> int:
        if name not in sizes:
            raise NotMeasuredError("needs {0}: give --bind {0}=SIZE".format(name))
        return sizes[name]

    found = evaluate(expr, value_of)
    if found is None:
        raise NotMeasuredError("the size of an array is not known: {}".format(text(expr)))
    return int(found)
