"""The calls in a file that use a kernel, with their arguments."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tirlens.source.find import Definition, Found
from tirlens.source.fold import Folder
from tirlens.source.module_names import (
    FunctionNode,
    Names,
    bound_names,
    loaded_names,
    parameter_defaults,
    parameters,
)
from tirlens.source.nodes import walk
from tirlens.source.parse import Text
from tirlens.source.scopes import Frame, function_frame, functions, module_frame
from tirlens.source.tables import Tables
from tirlens.source.values import UnknownValueError, Value, render
from tirlens_worker.protocol import CallCandidate

_MAX_CANDIDATES = 8
_MAX_FRAMES = 6
_MAX_DEPTH = 3
# Methods of a jitted function that take the kernel's own arguments.
_SAME_ARGUMENTS = ("compile", "get_tir", "get_kernel_source", "__call__")


class CallSites:
    """All calls of one file by the name of the callee, and the frames that contain them."""

    def __init__(self, text: Text, names: Names) -> None:
        self._text = text
        self._names = names
        self._folder = Folder(names, text.tree)
        self._module = module_frame(text.tree)
        self._tables = Tables(text, self._folder, self._module)
        self._calls: dict[str, list[ast.Call]] = {}
        for node in text.nodes:
            if isinstance(node, ast.Call) and (name := _callee(node.func)):
                self._calls.setdefault(name, []).append(node)
        for found in self._calls.values():
            found.sort(key=lambda item: (item.lineno, item.col_offset))

    def candidates(self, found: Found) -> Iterator[CallCandidate]:
        """The calls of a factory or eager kernel whose arguments the text gives, at most 8."""
        seen: set[str] = set()
        for call in self._calls.get(found.owner.name, ()):
            if found.owner in self._text.enclosing(call) or not self._is_owner(call.func, found):
                continue
            outer = self._outer_call(call) if found.style == "factory" else call
            for frame in self._frames(functions(self._text.enclosing(call)), _MAX_DEPTH):
                try:
                    expression = self._expression(outer, call, found, frame)
                except UnknownValueError:
                    continue
                if expression not in seen:
                    seen.add(expression)
                    yield CallCandidate(expression, "call-site", self._text.span(outer))
                if len(seen) >= _MAX_CANDIDATES:
                    return
        if not seen:
            yield from self._tables.calls(found)

    def defaults(self, found: Found) -> CallCandidate | None:
        """The call without arguments, if every parameter of a factory has a default."""
        owner = found.owner
        if isinstance(owner, ast.ClassDef) or found.style != "factory":
            return None
        needed = {item.arg for item in parameters(owner)} - set(parameter_defaults(owner))
        if needed or "specialized" in self._names.decorators(owner):
            return None
        return CallCandidate(f"{found.name}()", "defaults", self._text.span(owner))

    def local_candidates(self, found: Found) -> Iterator[CallCandidate]:
        """For a kernel that a function keeps: calls of that function, with keywords only."""
        chain = functions(found.scope)
        name = found.local_to or ""
        seen: set[str] = set()
        for frame in self._frames(chain[-1:], _MAX_DEPTH):
            given = {**self._own_defaults(chain[-1], frame), **frame.given}
            pairs: list[str] = []
            for key, value in given.items():
                try:
                    pairs.append(f"{key}={render(value, self._names.torch)}")
                except UnknownValueError:
                    continue
            expression = f"{name}({', '.join(pairs)})"
            if expression not in seen:
                seen.add(expression)
                source = "call-site" if frame.given else "module-level"
                yield CallCandidate(expression, source, self._text.span(found.owner))
        yield from self._tables.calls(found)

    def _own_defaults(self, function: FunctionNode, frame: Frame) -> dict[str, Value]:
        out: dict[str, Value] = {}
        for name, default in parameter_defaults(function).items():
            try:
                out[name] = self._folder.fold(default, frame)
            except UnknownValueError:
                continue
        return out

    def _is_owner(self, func: ast.expr, found: Found) -> bool:
        """Whether what is called is the kernel's owner and not a namesake."""
        if isinstance(func, ast.Attribute) and func.attr in _SAME_ARGUMENTS:
            func = func.value
        if isinstance(func, ast.Name):
            return not found.scope
        if not isinstance(func, ast.Attribute):
            return False
        if not found.scope:
            return func.attr == "specialize"
        return isinstance(func.value, ast.Name) and func.value.id in (
            found.scope[-1].name,
            "cls",
            "self",
        )

    def _outer_call(self, call: ast.Call) -> ast.Call:
        """``f(a)(b)`` for ``f(a)``, where the result is called at once."""
        parent = self._text.parents.get(call)
        return parent if isinstance(parent, ast.Call) and parent.func is call else call

    def _expression(self, outer: ast.Call, call: ast.Call, found: Found, frame: Frame) -> str:
        inner = ", ".join(self._folder.arguments(call, frame))
        name = found.name
        if isinstance(call.func, ast.Attribute) and call.func.attr == "specialize":
            name += ".specialize"
        expression = f"{name}({inner})"
        if outer is call:
            return expression
        try:
            return f"{expression}({', '.join(self._folder.arguments(outer, frame))})"
        except UnknownValueError:
            return expression

    def _frames(self, chain: tuple[FunctionNode, ...], depth: int) -> Iterator[Frame]:
        """The frames in which a function's body runs: one a call of it that can be known."""
        if not chain:
            yield self._module
            return
        function = chain[-1]
        count = 0
        for parent in self._frames(chain[:-1], depth - 1):
            for given in self._known_arguments(function, depth):
                yield function_frame(function, given, parent)
                count += 1
                if count >= _MAX_FRAMES:
                    return

    def _known_arguments(self, function: FunctionNode, depth: int) -> Iterator[dict[str, Value]]:
        if not parameters(function):
            yield {}
            return
        sites = self._calls.get(function.name, ()) if depth > 0 else ()
        for call in sites:
            around = functions(self._text.enclosing(call))
            if function in around:
                continue
            for frame in self._frames(around, depth - 1):
                yield self._folder.bind(function, call, frame)
        fixtures = self._fixture_values(function)
        if fixtures:
            yield fixtures
        yield {}

    def _fixture_values(self, function: FunctionNode) -> dict[str, Value]:
        """The first values of ``pytest.mark.parametrize`` and ``tvm.testing.parameter``."""
        out: dict[str, Value] = {}
        for parameter in parameters(function):
            binding = self._module.binding(parameter.arg, (1 << 30, 0))
            value = binding.value if binding else None
            if isinstance(value, ast.Call) and _last(value.func) in ("parameter", "parameters"):
                self._bind_first(out, [parameter.arg], value.args)
        for decorator in function.decorator_list:
            if isinstance(decorator, ast.Call) and _last(decorator.func) == "parametrize":
                self._parametrize(out, decorator)
        return out

    def _parametrize(self, out: dict[str, Value], decorator: ast.Call) -> None:
        if len(decorator.args) < 2 or not isinstance(decorator.args[1], (ast.List, ast.Tuple)):
            return
        try:
            names = self._folder.fold_constant(decorator.args[0], self._module)
        except UnknownValueError:
            return
        listed = names.split(",") if isinstance(names, str) else list(names)
        self._bind_first(out, [str(name).strip() for name in listed], decorator.args[1].elts)

    def _bind_first(self, out: dict[str, Value], names: list[str], values: list[ast.expr]) -> None:
        if not values:
            return
        first = values[0]
        if isinstance(first, ast.Call) and _last(first.func) == "param":
            items = first.args
        elif len(names) > 1 and isinstance(first, (ast.Tuple, ast.List)):
            items = first.elts
        else:
            items = [first]
        for name, item in zip(names, items, strict=False):
            try:
                out[name] = self._folder.fold(item, self._module)
            except UnknownValueError:
                continue


def prelude(found: Found) -> tuple[ast.stmt, ...]:
    """The statements of the enclosing functions that bind what a local kernel uses.

    They are those from which its free variables follow, taken from the straight line of
    statements before it, in their order.
    """
    needed = loaded_names(found.owner)
    out: list[ast.stmt] = []
    inside: Definition = found.owner
    for function in reversed(functions(found.scope)):
        for statement in reversed(list(_statements_before(function.body, inside))):
            if bound_names([statement]) & needed:
                out.append(statement)
                needed |= loaded_names(statement)
        inside = function
    return tuple(reversed(out))


def _statements_before(body: list[ast.stmt], target: ast.AST) -> Iterator[ast.stmt]:
    """The statements before `target` on the way to it."""
    for statement in body:
        if statement is target:
            return
        if any(node is target for node in walk(statement)):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(statement, name, None)
                if isinstance(block, list) and any(
                    node is target
                    for item in block  # pyright: ignore[reportUnknownVariableType]
                    for node in walk(item)  # pyright: ignore[reportUnknownArgumentType]
                ):
                    yield from _statements_before(block, target)  # pyright: ignore[reportUnknownArgumentType]
            return
        yield statement


def _callee(func: ast.expr) -> str | None:
    """The callee's name: ``f`` of ``f(...)``, ``C.f(...)`` and ``f.compile(...)``."""
    if isinstance(func, ast.Attribute):
        if func.attr in (*_SAME_ARGUMENTS, "specialize"):
            return _callee(func.value)
        return func.attr
    return func.id if isinstance(func, ast.Name) else None


def _last(func: ast.expr) -> str:
    return func.attr if isinstance(func, ast.Attribute) else getattr(func, "id", "")
