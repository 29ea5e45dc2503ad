"""Names of libraries, and the attributes that they have."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownMemberType=false

from __future__ import annotations

import math

from tirlens.evaluation.libraries.torch import shapes
from tirlens.evaluation.values import UNKNOWN, External, Value

_TORCH_DTYPES = {
    "half": "float16", "float": "float32", "double": "float64", "int": "int32", "long": "int64",
    "short": "int16",
}  # fmt: skip
_GENERIC = ("typing", "builtins", "collections")


def path_of(value: Value) -> str:
    """The dotted path of a library's name; empty for other values."""
    return value.path if isinstance(value, External) else ""


def attribute_of(base: External, name: str) -> Value:
    """An attribute of a library's name."""
    if base.path.startswith("torch.") and name == "itemsize":
        return shapes.itemsize(base) or UNKNOWN
    if base.path == "torch.device" and name in ("type", "index"):
        return "cuda" if name == "type" else 0
    if base.path == "torch":
        return External(f"torch.{_TORCH_DTYPES.get(name, name)}")
    if base.path == "torch.version" and name in ("hip", "xpu"):
        return None
    if base.path == "math" and name in ("inf", "pi", "e"):
        return getattr(math, name)
    return External(f"{base.path}.{name}")


def is_generic(path: str) -> bool:
    """Whether a subscript of the library's name is a type: ``tuple[int]``, ``Literal["a"]``."""
    return path.split(".")[0] in _GENERIC
