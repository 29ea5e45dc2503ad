"""Sizes of the dynamic dimensions of a kernel that neither its call nor its arrays give.

A TVMScript function is often written for any size: ``n = T.int32()``, a ``T.handle`` with
``match_buffer``, a scalar parameter that bounds a loop. A size comes from the argument of that
name in the kernel's call, from a value that the file gives to the name, or from the name itself.
Sizes that are not from the call become smaller until the kernel's arrays fit the device, and it
does as little work as kernels of programs do.
"""

from __future__ import annotations

import ast
import math
import re
from typing import Any, Collection, Dict, Mapping, Optional, Tuple

from ..facts import KernelFacts, ModelSizes
from ..frameworks.symbolic.evaluation import evaluate
from ..program import execution, fake_gpu
from ..program.load import Loaded
from ..protocol import KernelRequest
from . import assumed_values
from .array_extents import sizes_of_accesses
from .device_fit import LONGEST_S, USUAL_SHARE
from .model_attempts import first_hints, sizes_of_model
from .packed_lengths import chunk_counts, longest_sequences
from .parameters import signed_parameters
from .plausible_work import work_time_s

# Of a dimension whose name says nothing.
_UNNAMED = 1024
_SMALLEST = 16
# Words around the name of an argument in that of the variable: `runtime_M`, `shape_m`, `n_size`.
_AROUND = re.compile(
    r"^(runtime|shape|size|dim|dyn|dynamic|actual|real|input|total|num|n)_|_(size|dim|len|length)$"
)
_BITS = re.compile(r"\d+")


def assumed_sizes(
    loaded: Loaded,
    request: KernelRequest,
    facts: KernelFacts,
    model: Optional[ModelSizes] = None,
    given: Optional[Mapping[str, int]] = None,
) -> Tuple[Dict[str, int], Optional[ModelSizes]]:
    """Sizes for the variables of `facts`, all of them integers, and those that a model gives.

    `model` are the arguments of the call that are those of a model, `given` the sizes of other
    kernels that this one has, too.
    """
    variables = [item.name for item in facts.variables if "float" not in item.dtype]
    missing = [name for name in variables if name not in facts.sizes]
    if not request.allow_assumed or not missing:
        return {}, None
    of_call = _sizes_of_call(request, facts.call)
    arguments = _arguments(loaded, facts.call)
    by_core = {_core(name): size for name, size in arguments.items()}
    of_core = {name: by_core[_core(name)] for name in missing if _core(name) in by_core}
    fixed = {**of_core, **{name: of_call[name] for name in missing if name in of_call}}
    fixed.update((name, size) for name, size in (given or {}).items() if name in missing)
    known = {**arguments, **facts.sizes, **first_hints(request), **request.bindings}
    of_model = sizes_of_model(request, model, [n for n in missing if n not in fixed], known)
    if of_model is not None:
        fixed = {**fixed, **of_model.values}
    free = {
        name: _size_of_name(request, name, variables, request.name)
        for name in missing
        if name not in fixed
    }
    limit_bytes = fake_gpu.current().memory_bytes * USUAL_SHARE

    def is_unusual() -> bool:
        sizes = {**facts.sizes, **fixed, **free}
        return _array_bytes(facts, sizes) > limit_bytes or work_time_s(facts, sizes) > LONGEST_S

    while free and is_unusual():
        largest = max(free, key=lambda name: free[name])
        if free[largest] <= _SMALLEST:
            break
        free[largest] //= 2
    sizes = {name: fixed.get(name) or free[name] for name in missing}
    if given and _array_bytes(facts, {**facts.sizes, **sizes}) > limit_bytes:
        # Those of another kernel are too large for this one.
        return assumed_sizes(loaded, request, facts, model)
    unsaid = [name for name in free if name not in request.hints]
    sizes.update(longest_sequences(facts, unsaid, {**facts.sizes, **sizes}))
    sizes.update(chunk_counts(facts, unsaid, {**arguments, **facts.sizes, **sizes}))
    # The argument H is not total_h, which counts the heads of all chunks.
    similar = [name for name in of_core if name not in arguments and name not in of_call]
    needed = sizes_of_accesses(facts, (*free, *similar), {**facts.sizes, **sizes})
    sizes.update(needed)
    dense = compact_strides(facts, {**facts.sizes, **sizes})
    sizes.update((name, size) for name, size in dense.items() if name in free)
    return sizes, of_model


def dimension_sizes(request: KernelRequest, dimensions: Mapping[str, str]) -> Dict[str, int]:
    """The sizes of variables that are dimensions of a graph, the same in all of its kernels.

    `dimensions` are the names that they have in the graph.
    """
    return {
        variable: _size_of_name(request, dimension, (dimension,), "")
        for variable, dimension in dimensions.items()
    }


def _size_of_name(
    request: KernelRequest, name: str, names: Collection[str], kernel_name: str
) -> int:
    """The size of the dimension `name`, one of `names`, that the file or the name says."""
    return (
        assumed_values.size(name, request.hints, names, kernel_name)
        or assumed_values.size(_core(name), request.hints)
        or _UNNAMED
    )


def _sizes_of_call(request: KernelRequest, call: str) -> Mapping[str, int]:
    """The sizes of dynamic dimensions with which the compiled kernel of a call is called."""
    nothing: Mapping[str, int] = {}
    found = (item.bindings for item in request.candidates if item.expression == call)
    return next(found, nothing)


def compact_strides(facts: KernelFacts, sizes: Mapping[str, int]) -> Dict[str, int]:
    """The strides that are variables, by name, as they are in arrays without gaps.

    An array is stored by rows if its last stride is 1, by columns if its first is. `sizes` are
    those of the variables.
    """
    found: Dict[str, int] = {}
    for buffer in facts.buffers:
        if not buffer.is_parameter or not buffer.strides:
            continue
        is_by_rows = buffer.strides[-1] == 1
        if not is_by_rows and buffer.strides[0] != 1:
            continue
        for position, stride in enumerate(buffer.strides):
            inner = buffer.shape[position + 1 :] if is_by_rows else buffer.shape[:position]
            extents = [evaluate(extent, sizes.get) for extent in inner]
            if isinstance(stride, str) and None not in extents:
                size = math.prod(int(extent or 0) for extent in extents)
                found[stride] = max(found.get(stride, 1), size)
    return found


def _core(name: str) -> str:
    """A name without the words around it, in lower case."""
    name = name.lower()
    return _AROUND.sub("", name) or name


def _arguments(loaded: Loaded, call: str) -> Dict[str, int]:
    """The sizes among the arguments of a call in the module, by name."""
    try:
        node = ast.parse(call.strip(), mode="eval").body
    except SyntaxError:
        return {}
    if not isinstance(node, ast.Call):
        return {}
    try:
        callee = _value(node.func, loaded)
        names = [parameter.name for parameter in signed_parameters(callee)]
    except Exception:
        names = []
    values: Dict[str, Any] = {}
    for name, argument in zip(names, node.args):
        values[name] = _literal(argument)
    for keyword in node.keywords:
        if keyword.arg is not None:
            values[keyword.arg] = _literal(keyword.value)
            continue
        try:
            values.update(_value(keyword.value, loaded))
        except Exception:
            continue
    return {name: size for name, size in values.items() if type(size) is int and size > 0}


def _literal(node: ast.expr) -> Optional[Any]:
    return node.value if isinstance(node, ast.Constant) else None


def _value(node: ast.expr, loaded: Loaded) -> Any:
    code = compile(ast.Expression(node), "<call>", "eval", dont_inherit=True)
    return execution.value_of(code, loaded.namespace)


def _array_bytes(facts: KernelFacts, sizes: Mapping[str, int]) -> int:
    """The bytes of the arrays that a kernel takes, of those whose shapes are known."""
    total = 0
    for buffer in facts.buffers:
        if buffer.is_parameter:
            extents = [evaluate(extent, sizes.get) for extent in buffer.shape]
            if None not in extents:
                bits = _BITS.search(buffer.dtype)
                elements = math.prod(int(extent or 0) for extent in extents)
                total += elements * int(bits.group() if bits else 8) // 8
    return total
