"""The kernels that a Relax module calls, with the sizes of their arrays and the number of calls.

Operators that are no kernels yet are lowered by ``relax.transform.LegalizeOps``, as every pipeline
of TVM does first.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, NamedTuple, Tuple

from .ir import dialect

# Operators that are calls of functions, or that every stage of a pipeline may have.
_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")
_MAX_CALLS = 1 << 40


class GraphCall(NamedTuple):
    """A kernel that the Relax function `entry` calls `calls` times, with the same `sizes`."""

    entry: str
    name: str
    function: Any
    sizes: Dict[str, int]
    calls: int


def has_graph(module: Any) -> bool:
    """Whether an IRModule has Relax functions."""
    return any(_is_relax(function) for function in module.functions.values())


def binding_count(module: Any) -> int:
    """The number of variables that the Relax functions of a module bind."""
    return sum(
        len(block.bindings)
        for function in module.functions.values()
        if _is_relax(function)
        for block in getattr(function.body, "blocks", ())
    )


def graph_calls(module: Any, entry: str = "") -> List[GraphCall]:
    """The kernels that the Relax functions of a module call, or only the function `entry`.

    A function that another one calls is part of that.
    """
    module = _legalize(module)
    functions = {variable.name_hint: function for variable, function in module.functions.items()}
    graphs = {name: _calls(function) for name, function in functions.items() if _is_relax(function)}
    inner = {name for calls in graphs.values() for name, _ in calls if name in graphs}
    found: List[GraphCall] = []
    for name in graphs:
        if name != entry if entry else name in inner:
            continue
        counts: Dict[Tuple[str, Tuple[Tuple[str, int], ...]], int] = {}
        _count(name, 1, graphs, functions, counts, ())
        found.extend(
            GraphCall(name, callee, functions[callee], dict(sizes), calls)
            for (callee, sizes), calls in counts.items()
        )
    return found


def array_types(call: GraphCall) -> Tuple[str, ...]:
    """The element types and shapes of the arrays of a call: ``float32[1, 784]``."""
    found: List[str] = []
    for _, buffer in dialect.parameters(call.function):
        if buffer is not None:
            shape = (_extent(one, call.sizes) for one in buffer.shape)
            found.append("{}[{}]".format(buffer.dtype, ", ".join(shape)))
    return tuple(found)


def _extent(extent: Any, sizes: Dict[str, int]) -> str:
    value = getattr(extent, "value", None)
    if isinstance(value, int):
        return str(value)
    name = getattr(extent, "name", None)
    return str(extent) if name is None else str(sizes.get(str(name), name) or "?")


def _count(
    name: str,
    times: int,
    graphs: Dict[str, List[Tuple[str, Any]]],
    functions: Dict[str, Any],
    counts: Dict[Tuple[str, Tuple[Tuple[str, int], ...]], int],
    path: Tuple[str, ...],
) -> None:
    if name in path:
        # A recursion has no number of calls.
        return
    for callee, arguments in graphs[name]:
        if callee in graphs:
            _count(callee, times, graphs, functions, counts, (*path, name))
        elif type(functions.get(callee)).__name__ == "PrimFunc":
            key = callee, tuple(sorted(_sizes(functions[callee], arguments).items()))
            counts[key] = min(counts.get(key, 0) + times, _MAX_CALLS)


def _calls(function: Any) -> List[Tuple[str, List[Any]]]:
    """The functions of the module that a Relax function calls, with the arguments."""
    relax = sys.modules["tvm.relax"]
    found: List[Tuple[str, List[Any]]] = []

    def visit(node: Any) -> None:
        if type(node).__name__ != "Call":
            return
        if type(node.op).__name__ == "GlobalVar":
            found.append((str(node.op.name_hint), list(node.args)))
        elif getattr(node.op, "name", "") in _CALLS:
            fields = getattr(node.args[1], "fields", None)
            arguments = [node.args[1]] if fields is None else list(fields)
            found.append((str(node.args[0].name_hint), arguments))

    relax.analysis.post_order_visit(function, visit)
    return found


def _sizes(prim_func: Any, arguments: List[Any]) -> Dict[str, int]:
    """The sizes of the variables in the shapes of `prim_func` by those of the arguments."""
    found: Dict[str, int] = {}
    buffers = [buffer for _, buffer in dialect.parameters(prim_func) if buffer is not None]
    for buffer, argument in zip(buffers, arguments):
        kind = getattr(argument, "ty", None) or getattr(argument, "struct_info", None)
        shape = getattr(getattr(kind, "shape", None), "values", None)
        for own, given in zip(buffer.shape, () if shape is None else shape):
            name, size = getattr(own, "name", None), getattr(given, "value", None)
            if name is not None and isinstance(size, int):
                found[str(name)] = size
    return found


def _legalize(module: Any) -> Any:
    relax = sys.modules["tvm.relax"]
    try:
        return relax.transform.LegalizeOps()(module)
    except Exception:
        # An operator without a kernel; the others are counted.
        return module


def _is_relax(function: Any) -> bool:
    return type(function).__name__ == "Function" and "relax" in type(function).__module__
