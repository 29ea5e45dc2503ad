"""One interface to the IR of all versions of TVM.

Nodes are identified by the names of their classes, which all versions share.  Names of attributes
differ between versions.  This module imports no framework.
"""

from __future__ import annotations

import re
import sys
from typing import Any, Dict, Iterable, Iterator, List, Optional, Tuple

BINARY = {
    "Add": "+",
    "Sub": "-",
    "Mul": "*",
    "Div": "/",
    "Mod": "truncmod",
    "FloorDiv": "//",
    "FloorMod": "%",
    "Min": "min",
    "Max": "max",
    "EQ": "==",
    "NE": "!=",
    "LT": "<",
    "LE": "<=",
    "GT": ">",
    "GE": ">=",
    "And": "and",
    "Or": "or",
    # Nodes of their own from apache-tvm 0.27 on, calls before.
    "LShift": "<<",
    "RShift": ">>",
    "BitwiseAnd": "&",
    "BitwiseOr": "|",
    "BitwiseXor": "^",
}

#: Loads of one element or vector; the second name is that of apache-tvm 0.27.
LOADS = frozenset({"BufferLoad", "TensorLoad"})
REGIONS = frozenset({"BufferRegion", "TensorRegion"})
#: The types of variables that are buffers: those of apache-tvm, and of TIRx as its own package.
_BUFFER_TYPES = frozenset({"BufferType", "TensorType"})
#: The axis of a layout that is memory; others are those of threads.
MEMORY_AXIS = "m"
_CUSTOM_TYPE = re.compile(r"custom\[(\w+)\]")
BLOCK_TAGS = ("blockIdx.x", "blockIdx.y", "blockIdx.z")
THREAD_TAGS = ("threadIdx.x", "threadIdx.y", "threadIdx.z")

SERIAL, PARALLEL, VECTORIZED, UNROLLED, THREAD_BINDING = range(5)


def kind(node: Any) -> str:
    """The name of the node's class."""
    return type(node).__name__


def key(node: Any) -> int:
    """The identity of an IR object (two Python wrappers of one object have the same)."""
    return hash(node)


def buffer_of(node: Any) -> Any:
    """The buffer of a load, store or region."""
    found = getattr(node, "buffer", None)
    return node.source if found is None else found


def dtype_of(node: Any) -> str:
    """The element type of an expression or variable, with its lanes (``float32x4``)."""
    found = getattr(node, "dtype", None)
    if found is None:
        found = getattr(getattr(node, "ty", None), "dtype", "handle")
    return type_name(found) or "handle"


def type_name(dtype: Any) -> str:
    """The name of an element type: ``tfloat32`` for tilelang's ``custom[tfloat32]``, too."""
    return _CUSTOM_TYPE.sub(r"\1", str(dtype))


def scope_of(buffer: Any) -> str:
    """The storage scope of a buffer: ``global``, ``shared.dyn``, ``local`` ..."""
    scope = buffer.scope
    return str(scope() if callable(scope) else scope) or "global"


def is_buffer(node: Any) -> bool:
    """Whether `node` is a buffer: a `Buffer`, or a variable of buffer or tensor type."""
    return kind(node) == "Buffer" or kind(getattr(node, "ty", None)) in _BUFFER_TYPES


def strides_of(buffer: Any) -> Tuple[Any, ...]:
    """The strides of a buffer in elements, as it or its layout states them; empty for row-major."""
    stated = getattr(buffer, "strides", None)
    if stated:
        return tuple(stated)
    factors = getattr(getattr(buffer, "layout", None), "shard", None)
    if factors is None or len(factors) != len(buffer.shape) or len(factors) < 2:
        # A dimension of several factors, as of a tiled layout, has no stride.
        return ()
    if any(str(factor.axis.name) != MEMORY_AXIS for factor in factors):
        return ()
    sizes = [plain(size) for size in buffer.shape]
    if sizes != [plain(factor.extent) for factor in factors]:
        return ()
    return tuple(factor.stride for factor in factors)


def range_of(one: Any) -> Tuple[Any, Any]:
    """The lower end and the extent of a range."""
    low = getattr(one, "min", None)
    return one.begin if low is None else low, one.extent


def op_name(call: Any) -> str:
    """The name of the callee: an op, a global function, or a string."""
    name = getattr(call.op, "name", None)
    if name is None:
        name = getattr(call.op, "name_hint", None)
    return str(name if name is not None else call.op)


def annotations_of(node: Any) -> Dict[str, Any]:
    """The annotations of the node as Python values, as far as they have such a form."""
    found = getattr(node, "annotations", None)
    if found is None:
        return {}
    return {str(name): plain(value) for name, value in found.items()}


def plain(value: Any) -> Any:
    """A constant, string or list of the IR as a Python value; anything else as its text."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value if not isinstance(value, str) else str(value)
    name = kind(value)
    if name in ("IntImm", "FloatImm", "StringImm", "Bool"):
        return value.value
    if name in ("Array", "List", "list", "tuple"):
        return [plain(element) for element in value]
    if name in ("Map", "Dict", "dict"):
        return {str(one): plain(other) for one, other in value.items()}
    return str(value)


def lanes_of(dtype: str) -> Tuple[str, int]:
    """``float32x4`` -> ``("float32", 4)``."""
    base, _, count = dtype.rpartition("x")
    if base and count.isdigit():
        return base, int(count)
    return dtype, 1


def parameters(func: Any) -> Tuple[Tuple[Any, Any], ...]:
    """The parameters of a PrimFunc, each with its buffer (None for a scalar)."""
    buffer_map = getattr(func, "buffer_map", None)
    pairs: List[Tuple[Any, Optional[Any]]] = []
    for param in func.params:
        buffer: Optional[Any] = None
        if is_buffer(param):
            buffer = param
        elif buffer_map is not None and param in buffer_map:
            buffer = buffer_map[param]
        pairs.append((param, buffer))
    return tuple(pairs)


def attributes(func: Any) -> Dict[str, Any]:
    """The attributes of a PrimFunc by name; none where it has none."""
    attrs = getattr(func, "attrs", None)
    if attrs is None:
        return {}
    return {str(name): attrs[name] for name in attrs.keys()}  # noqa: SIM118 - not a dict


#: Attributes of statements with the statements that they consist of.
_INNER = ("body", "block", "then_case", "else_case", "init")


def statements(stmt: Any) -> Iterator[Any]:
    """`stmt` and all statements and blocks below it."""
    if stmt is None:
        return
    yield stmt
    for part in getattr(stmt, "seq", ()):
        yield from statements(part)
    for name in _INNER:
        yield from statements(getattr(stmt, name, None))


def is_tilelang(func: Any) -> bool:
    """Whether a function of tilelang's TVM is a tilelang kernel, not plain TVMScript."""
    for stmt in statements(func.body):
        if str(getattr(stmt, "name_hint", "")) == "tilelang_root":
            return True
        if any(name.startswith("tl.") for name in annotations_of(stmt)):
            return True
        value = getattr(stmt, "value", None)
        if kind(value) == "Call" and op_name(value).startswith("tl."):
            return True
    return False


#: The jumps of statements and calls, in the spellings of the frameworks.
_JUMPS = {
    "Continue": "continue",
    "continue_loop": "continue",
    "Break": "break",
    "break_loop": "break",
    "loop_break": "break",
    "Return": "return",
    "ret": "return",
    "thread_return": "return",
    "gpu_thread_return": "return",
}


def jump_of(stmt: Any) -> Optional[str]:
    """``continue``, ``break`` or ``return`` if `stmt` is that, else None."""
    if kind(stmt) == "Evaluate" and kind(stmt.value) == "Call":
        return _JUMPS.get(op_name(stmt.value).rpartition(".")[2])
    return _JUMPS.get(kind(stmt))


def jumps(stmt: Any, exits: Iterable[str] = ("continue", "break", "return")) -> bool:
    """Whether a statement in `stmt`, the body of a loop, leaves an iteration of the loop early.

    Of the jumps in inner loops, only ``return`` does.
    """
    if stmt is None:
        return False
    jump = jump_of(stmt)
    if jump is not None and jump in exits:
        return True
    if kind(stmt) in ("For", "While"):
        exits = tuple(kind_of_exit for kind_of_exit in exits if kind_of_exit == "return")
    inner = [getattr(stmt, name, None) for name in _INNER]
    return any(jumps(part, exits) for part in (*getattr(stmt, "seq", ()), *inner))


def last_of(stmt: Any) -> Any:
    """The last statement of a sequence."""
    while kind(stmt) == "SeqStmt":
        stmt = stmt.seq[len(stmt.seq) - 1]
    return stmt


def is_equal(one: Any, other: Any) -> bool:
    """Whether two functions are the same but for the names and identities of their variables."""
    ffi = sys.modules.get("tvm_ffi")
    equal = getattr(ffi, "structural_equal", None) or sys.modules["tvm"].ir.structural_equal
    return bool(equal(one, other, map_free_vars=True))
