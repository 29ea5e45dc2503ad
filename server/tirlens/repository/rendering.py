"""Source text for calls and values of a repository, valid in the module of the kernel."""

# The values of another program have no static types.
# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false

from __future__ import annotations

import ast
from functools import cached_property

from tirlens.repository.function_text import lambda_text
from tirlens.repository.machine import Machine
from tirlens.repository.tensor_shapes import Tensor
from tirlens.repository.values import (
    Class,
    EnumMember,
    External,
    Function,
    GoalCall,
    Instance,
    LibraryObject,
    ModuleScope,
    Value,
)
from tirlens.source import values as written
from tirlens.source.values import Known, UnknownValueError, Written


class Renderer:
    """Renders values with the names that a module imports.

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
        """The call of the kernel `name` as source text.

        Raises:
            UnknownValueError: an argument is not known.
        """
        if call.missing:
            raise UnknownValueError(", ".join(sorted(call.missing)))
        named = ", ".join(f"{key}={self.text(item)}" for key, item in call.arguments.items())
        if isinstance(call.self_, Instance):
            name = f"{self._object(call.self_)}.{name.rpartition('.')[2]}"
        return f"{name}({named}){self._second_call(call)}"

    def _object(self, value: Instance) -> str:
        """A construction of an object with its arguments.

        Raises:
            UnknownValueError: an argument is not known.
        """
        if value.arguments is None:
            raise UnknownValueError("an object that was made in an unknown way")
        positional, named = value.arguments
        words = [self.text(item) for item in positional]
        words += [f"{key}={self.text(item)}" for key, item in named.items()]
        return f"{self._class_name(value.of)}({', '.join(words)})"

    def text(self, value: Value) -> str:
        """A value as source text.

        Raises:
            UnknownValueError: it cannot be written, or has an unknown part.
        """
        return written.render(self._source_value(value), self._library_name("torch"))

    def _second_call(self, call: GoalCall) -> str:
        """The call of what a factory of factories returns; none if it gets arrays."""
        positional, named = call.inner or ([], {})
        if any(isinstance(item, Tensor) for item in (*positional, *named.values())):
            return ""
        try:
            words = [self.text(item) for item in positional]
            words += [f"{key}={self.text(item)}" for key, item in named.items()]
        except UnknownValueError:
            return ""
        return f"({', '.join(words)})" if words else ""

    def _source_value(self, value: Value) -> written.Value:
        if value is None or isinstance(value, (bool, int, float, str)):
            return Known(value)
        if isinstance(value, External):
            return Written(self._library_name(value.path))
        if isinstance(value, Tensor):
            if not isinstance(value.dtype, External) or any(
                type(n) is not int for n in value.shape
            ):
                raise UnknownValueError("a tensor of unknown shape")
            return written.Tensor(value.shape, self._library_name(value.dtype.path))
        if isinstance(value, (list, tuple)):
            items = tuple(self._source_value(item) for item in value)
            return written.Sequence(items, isinstance(value, list))
        if isinstance(value, dict):
            pairs = (f"{self.text(key)}: {self.text(item)}" for key, item in value.items())
            return Written("{" + ", ".join(pairs) + "}")
        if isinstance(value, LibraryObject):
            given = ", ".join(self.text(item) for item in value.positional)
            return Written(f"{self._library_name(value.path)}({given})")
        if isinstance(value, EnumMember):
            return Written(f"{self._class_name(value.of)}.{value.name}")
        if isinstance(value, Instance) and any(item.is_dataclass for item in value.of.lineage()):
            fields = ", ".join(f"{key}={self.text(item)}" for key, item in value.attributes.items())
            return Written(f"{self._class_name(value.of)}({fields})")
        if isinstance(value, Function):
            return Written(self._function(value))
        raise UnknownValueError("it has no literal")

    @cached_property
    def _imported(self) -> dict[str | Class | Function, str]:
        """The names that the module imports, by what they are."""
        out: dict[str | Class | Function, str] = {}
        for name, statements in self._scope.bindings.items():
            if name == "*" or not any(
                isinstance(item, (ast.Import, ast.ImportFrom)) for item in statements
            ):
                continue
            value = self._machine.module_value(self._scope, name)
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
                function.node, lambda name: self.text(self._machine.value(name, function.frame))
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
