"""Source text for calls and values, valid in the module of the kernel."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import cast

from tirlens.evaluation.function_text import lambda_text
from tirlens.evaluation.libraries.torch.shapes import Tensor
from tirlens.evaluation.machine import Machine
from tirlens.evaluation.operations import UnknownValueError
from tirlens.evaluation.values import (
    CallSite,
    Class,
    EnumMember,
    External,
    Function,
    GoalCall,
    Instance,
    LibraryObject,
    LibraryResult,
    ModuleScope,
    Value,
)
from tirlens.syntax_trees import FunctionNode, parameter_defaults

_MAX_BITS = 256
# An expression of these, with names of the module alone, has a value in the executed module.
_CLOSED = (
    ast.Name, ast.Attribute, ast.Call, ast.keyword, ast.Constant, ast.Tuple, ast.List,
    ast.expr_context,
)  # fmt: skip


class Renderer:
    """Renders values with the names that a module has.

    Parameters
    ----------
    scope
        The module of the kernel.
    machine
        Evaluates the imports of the module.
    """

    def __init__(self, scope: ModuleScope, machine: Machine) -> None:
        self._scope = scope
        self._machine = machine
        # The functions that are being written as lambdas.
        self._begun: set[ast.AST] = set()

    def call(self, name: str, call: GoalCall) -> str:
        """The call of the kernel `name` as source text, with the names of its parameters.

        Raises:
            UnknownValueError: an argument is not known.
        """
        if call.missing:
            raise UnknownValueError(", ".join(sorted(call.missing)))
        return f"{self._callee(name, call)}({self.keywords(call.arguments)}){self._inner(call)}"

    def written_call(self, name: str, call: GoalCall) -> str:
        """The call of the kernel `name` with its arguments as they are given.

        An argument whose value the text does not give stays the expression that it is in the call,
        where that has names of the module alone.

        Raises:
            UnknownValueError: an argument is not known.
        """
        spec = call.node.args
        places = [item.arg for item in (*spec.posonlyargs, *spec.args)]
        skipped = 1 if call.self_ is not None else 0
        given = {*places[: len(call.positional) + skipped], *call.named}
        absent = call.missing - given - set(parameter_defaults(cast("FunctionNode", call.node)))
        parameters = {*places, *(item.arg for item in spec.kwonlyargs)}
        # A function of arrays may be given sizes of theirs in their place (`compile(M=4096)`), and
        # one that is specialised is given no arrays.
        if absent and not call.method and parameters.issuperset(call.named):
            raise UnknownValueError(", ".join(sorted(absent)))
        nodes = self._nodes(call.site, call)
        words = [self._argument(n, item, nodes) for n, item in enumerate(call.positional)]
        words += [f"{key}={self._argument(key, item, nodes)}" for key, item in call.named.items()]
        return f"{self._callee(name, call)}({', '.join(words)}){self._inner(call)}"

    def arguments(self, call: GoalCall) -> dict[str, str]:
        """The arguments of a call that can be written, by parameter, with those by default."""
        nodes = self._nodes(call.site, call)
        places = [item.arg for item in (*call.node.args.posonlyargs, *call.node.args.args)]
        names = {**dict(enumerate(places)), **{name: name for name in call.named}}
        written = {names[key]: ast.unparse(node) for key, node in nodes.items() if key in names}
        return {**self.texts(call.defaults), **written, **self.texts(call.arguments)}

    def texts(self, values: Mapping[str, Value]) -> dict[str, str]:
        """Those of some values that can be written, as source text."""
        out: dict[str, str] = {}
        for name, value in values.items():
            try:
                out[name] = self.text(value)
            except UnknownValueError:
                continue
        return out

    def keywords(self, values: Mapping[str, Value]) -> str:
        """Values as the keyword arguments of a call.

        Raises:
            UnknownValueError: one cannot be written.
        """
        return ", ".join(f"{key}={self.text(item)}" for key, item in values.items())

    def text(self, value: Value) -> str:
        """A value as source text.

        Raises:
            UnknownValueError: it cannot be written, or has an unknown part.
        """
        if isinstance(value, float) and not math.isfinite(value):
            return f"float('{value}')"
        if value is None or isinstance(value, (bool, int, float, str)):
            if isinstance(value, int) and value.bit_length() > _MAX_BITS:
                raise UnknownValueError("too large")
            return repr(value)
        if isinstance(value, External):
            return self._library_name(value.path)
        if isinstance(value, Tensor):
            return self._array(value)
        if isinstance(value, list):
            return f"[{', '.join(map(self.text, value))}]"
        if isinstance(value, tuple):
            return f"({', '.join(map(self.text, value))}{',' if len(value) == 1 else ''})"
        if isinstance(value, dict):
            pairs = (f"{self.text(key)}: {self.text(item)}" for key, item in value.items())
            return "{" + ", ".join(pairs) + "}"
        if isinstance(value, LibraryResult):
            given = self._arguments(value.positional, value.named)
            return f"{self._library_name(value.path)}({given})"
        if isinstance(value, LibraryObject):
            return f"{self._library_name(value.path)}({self._list(value.positional)})"
        if isinstance(value, EnumMember):
            return f"{self._class_name(value.of)}.{value.name}"
        if isinstance(value, Instance) and any(item.is_dataclass for item in value.of.lineage()):
            return f"{self._class_name(value.of)}({self.keywords(value.attributes)})"
        if isinstance(value, Function):
            return self._function(value)
        raise UnknownValueError("it has no literal")

    def _list(self, values: Iterable[Value]) -> str:
        return ", ".join(map(self.text, values))

    def _array(self, value: Tensor) -> str:
        """A tensor without storage."""
        if not isinstance(value.dtype, External) or any(type(n) is not int for n in value.shape):
            raise UnknownValueError("a tensor of unknown shape")
        torch, dtype = self._library_name("torch"), self._library_name(value.dtype.path)
        return f"{torch}.empty({self.text(value.shape)}, dtype={dtype}, device='meta')"

    def _callee(self, name: str, call: GoalCall) -> str:
        if isinstance(call.self_, Instance):
            name = f"{self._object(call.self_)}.{name.rpartition('.')[2]}"
        return f"{name}.{call.method}" if call.method else name

    def _object(self, value: Instance) -> str:
        """A construction of an object with its arguments.

        Raises:
            UnknownValueError: an argument is not known.
        """
        if value.arguments is None:
            raise UnknownValueError("an object that was made in an unknown way")
        return f"{self._class_name(value.of)}({self._arguments(*value.arguments)})"

    def _arguments(self, positional: Sequence[Value], named: Mapping[str, Value]) -> str:
        return ", ".join(filter(None, (self._list(positional), self.keywords(named))))

    def _inner(self, call: GoalCall) -> str:
        """The call of what a factory of factories returns; none of a kernel, which gets arrays."""
        positional, named = call.inner or ([], {})
        if any(isinstance(item, Tensor) for item in (*positional, *named.values())):
            return ""
        if call.inner is not None and isinstance(call.made(), Function):
            return ""
        try:
            words = self._arguments(positional, named)
        except UnknownValueError:
            return ""
        return f"({words})" if words else ""

    def _argument(self, key: int | str, value: Value, nodes: Mapping[int | str, ast.expr]) -> str:
        try:
            return self.text(value)
        except UnknownValueError:
            if key not in nodes:
                raise
            return ast.unparse(nodes[key])

    def _nodes(self, site: CallSite | None, call: GoalCall) -> dict[int | str, ast.expr]:
        """The expressions of the arguments of a call in this module that it gives values to."""
        if site is None or site.frame.module is not self._scope:
            return {}
        if not isinstance(site.function, Function) or site.function.node is not call.node:
            return {}
        spread = any(isinstance(item, ast.Starred) for item in site.node.args)
        nodes: dict[int | str, ast.expr] = {} if spread else dict(enumerate(site.node.args))
        nodes |= {item.arg: item.value for item in site.node.keywords if item.arg is not None}
        return {key: node for key, node in nodes.items() if self._is_closed(node, site)}

    def _is_closed(self, node: ast.expr, site: CallSite) -> bool:
        """Whether an expression of a call has the same value in the module itself."""
        for item in ast.walk(node):
            if not isinstance(item, _CLOSED):
                return False
            if isinstance(item, ast.Name) and not self._is_of_module(item.id, site):
                return False
        return True

    def _is_of_module(self, name: str, site: CallSite) -> bool:
        frame = site.frame
        while frame.parent is not None:
            if name in frame.names and not (frame.is_class and frame is not site.frame):
                return False
            frame = frame.parent
        return name in self._scope.bindings

    @cached_property
    def _imported(self) -> dict[str | Class | Function, str]:
        """The names that the module imports, by what they are."""
        out: dict[str | Class | Function, str] = {}
        for name, statements in self._scope.bindings.items():
            if name == "*" or not any(
                isinstance(item, (ast.Import, ast.ImportFrom)) for item in statements
            ):
                continue
            value = self._machine.value_for_text(
                lambda name=name: self._machine.module_value(self._scope, name)
            )
            if isinstance(value, External):
                out.setdefault(value.path, name)
            elif isinstance(value, (Class, Function)):
                out.setdefault(value, name)
        return out

    def _library_name(self, path: str) -> str:
        """``T.float16`` for ``tilelang.language.float16``, as the module imports it."""
        head, rest = path, ""
        while head:
            if head in self._imported:
                return self._imported[head] + rest
            head, _, last = head.rpartition(".")
            rest = f".{last}{rest}"
        head, _, last = path.rpartition(".")
        if head in ("", "builtins"):
            return f"__import__({path!r})" if not head else last
        return f"__import__({head!r}, fromlist=['x']).{last}"

    def _function(self, function: Function) -> str:
        """A function of a module, a static method, or a lambda for a function inside another.

        Raises:
            UnknownValueError: it is an object's, or has no name and several statements or itself.
        """
        owner = function.owner
        if owner is not None:
            if not function.is_static:
                raise UnknownValueError("the method of an object")
            return f"{self._class_name(owner)}.{function.name}"
        if function in self._imported:
            return self._imported[function]
        if function.dotted_name and isinstance(function.node, ast.FunctionDef):
            return self._global_name(function.frame.module, function.name)
        if function.node in self._begun:
            raise UnknownValueError("a function that uses itself")
        self._begun.add(function.node)
        try:
            return lambda_text(
                function.node,
                lambda name: self.text(
                    self._machine.value_for_text(lambda: self._machine.value(name, function.frame))
                ),
            )
        finally:
            self._begun.remove(function.node)

    def _class_name(self, of: Class) -> str:
        if of in self._imported:
            return self._imported[of]
        return self._global_name(of.frame.module, of.node.name)

    def _global_name(self, module: ModuleScope, name: str) -> str:
        if module is self._scope:
            return name
        return f"__import__({module.import_name!r}, fromlist=['x']).{name}"
