"""The sizes of a kernel's dynamic dimensions, from the array arguments of a call.

A ``@tilelang.jit`` function of the eager style is called with its tensors.  Their shapes are stored
in an attribute of the function, by the names of its parameters.
"""

from __future__ import annotations

from typing import Any, Dict, Mapping, Sequence, Tuple, cast

from ..facts import Buffer

ATTRIBUTE = "tirlens.array_shapes"


def attach_shapes(function: Any, given: Mapping[str, Any]) -> Any:
    """`function` with the shapes of the arrays among the arguments `given`."""
    shapes = {name: _shape(value) for name, value in given.items()}
    known = {name: shape for name, shape in shapes.items() if shape}
    return function.with_attr(ATTRIBUTE, known) if known else function


def sizes(buffers: Sequence[Buffer], attributes: Mapping[str, Any]) -> Dict[str, int]:
    """The size of each variable that is a dimension of an array with a known shape."""
    shapes: Mapping[str, Any] = attributes.get(ATTRIBUTE) or {}
    out: Dict[str, int] = {}
    for buffer in buffers:
        if not buffer.is_parameter or buffer.name not in shapes:
            continue
        shape = [int(size) for size in shapes[buffer.name]]
        if len(shape) == len(buffer.shape):
            for dimension, size in zip(buffer.shape, shape):
                if isinstance(dimension, str):
                    out.setdefault(dimension, size)
    return out


def _shape(value: Any) -> Sequence[int]:
    shape: Any = getattr(value, "shape", None)
    if not isinstance(shape, tuple):
        return ()
    sizes = cast("Tuple[object, ...]", shape)
    known = [int(size) for size in sizes if isinstance(size, int)]
    return known if len(known) == len(sizes) else ()
