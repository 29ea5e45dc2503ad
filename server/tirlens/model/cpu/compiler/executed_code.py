"""Executed code: how often each instruction that LLVM made of a kernel executes.

It takes the place of what the other modules of this folder estimate, where the kernel has been
compiled for the processor of the device and its integers decide how often each block executes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from tirlens.hardware.spec import Device
from tirlens_worker.facts import KernelFacts
from tirlens_x86 import (
    ArrayArgument,
    ProgramCounts,
    UndecidedError,
    count_executions,
    packed_call,
    read,
)

# The beginning of the name of a function that TVM exports, and the one that calls another.
_EXPORTED, _MAIN = "__tvm_ffi_", "__tvm_ffi_main"


def executed_code(
    facts: KernelFacts, shapes: Mapping[str, Sequence[int]], device: Device
) -> ProgramCounts | None:
    """The executions of a kernel's instructions on the busiest core.

    None if the kernel is not compiled for the device, or if data decide what executes.
    """
    assert device.cpu is not None
    assembly = facts.assembly_for(device.cpu.processor)
    if assembly is None or facts.variables:
        return None
    parameters = tuple(
        ArrayArgument(tuple(shapes[buffer.id]), buffer.dtype)
        for buffer in facts.buffers
        if buffer.is_parameter and buffer.id in shapes
    )
    return _counts(assembly.text, parameters, device.sm_count)


@lru_cache(maxsize=64)
def _counts(text: str, parameters: tuple[ArrayArgument, ...], tasks: int) -> ProgramCounts | None:
    functions = read(text)
    exported = [name for name in functions if name.startswith(_EXPORTED) and name != _MAIN]
    if len(exported) > 1 or not functions:
        return None
    memory, arguments = packed_call(parameters)
    try:
        name = exported[0] if exported else _MAIN
        counted = count_executions(functions, name, memory, arguments, tasks)
    except (UndecidedError, KeyError):
        return None
    return None if counted.unknown_branches else counted
