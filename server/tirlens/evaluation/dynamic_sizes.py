"""The sizes of dynamic dimensions of a kernel, from the arrays with which it is called."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from tirlens.evaluation.libraries.torch.methods import strides_of
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.unknown_sizes import UnknownArgument
from tirlens.evaluation.values import UNKNOWN, GoalCall, Value
from tirlens.syntax_trees import FunctionNode, parameters

_SYMBOLS = ("dynamic", "symbolic", "var", "Var", "int32", "int64")
_SCALARS = ("int32", "int64", "uint32", "uint64")


@dataclass(frozen=True)
class Dimension:
    """The size ``name * factor + offset`` of a dimension, or the stride of one."""

    name: str
    factor: int = 1
    offset: int = 0

    def name_of(self, size: Value) -> int | None:
        """The value of the name for a size; None if none gives it."""
        if type(size) is not int or (size - self.offset) % self.factor:
            return None
        value = (size - self.offset) // self.factor
        return value if value > 0 else None


@dataclass(frozen=True)
class Parameter:
    """The dynamic dimensions of an array, None where one is not; or the name of a number.

    `name` is that of the parameter.
    """

    name: str
    shape: tuple[Dimension | None, ...] = ()
    strides: tuple[Dimension | None, ...] = ()
    number: str | None = None


def dynamic_dimensions(factory: FunctionNode) -> tuple[tuple[Parameter, ...], ...]:
    """The parameters of each kernel that a factory may return."""
    names = dict(_symbols(factory))
    shapes = _tuples(factory)
    inner = [
        node
        for node in ast.walk(factory)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and node is not factory
    ]
    kernels = [
        tuple(_parameter(item, names, shapes) for item in parameters(node)) for node in inner
    ]
    return tuple(
        kernel
        for kernel in kernels
        if any(item.number or any((*item.shape, *item.strides)) for item in kernel)
    )


def sizes_of(call: GoalCall, kernels: Sequence[Sequence[Parameter]]) -> dict[str, int]:
    """The sizes that the arguments of a call of the compiled kernel give to its names.

    The kernel is the one of which the parameters fit best. Names that are left have the sizes that
    the program gives with the compiled kernel.
    """
    positional, named = call.inner or ([], {})
    fits = [_fit(positional, named, kernel) for kernel in kernels]
    found = min(fits, key=lambda fit: (fit[0], -len(fit[1])))[1] if fits else {}
    names = {name for kernel in kernels for item in kernel for name in _names_of(item)}
    of_record = {
        name: size for name, size in call.record_sizes.items() if name in names and size > 0
    }
    return {**of_record, **found}


def note_record_sizes(given: Sequence[Value]) -> None:
    """Note the sizes in a dict that is `given` to a function or class with a kernel.

    A program that runs many kernels has a record of each: ``Case(build(64), sizes={"M": 16})``.
    """
    calls = [value for value in given if isinstance(value, GoalCall)]
    for table in given if calls else ():
        if isinstance(table, dict):
            sizes = {name: size for name, size in table.items() if type(size) is int}
            if len(sizes) == len(table) and all(isinstance(name, str) for name in sizes):
                for call in calls:
                    call.record_sizes.update(sizes)


def _names_of(parameter: Parameter) -> Iterator[str]:
    if parameter.number is not None:
        yield parameter.number
    for dimension in (*parameter.shape, *parameter.strides):
        if dimension is not None:
            yield dimension.name


def _fit(
    positional: Sequence[Value], named: Mapping[str, Value], kernel: Sequence[Parameter]
) -> tuple[int, dict[str, int]]:
    """How many arguments do not fit their parameters, and the sizes that the others give."""
    out: dict[str, int] = {}
    by_name = {parameter.name: parameter for parameter in kernel}
    misfits = max(len(positional) - len(kernel), 0) + len(named.keys() - by_name.keys())
    given = [*zip(positional, kernel, strict=False)]
    given += [(value, by_name[name]) for name, value in named.items() if name in by_name]
    for value, parameter in given:
        if isinstance(value, UnknownArgument) and parameter.shape:
            value = Tensor(tuple(value.all_dimensions(len(parameter.shape))), UNKNOWN)
        if isinstance(value, Tensor):
            if parameter.number is not None or len(value.shape) != len(parameter.shape):
                misfits += bool(parameter.number or parameter.shape)
                continue
            pairs = [*zip(parameter.shape, value.shape, strict=True)]
            if len(parameter.strides) == len(value.shape):
                pairs += zip(parameter.strides, strides_of(value), strict=True)
            for dimension, size in pairs:
                if dimension is not None and (found := dimension.name_of(size)) is not None:
                    out.setdefault(dimension.name, found)
        elif type(value) is int:
            misfits += bool(parameter.shape)
            if parameter.number is not None and value > 0:
                out.setdefault(parameter.number, value)
    return misfits, out


def typical_sizes(found: Sequence[dict[str, int]]) -> dict[str, int]:
    """Those of several sets of sizes that have the median product."""
    most = max((len(one) for one in found), default=0)
    whole = sorted(
        (one for one in found if len(one) == most), key=lambda one: math.prod(one.values())
    )
    return whole[len(whole) // 2] if whole else {}


def _symbols(factory: FunctionNode) -> Iterator[tuple[str, str]]:
    """``n = T.dynamic("num_tokens")`` as ``("n", "num_tokens")``; several at once, too."""
    for node in ast.walk(factory):
        if not isinstance(node, ast.Assign):
            continue
        target = node.targets[0]
        targets = target.elts if isinstance(target, ast.Tuple) else [target]
        if isinstance(node.value, ast.Tuple):
            made = [symbol for item in node.value.elts for symbol in _made_symbols(item) or [""]]
        else:
            made = _made_symbols(node.value)
        for item, symbol in zip(targets, made, strict=False):
            if isinstance(item, ast.Name) and symbol:
                yield item.id, symbol


def _made_symbols(node: ast.expr) -> list[str]:
    """The names of the symbols that a call makes: ``T.dynamic("m, n")``."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return []
    words = [item.value for item in node.args if isinstance(item, ast.Constant)]
    if node.func.attr not in _SYMBOLS or not words or not isinstance(words[0], str):
        return []
    return [word.strip() for word in words[0].split(",")]


def _tuples(factory: FunctionNode) -> dict[str, list[ast.Tuple | ast.List]]:
    """The tuples that the variables of a function may be: ``shape = (n, 128)``."""
    found: dict[str, list[ast.Tuple | ast.List]] = {}
    for node in ast.walk(factory):
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        value = node.value
        for item in (value.body, value.orelse) if isinstance(value, ast.IfExp) else (value,):
            if isinstance(item, (ast.Tuple, ast.List)):
                found.setdefault(node.targets[0].id, []).append(item)
    return found


def _parameter(
    item: ast.arg, names: dict[str, str], tuples: dict[str, list[ast.Tuple | ast.List]]
) -> Parameter:
    """``T.Tensor((n, 128), dtype)``, ``T.Tensor[(n, 128), dtype]`` or ``T.int32``."""
    annotation = item.annotation
    if isinstance(annotation, ast.Attribute) and annotation.attr in _SCALARS:
        return Parameter(item.arg, number=item.arg)
    shape: ast.expr | None = None
    strides: ast.expr | None = None
    if isinstance(annotation, ast.Call) and annotation.args:
        shape = annotation.args[0]
        strides = next((k.value for k in annotation.keywords if k.arg == "strides"), None)
        if strides is None and len(annotation.args) > 1:
            strides = annotation.args[1]
    elif isinstance(annotation, ast.Subscript):
        given = annotation.slice
        shape = given.elts[0] if isinstance(given, ast.Tuple) and given.elts else given
    return Parameter(
        item.arg, _dimensions(shape, names, tuples), _dimensions(strides, names, tuples)
    )


def _dimensions(
    shape: ast.expr | None,
    names: dict[str, str],
    tuples: dict[str, list[ast.Tuple | ast.List]],
) -> tuple[Dimension | None, ...]:
    """The dynamic dimensions of a tuple; of a variable, those that all its values agree on."""
    written = [shape] if isinstance(shape, (ast.Tuple, ast.List)) else []
    if isinstance(shape, ast.Name):
        written = tuples.get(shape.id, [])
    found = [tuple(_dimension(item, names) for item in one.elts) for one in written]
    if not found or len({len(one) for one in found}) > 1:
        return ()
    return tuple(items[0] if len(set(items)) == 1 else None for items in zip(*found, strict=True))


def _dimension(node: ast.expr, names: dict[str, str]) -> Dimension | None:
    """``n``, ``n + 1``, ``n - 1`` or ``n * 2``."""
    if isinstance(node, ast.Name):
        return Dimension(names[node.id]) if node.id in names else None
    if not isinstance(node, ast.BinOp) or not isinstance(node.left, ast.Name):
        return None
    number = node.right.value if isinstance(node.right, ast.Constant) else None
    if type(number) is not int or number <= 0 or node.left.id not in names:
        return None
    name = names[node.left.id]
    if isinstance(node.op, ast.Mult):
        return Dimension(name, factor=number)
    if isinstance(node.op, (ast.Add, ast.Sub)):
        return Dimension(name, offset=number if isinstance(node.op, ast.Add) else -number)
    return None
