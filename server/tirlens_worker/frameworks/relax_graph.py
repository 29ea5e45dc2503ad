"""The kernels that a Relax module calls, with the sizes of their arrays and the number of calls.

Operators that are no kernels yet are lowered by ``relax.transform.LegalizeOps``, as every pipeline
of TVM does first.
"""

from __future__ import annotations

import sys
from typing import Any, Dict, List, NamedTuple, Tuple, Union

from .ir import dialect

# Operators that are calls of functions, or that every stage of a pipeline may have.
_CALLS = ("relax.call_tir", "relax.call_tir_inplace", "relax.call_tir_with_grad")
_MAX_CALLS = 1 << 40


# Of the variables in the shapes of a kernel: a size, or the name of a dimension of the graph.
Shapes = Dict[str, Union[int, str]]
_Counts = Dict[Tuple[str, Tuple[Tuple[str, Union[int, str]], ...]], int]


class GraphCall(NamedTuple):
    """A kernel that the Relax function `entry` calls `calls` times, with the same `shapes`."""

    entry: str
    name: str
    function: Any
    shapes: Shapes
    calls: int

    @property
    def sizes(self) -> Dict[str, int]:
        """The variables of the kernel whose sizes the graph gives."""
        return {name: value for name, value in self.shapes.items() if isinstance(value, int)}

    @property
    def dimensions(self) -> Dict[str, str]:
        """The variables of the kernel that are dimensions of the graph, with the names of these."""
        return {name: value for name, value in self.shapes.items() if isinstance(value, str)}


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
    return _graph_calls(_legalize(module), entry)


def calls_of_own_kernels(module: Any) -> Dict[str, GraphCall]:
    """For each kernel of a module the call of it that its Relax functions make most often."""
    found: Dict[str, GraphCall] = {}
    for call in _graph_calls(module, "") if has_graph(module) else ():
        if call.name not in found or call.calls > found[call.name].calls:
            found[call.name] = call
    return found


def _graph_calls(module: Any, entry: str) -> List[GraphCall]:
    functions = {variable.name_hint: function for variable, function in module.functions.items()}
    graphs = {name: _calls(function) for name, function in functions.items() if _is_relax(function)}
    inner = {name for calls in graphs.values() for name, _ in calls if name in graphs}
    found: List[GraphCall] = []
    for name in graphs:
        if name != entry if entry else name in inner:
            continue
        counts: _Counts = {}
        _count(name, 1, graphs, functions, counts, ())
        found.extend(
            GraphCall(name, callee, functions[callee], dict(shapes), calls)
            for (callee, shapes), calls in counts.items()
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
    counts: _Counts,
    path: Tuple[str, ...],
) -> None:
    if name in path:
        # A recursion has no number of calls.
        return
    for callee, arguments in graphs[name]:
        if callee in graphs:
            _count(callee, times, graphs, functions, counts, (*path, name))
        elif type(functions.get(callee)).__name__ == "PrimFunc":
            key = callee, tuple(sorted(_shapes(functions[callee], arguments).items()))
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
            outputs = getattr(node, "ty_args", None) or getattr(node, "sinfo_args", None) or ()
            arguments = [
                *_fields(node.args[1]),
                *(one for item in outputs for one in _fields(item)),
            ]
            found.append((str(node.args[0].name_hint), [*arguments, *node.args[2:]]))

    relax.analysis.post_order_visit(function, visit)
    return found


def _fields(node: Any) -> List[Any]:
    """The parts of a tuple, or of the type of one; what is none by itself."""
    fields = getattr(node, "fields", None)
    return [node] if fields is None else list(fields)


def _shapes(prim_func: Any, arguments: List[Any]) -> Shapes:
    """The variables in the shapes of `prim_func`, and its scalars, by those of the arguments.

    The arrays among `arguments` are in the order of those of the function, also those of the
    results, and so are the scalars, or shapes that have some.
    """
    parameters = dialect.parameters(prim_func)
    types = [_type(argument) for argument in arguments]
    arrays = [one for one in types if hasattr(one, "shape")]
    scalars = [
        scalar
        for argument, one in zip(arguments, types)
        if not hasattr(one, "shape")
        for scalar in getattr(argument, "values", None) or (argument,)
    ]
    pairs = list(zip((own for own, buffer in parameters if buffer is None), scalars))
    for buffer, array in zip((one for _, one in parameters if one is not None), arrays):
        pairs += zip(buffer.shape, getattr(array.shape, "values", None) or ())
    found: Shapes = {}
    for own, given in pairs:
        name, size = getattr(own, "name", None), getattr(given, "value", None)
        # Of `relax.PrimValue` the value is an expression.
        dimension, size = getattr(size or given, "name", None), getattr(size, "value", size)
        if name is not None and (isinstance(size, int) or dimension is not None):
            found[str(name)] = size if isinstance(size, int) else str(dimension)
    return found


def _type(argument: Any) -> Any:
    """The type of an array that is an argument or a result; `argument` itself if it is one."""
    return getattr(argument, "ty", None) or getattr(argument, "struct_info", None) or argument


def _legalize(module: Any) -> Any:
    relax = sys.modules["tvm.relax"]
    try:
        return relax.transform.LegalizeOps()(module)
    except Exception:
        # An operator without a kernel; the others are counted.
        return module


def _is_relax(function: Any) -> bool:
    return type(function).__name__ == "Function" and "relax" in type(function).__module__
