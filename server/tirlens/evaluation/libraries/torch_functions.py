"""Functions of torch that make no tensor."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import functools

from tirlens.evaluation.libraries.library_function import LibraryFunction
from tirlens.evaluation.libraries.torch import shapes
from tirlens.evaluation.values import UNKNOWN, Value, items_of


def _broadcast_shapes(positional: list[Value], named: dict[str, Value]) -> Value:
    """The shape of an elementwise result of arrays of these shapes; an integer is a shape, too."""
    given = [(item,) if type(item) is int else items_of(item) for item in positional]
    if any(shape is None for shape in given):
        return UNKNOWN
    return functools.reduce(shapes.broadcast, (tuple(shape or ()) for shape in given), ())


FUNCTIONS: dict[str, LibraryFunction] = {
    "torch.broadcast_shapes": _broadcast_shapes,
    "torch.cuda.current_device": lambda positional, named: 0,
    "torch.cuda.device_count": lambda positional, named: 1,
    "torch.cuda.is_available": lambda positional, named: True,
}
