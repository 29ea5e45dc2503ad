"""Libraries of kernels: their functions of numbers, and what makes a kernel of a function."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from tirlens.evaluation.libraries.library_function import LibraryFunction, of_constants
from tirlens.evaluation.operations import power
from tirlens.evaluation.values import (
    UNKNOWN,
    LibraryObject,
    LibraryResult,
    is_known,
)
from tirlens_worker import framework_names

_FRAMEWORKS = framework_names.MODULES
_WITH_NUMBERS = (*_FRAMEWORKS, "triton")
_WITH_KERNELS = (*_FRAMEWORKS, "triton", "cutlass", "numba")
_KERNEL_DECORATORS = ("prim_func", "macro", "inline", "kernel")


def ceildiv(left: int, right: int) -> int:
    return -(-left // right)


def _next_power_of_2(number: int) -> int:
    return 1 << (int(number) - 1).bit_length()


_OF_NUMBERS: dict[str, LibraryFunction] = {
    "abs": of_constants(abs),
    "cdiv": of_constants(ceildiv),
    "ceildiv": of_constants(ceildiv),
    "max": of_constants(max),
    "min": of_constants(min),
    "next_power_of_2": of_constants(_next_power_of_2),
    "pow": of_constants(power),
    "round": of_constants(round),
}


def is_kernel_decorator(path: str) -> bool:
    """Whether a decorator's path is one of functions that run on a device."""
    head, _, last = path.rpartition(".")
    return last in _KERNEL_DECORATORS and head.split(".")[0] in _WITH_KERNELS


def opens_kernel(path: str) -> bool:
    """Whether the context manager of a library opens the body of a kernel: ``T.Kernel``."""
    return path.startswith("tilelang.") and path.endswith(".Kernel")


def find(path: str) -> LibraryFunction | None:
    """The function of a library of kernels, of which all of a framework's have a result."""
    library, last = path.split(".")[0], path.rpartition(".")[2]
    if last == "dtype" and path.startswith(("tilelang.", "tvm.")):
        return lambda positional, named: (
            LibraryObject(path, tuple(positional)) if is_known(positional) else UNKNOWN
        )
    if library in _WITH_NUMBERS and last in _OF_NUMBERS:
        return _OF_NUMBERS[last]
    if library in _FRAMEWORKS:
        return lambda positional, named: LibraryResult(path, tuple(positional), named)
    return None
