"""The IR of both frameworks by the names that the reference executor uses for its parts.

Only what differs between apache-tvm 0.27 and tilelang's TVM is here; nothing of TIRLens is used.
"""

from __future__ import annotations

import re
from typing import Any

CHOICES = ("if_then_else", "tirx.if_then_else")
THREADS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")


class RefusedError(Exception):
    """The executor does not know what a piece of IR means."""


class DataError(Exception):
    """What happens depends on the contents of an array."""


class TooBigError(Exception):
    """More would have to be executed than the budget allows."""


def words(text: str) -> frozenset[str]:
    """The words of a text as a set."""
    return frozenset(text.split())


def kind(node: Any) -> str:
    return type(node).__name__


def key(variable: Any) -> int:
    """What tells two variables or buffers apart."""
    return hash(variable)


def dtype(node: Any) -> str:
    found = getattr(node, "dtype", None)
    if found is None:
        found = getattr(getattr(node, "ty", None), "dtype", "handle")
    return str(found)


def element(name: str) -> tuple[str, int]:
    """``float32x4`` is four of ``float32``."""
    found = re.fullmatch(r"(.*?)x(\d+)", name)
    return (found.group(1), int(found.group(2))) if found else (name, 1)


def lanes(index: Any) -> int:
    """How many elements an index denotes."""
    if kind(index) != "Ramp":
        return 1
    found = constant(index.lanes)
    if found is None:
        raise RefusedError("a vector of unknown length")
    return int(found)


def width(name: str) -> int:
    """The bits of one element."""
    base, lanes = element(name)
    if base == "bool":
        return 8
    found = re.search(r"\d+", base)
    if found is None:
        raise RefusedError(f"the type {name}")
    return int(found.group()) * lanes


def floating(name: str) -> bool:
    return "float" in name


def integral(name: str) -> bool:
    return name.startswith(("int", "uint", "bool"))


def buffer_of(node: Any) -> Any:
    """The buffer of a load, a store or a region."""
    for name in ("buffer", "source", "dest"):
        found = getattr(node, name, None)
        if found is not None:
            return found
    raise RefusedError(f"{kind(node)} of no buffer")


def scope_of(buffer: Any) -> str:
    found = buffer.scope
    return str(found() if callable(found) else found) or "global"


def is_buffer(node: Any) -> bool:
    return kind(node) == "Buffer" or kind(getattr(node, "ty", None)) == "BufferType"


def called(node: Any) -> str:
    """The name of what a call calls, without the namespace of TVM's own operations."""
    name = str(getattr(node.op, "name", None) or getattr(node.op, "name_hint", node.op))
    return re.sub(r"^(tirx|prim|tir)\.", "", name).replace("tl.tileop.", "tl.")


def constant(node: Any) -> Any:
    """The value of a literal, None of anything else."""
    if isinstance(node, (bool, int, float, str)):
        return node
    if kind(node) in ("IntImm", "FloatImm", "StringImm"):
        return node.value
    return None


_METHODS = ("method", "function", "builtin_function_or_method")
#: Fields through which the parts of a statement or expression are reached.
_PARTS = sorted(
    words(
        "seq body block init then_case else_case condition value min extent step indices args a b "
        "true_value false_value base predicate iter_values vectors message"
    )
)


def everything(node: Any) -> Any:
    """`node` and all statements and expressions below it."""
    if node is None or isinstance(node, (bool, int, float, str)):
        return
    yield node
    for part in parts(node):
        yield from everything(part)


def parts(node: Any) -> list:
    """The statements and expressions right below `node`."""
    found: list = []
    for name in _PARTS:
        part = getattr(node, name, None)
        if part is None or kind(part) in _METHODS:
            continue
        several = hasattr(part, "__len__") and not isinstance(part, str)
        found.extend(part if several else [part])
    return [part for part in found if not isinstance(part, (bool, int, float, str))]
