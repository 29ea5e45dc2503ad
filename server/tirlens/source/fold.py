"""Constant folding of the expressions of a file, from its text alone.

Names are looked up in the frame of one call and its enclosing frames.  A call of a function that
only returns an expression is inlined.  A value that is only known at run time raises
`UnknownValueError`.
"""

from __future__ import annotations

import ast
import operator
from typing import Any, cast

from tirlens.source import tensors
from tirlens.source.argument_parsers import PARSING, option_defaults
from tirlens.source.module_names import FunctionNode, Names, parameters
from tirlens.source.nodes import walk
from tirlens.source.scopes import END, Binding, Frame, Position, function_frame
from tirlens.source.values import (
    BINARY,
    COMPARE,
    FUNCTIONS,
    UNARY,
    Arguments,
    Known,
    Sequence,
    Tensor,
    UnknownValueError,
    Value,
    Written,
    apply,
    render,
)
from tirlens_worker import framework_names

_MAX_DEPTH = 24


class Folder:
    """The evaluator for one file."""

    def __init__(self, names: Names, tree: ast.Module) -> None:
        self._names = names
        self._functions = {
            node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)
        }
        self._depth = 0

    def fold(self, node: ast.expr, frame: Frame) -> Value:
        """The value of the expression `node` in `frame`.

        Raises:
            UnknownValueError: the value is only known at run time.
        """
        if self._depth > _MAX_DEPTH:
            raise UnknownValueError("too deep")
        self._depth += 1
        try:
            return self._fold(node, frame)
        finally:
            self._depth -= 1

    def code(self, node: ast.expr, frame: Frame) -> str:
        """`node` as an expression that is valid in the module, its local names replaced."""
        return render(self.fold(node, frame), self._names.torch)

    def fold_constant(self, node: ast.expr, frame: Frame) -> Any:
        """The constant value of an expression."""
        return self._constant(self.fold(node, frame))

    def arguments(self, call: ast.Call, frame: Frame) -> list[str]:
        """The arguments of a call as source text, ``**`` of known dicts spread out."""
        out: list[str] = []
        for argument in call.args:
            if isinstance(argument, ast.Starred):
                value = self.fold(argument.value, frame)
                spread = isinstance(value, (Known, Sequence))
                items = self._items(value) if spread else None
                out += (
                    [render(item, self._names.torch) for item in items]
                    if items is not None
                    else ["*" + render(value, self._names.torch)]
                )
            else:
                out.append(self.code(argument, frame))
        for keyword in call.keywords:
            value = self.fold(keyword.value, frame)
            if keyword.arg is not None:
                out.append(f"{keyword.arg}={render(value, self._names.torch)}")
            elif isinstance(value, Known) and isinstance(value.value, dict):
                pairs = cast("dict[str, Any]", self._constant(value))
                out += [f"{k}={render(Known(v), '')}" for k, v in pairs.items()]
            else:
                out.append("**" + render(value, self._names.torch))
        return out

    def bind(self, function: FunctionNode, call: ast.Call, frame: Frame) -> dict[str, Value]:
        """The known arguments of a call by parameter."""
        given: dict[str, Value] = {}
        positional = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
        if positional[:1] in (["self"], ["cls"]):
            positional = positional[1:]
        for name, argument in zip(positional, call.args, strict=False):
            if isinstance(argument, ast.Starred):
                break
            self._give(given, name, argument, frame)
        names = {item.arg for item in parameters(function)}
        for keyword in call.keywords:
            if keyword.arg is not None and keyword.arg in names:
                self._give(given, keyword.arg, keyword.value, frame)
            elif keyword.arg is None:
                try:
                    pairs: Any = self.fold_constant(keyword.value, frame)
                except UnknownValueError:
                    continue
                if isinstance(pairs, dict):
                    given |= {k: Known(v) for k, v in pairs.items() if k in names}  # pyright: ignore[reportUnknownVariableType]
        return given

    def _give(self, given: dict[str, Value], name: str, node: ast.expr, frame: Frame) -> None:
        try:
            given[name] = self.fold(node, frame)
        except UnknownValueError:
            # A default must not replace an argument that is given and unknown.
            given[name] = Arguments({})

    def _fold(self, node: ast.expr, frame: Frame) -> Value:
        if isinstance(node, ast.Constant):
            if node.value is Ellipsis or isinstance(node.value, (bytes, complex)):
                raise UnknownValueError("not a size")
            return Known(node.value)
        if isinstance(node, ast.Name):
            return self._name(node.id, frame, (node.lineno, node.col_offset))
        if isinstance(node, ast.Attribute):
            return self._attribute(node, frame)
        if isinstance(node, (ast.Tuple, ast.List)):
            return self._sequence(node, frame)
        if isinstance(node, ast.Dict):
            return self._dict(node, frame)
        if isinstance(node, ast.BinOp):
            return self._binary(node, frame)
        if isinstance(node, ast.UnaryOp):
            return apply(UNARY[type(node.op)], self.fold_constant(node.operand, frame))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = (
                self.fold_constant(node.left, frame),
                self.fold_constant(node.comparators[0], frame),
            )
            return apply(COMPARE[type(node.ops[0])], left, right)
        if isinstance(node, ast.BoolOp):
            return self._bool(node, frame)
        if isinstance(node, ast.IfExp):
            branch = node.body if self.fold_constant(node.test, frame) else node.orelse
            return self.fold(branch, frame)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, frame)
        if isinstance(node, ast.Call):
            return self._call(node, frame)
        raise UnknownValueError(f"{type(node).__name__} is not followed")

    def _name(self, name: str, frame: Frame, position: Position) -> Value:
        current: Frame | None = frame
        while current is not None:
            binding = current.binding(name, position)
            if binding is not None:
                try:
                    return self._value_of(binding, current)
                except UnknownValueError:
                    if current.parent is not None:
                        raise
                    return self._of_module(name)
            if name in current.given:
                return current.given[name]
            current, position = current.parent, END
        return self._of_module(name)

    def _of_module(self, name: str) -> Value:
        if name in self._names.module_level or name in ("int", "float", "bool", "str"):
            return Written(name)
        raise UnknownValueError(f"{name} is not known")

    def _value_of(self, binding: Binding, frame: Frame) -> Value:
        if binding.value is None:
            raise UnknownValueError("bound at run time")
        # Names inside the value precede the binding, so they have their earlier values.
        value = self.fold(binding.value, frame)
        for index in binding.path:
            items = self._items(value)
            if items is None or index >= len(items):
                if isinstance(value, Arguments) and index == 0:
                    continue
                raise UnknownValueError("cannot be unpacked")
            value = items[index]
        return value

    def _items(self, value: Value) -> tuple[Value, ...] | None:
        if isinstance(value, Sequence):
            return value.items
        if isinstance(value, Known) and isinstance(value.value, (tuple, list)):
            return tuple(Known(item) for item in cast("tuple[Any, ...]", self._constant(value)))
        return None

    def _constant(self, value: Value) -> Any:
        if not isinstance(value, Known):
            raise UnknownValueError("no constant")
        return value.value

    def _sequence(self, node: ast.Tuple | ast.List, frame: Frame) -> Value:
        items: list[Value] = []
        for item in node.elts:
            if isinstance(item, ast.Starred):
                spread = self._items(self.fold(item.value, frame))
                if spread is None:
                    raise UnknownValueError("cannot be unpacked")
                items += spread
            else:
                items.append(self.fold(item, frame))
        as_list = isinstance(node, ast.List)
        if all(isinstance(item, Known) for item in items):
            values = [self._constant(item) for item in items]
            return Known(values if as_list else tuple(values))
        return Sequence(tuple(items), as_list)

    def _dict(self, node: ast.Dict, frame: Frame) -> Value:
        out: dict[Any, Any] = {}
        written: list[str] = []
        constant = True
        for key, item in zip(node.keys, node.values, strict=True):
            value = self.fold(item, frame)
            code = render(value, self._names.torch)
            if key is None:
                spread: Any = self._constant(value)
                if not isinstance(spread, dict):
                    raise UnknownValueError("cannot be unpacked")
                pairs = cast("dict[Any, Any]", spread)
                out |= pairs
                written += [f"{k!r}: {v!r}" for k, v in pairs.items()]
                continue
            name = self.fold_constant(key, frame)
            apply(hash, name)
            constant = constant and isinstance(value, Known)
            if isinstance(value, Known):
                out[name] = value.value
            written.append(f"{name!r}: {code}")
        return Known(out) if constant else Written("{" + ", ".join(written) + "}")

    def _binary(self, node: ast.BinOp, frame: Frame) -> Value:
        left, right = self.fold(node.left, frame), self.fold(node.right, frame)
        if isinstance(left, Tensor) or isinstance(right, Tensor):
            return tensors.elementwise(left, right)
        if type(node.op) not in BINARY:
            raise UnknownValueError("operator is not followed")
        return apply(BINARY[type(node.op)], self._constant(left), self._constant(right))

    def _bool(self, node: ast.BoolOp, frame: Frame) -> Value:
        value: Value = Known(None)
        for item in node.values:
            value = self.fold(item, frame)
            if bool(self._constant(value)) is isinstance(node.op, ast.Or):
                return value
        return value

    def _subscript(self, node: ast.Subscript, frame: Frame) -> Value:
        base, index = self.fold(node.value, frame), self.fold_constant(node.slice, frame)
        if isinstance(base, Sequence):
            return apply(operator.getitem, base.items, index).value
        return apply(operator.getitem, self._constant(base), index)

    def _attribute(self, node: ast.Attribute, frame: Frame) -> Value:
        base = self.fold(node.value, frame)
        if isinstance(base, Arguments):
            default = base.defaults.get(node.attr)
            if default is None:
                raise UnknownValueError(f"no default of --{node.attr}")
            return self.fold(default, frame)
        if isinstance(base, Tensor):
            return tensors.attribute(base, node.attr)
        if isinstance(base, Written):
            return Written(f"{base.code}.{node.attr}")
        raise UnknownValueError(f".{node.attr} is not followed")

    def _call(self, node: ast.Call, frame: Frame) -> Value:
        if isinstance(node.func, ast.Attribute) and node.func.attr in PARSING:
            return option_defaults(node.func.value, frame)
        path = self._names.dotted_path(node.func) or ""
        if path.split(".")[0] == "torch":
            return self._tensor(path, node, frame)
        function = FUNCTIONS.get(path) or FUNCTIONS.get(
            path.split(".")[-1]
            if path.split(".")[0] in (*framework_names.MODULES, "triton")
            else ""
        )
        if function is not None:
            given = [self.fold_constant(item, frame) for item in node.args]
            named = {
                item.arg: self.fold_constant(item.value, frame)
                for item in node.keywords
                if item.arg
            }
            return apply(function, *given, **named)
        if isinstance(node.func, ast.Name) and node.func.id in self._functions:
            return self._call_of_file(self._functions[node.func.id], node, frame)
        if isinstance(node.func, ast.Attribute):
            base = self.fold(node.func.value, frame)
            if isinstance(base, Tensor):
                return tensors.method(base, node.func.attr, *self._operands(node, frame))
            if isinstance(base, Written) and base.code.split(".")[0] in self._names.module_level:
                return Written(f"{base.code}.{node.func.attr}({self._list(node, frame)})")
        if isinstance(node.func, ast.Name) and node.func.id in self._names.module_level:
            return Written(f"{node.func.id}({self._list(node, frame)})")
        raise UnknownValueError("call is not followed")

    def _list(self, node: ast.Call, frame: Frame) -> str:
        return ", ".join(self.arguments(node, frame))

    def _operands(self, node: ast.Call, frame: Frame) -> tuple[list[Value], dict[str, Value]]:
        """The arguments of a torch call; those that cannot be known are of no matter to shapes."""
        positional: list[Value] = []
        for item in node.args:
            if isinstance(item, ast.Starred):
                positional += self._items(self.fold(item.value, frame)) or ()
            else:
                positional.append(self.fold(item, frame))
        named: dict[str, Value] = {}
        for keyword in node.keywords:
            if keyword.arg in ("size", "dtype", "dim", "shape", "other"):
                named[keyword.arg] = self.fold(keyword.value, frame)
        return positional, named

    def _tensor(self, path: str, node: ast.Call, frame: Frame) -> Value:
        return tensors.create(path, *self._operands(node, frame), torch=self._names.torch)

    def _call_of_file(self, function: FunctionNode, node: ast.Call, frame: Frame) -> Value:
        """The value of a call of a function of this file."""
        last = function.body[-1] if function.body else None
        returns = [item for item in walk(function) if isinstance(item, ast.Return)]
        if isinstance(last, ast.Return) and returns == [last] and last.value is not None:
            module = frame
            while module.parent is not None:
                module = module.parent
            given = self.bind(function, node, frame)
            try:
                return self.fold(last.value, function_frame(function, given, module))
            except UnknownValueError:
                pass
        if function.decorator_list:
            raise UnknownValueError(f"{function.name} is not followed")
        return Written(f"{function.name}({self._list(node, frame)})")
