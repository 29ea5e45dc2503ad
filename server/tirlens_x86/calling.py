"""The arguments of a compiled TVM function in memory, after tvm-ffi's calling convention.

Source: ``tvm/ffi/c_api.h`` (``TVMFFIAny``, ``TVMFFISafeCallType``) and ``dlpack.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

_ARGUMENTS, _TENSORS, _SHAPES, _DATA = 0x1000_0000, 0x2000_0000, 0x3000_0000, 0x10_0000_0000
_RESULT = 0x0800_0000
# Between the data of two arrays.
_DATA_STEP = 1 << 36
_INT, _TENSOR_POINTER = 1, 7
_CPU = 1
_CODES = {"int": 0, "uint": 1, "float": 2, "bfloat": 4, "bool": 6}


@dataclass(frozen=True)
class ArrayArgument:
    """An array: the extents of its shape, and its element type (``float32``)."""

    shape: tuple[int, ...]
    dtype: str


def packed_call(
    arguments: Sequence[ArrayArgument | int],
) -> tuple[dict[int, tuple[int, int]], tuple[int, ...]]:
    """Memory (bits and value by address) and the four arguments of a packed function."""
    memory: dict[int, tuple[int, int]] = {}
    for number, argument in enumerate(arguments):
        at = _ARGUMENTS + 16 * number
        if isinstance(argument, int):
            memory[at], memory[at + 8] = (32, _INT), (64, argument)
            memory[at + 4] = (32, 0)
            continue
        tensor, shape = _TENSORS + 128 * number, _SHAPES + 1024 * number
        memory[at], memory[at + 4], memory[at + 8] = (32, _TENSOR_POINTER), (32, 0), (64, tensor)
        name = argument.dtype.rstrip("0123456789")
        bits = int(argument.dtype[len(name) :] or 8)
        memory |= {
            tensor: (64, _DATA + number * _DATA_STEP),
            tensor + 8: (32, _CPU),
            tensor + 12: (32, 0),
            tensor + 16: (32, len(argument.shape)),
            tensor + 20: (8, _CODES.get(name, 2)),
            tensor + 21: (8, bits),
            tensor + 22: (16, 1),
            tensor + 24: (64, shape),
            tensor + 32: (64, 0),
            tensor + 40: (64, 0),
        }
        for axis, extent in enumerate(argument.shape):
            memory[shape + 8 * axis] = (64, extent)
    return memory, (0, _ARGUMENTS, len(arguments), _RESULT)
