"""The arrays that a compiled kernel returns (``out_idx``), by the types of its parameters."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import ast

from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.machine import Machine
from tirlens.evaluation.values import UNKNOWN, External, Frame, Function, LibraryObject, Value


def outputs_of(decorator: ast.expr) -> tuple[int, ...]:
    """The positions in ``@tilelang.jit(out_idx=[-1])``; none if there are none in the text."""
    if not isinstance(decorator, ast.Call):
        return ()
    given = next((item.value for item in decorator.keywords if item.arg == "out_idx"), None)
    try:
        found = None if given is None else ast.literal_eval(given)
    except ValueError:
        return ()
    positions = found if isinstance(found, (list, tuple)) else [found]
    return tuple(item for item in positions if type(item) is int)


def results(machine: Machine, kernel: Function) -> Value:
    """What a call of a kernel returns: an array or several; `UNKNOWN` if it writes arguments."""
    spec = kernel.node.args
    parameters = [*spec.posonlyargs, *spec.args]
    made: list[Value] = []
    for position in kernel.outputs:
        if not -len(parameters) <= position < len(parameters):
            return UNKNOWN
        made.append(_array(machine, parameters[position].annotation, kernel.frame))
    if not made:
        return UNKNOWN
    return made[0] if len(made) == 1 else tuple(made)


def _array(machine: Machine, annotation: ast.expr | None, frame: Frame) -> Value:
    """The array of a type ``T.Tensor((m, n), dtype)`` or ``T.Tensor[(m, n), dtype]``."""
    if isinstance(annotation, ast.Call):
        parts = annotation.args
    elif isinstance(annotation, ast.Subscript) and isinstance(annotation.slice, ast.Tuple):
        parts = annotation.slice.elts
    else:
        return UNKNOWN
    shape = machine.value(parts[0], frame) if parts else UNKNOWN
    if not isinstance(shape, (list, tuple)):
        return UNKNOWN
    dtype = machine.value(parts[1], frame) if len(parts) > 1 else UNKNOWN
    sizes = tuple(size if type(size) is int else UNKNOWN for size in shape)
    return Tensor(sizes, _torch_dtype(dtype))


def _torch_dtype(dtype: Value) -> Value:
    if isinstance(dtype, LibraryObject) and dtype.positional:
        dtype = dtype.positional[0]
    name = dtype.path.rpartition(".")[2] if isinstance(dtype, External) else dtype
    return External(f"torch.{name}") if isinstance(name, str) else UNKNOWN
