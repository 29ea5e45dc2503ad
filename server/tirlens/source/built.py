"""The kernels that the statements of a file build, each at the statement that builds it."""

from __future__ import annotations

import ast
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from tirlens.source.builders import PREPARING_STEPS, Builders, calls_of
from tirlens.source.dependencies import is_main_guard
from tirlens.source.find import Found, is_helper_function
from tirlens.source.module_names import Names
from tirlens.source.own_calls import OwnCalls
from tirlens.source.parse import Text
from tirlens.source.source_file import Directive, KernelSource
from tirlens.syntax_trees import Definition, blocks, bound_names
from tirlens_worker import framework_names
from tirlens_worker.facts import Span

# The most versions of the schedules of one function, or of the module's own level.
_MAX_STEPS = 60
_SIMPLE = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)
_PRINTERS = ("print", "type", "repr", "str")
_RAISES = re.compile(r"\b(raises|assertRaises\w*)$")
# Modules that have no kernels of the user.
_LIBRARIES = frozenset({
    *sys.stdlib_module_names, *framework_names.MODULES, "torch", "numpy", "pytest", "triton", "jax",
    "scipy", "pandas", "matplotlib", "transformers", "torchvision", "onnx", "tqdm", "einops",
    "tvm_ffi", "cuda", "cupy", "ml_dtypes", "typing_extensions", "yaml", "requests",
})  # fmt: skip


@dataclass(frozen=True)
class _Building:
    """A statement, or adjacent ones with the same primitive, in the definitions `scope`."""

    name: str
    statements: tuple[ast.stmt, ...]
    scope: tuple[Definition, ...]
    step: str | None = None
    is_certain: bool = True


class BuiltKernels:
    """Finds the statements of a text that build kernels."""

    def __init__(
        self, text: Text, names: Names, builders: Builders, found: Sequence[Found]
    ) -> None:
        self._text = text
        self._names = names
        self._builders = builders
        self._written = {item.owner for item in found if item.style != "factory"}
        # What these compile is shown where it is written.
        self._around_kernels = {outer for item in found for outer in (*item.scope, item.owner)}
        owners = {item.owner.name for item in found if item.style in ("factory", "eager")}
        calls = Counter(_factory_call(node, owners) for node in text.tree.body)
        several = Counter(name for name, _ in filter(None, calls))
        self._factories = {name for name, count in several.items() if count > 1}
        self._imported = {
            name
            for name, path in names.aliases.items()
            if path.split(".")[0] not in _LIBRARIES and name in names.module_level
        }

    @cached_property
    def runners(self) -> list[Found]:
        """The functions that are called so that statements in them build kernels."""
        found = (_runner(self._scope(building)) for building in self._buildings)
        return [runner for runner in found if runner is not None]

    def kernels(self, directives: Iterable[Directive], calls: OwnCalls) -> list[KernelSource]:
        """The kernels in the order of the text; those of no statement have no `directives`."""
        by_line = {item.span.line: item for item in directives}
        return [self._source(building, by_line, calls) for building in self._buildings]

    @cached_property
    def _buildings(self) -> list[_Building]:
        return _first_steps(self._merge(self._body(self._text.tree.body, ())))

    def _scope(self, building: _Building) -> tuple[Definition, ...]:
        """The definitions around a statement, or around a call of the helper that it is in."""
        helper = next(filter(is_helper_function, building.scope), None)
        return building.scope if helper is None else self._caller(helper.name)

    @cached_property
    def _used_names(self) -> frozenset[str]:
        return frozenset(_used_names(self._text.tree))

    def _body(self, body: list[ast.stmt], scope: tuple[Definition, ...]) -> Iterator[_Building]:
        for node in body:
            if isinstance(node, ast.ClassDef):
                if "ir_module" in self._names.decorators(node):
                    yield from self._graphs(node, scope)
                else:
                    yield from self._body(node.body, (*scope, node))
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                if node not in self._written and not self._names.decorators(node):
                    yield from self._body(node.body, (*scope, node))
            elif isinstance(node, _SIMPLE):
                building = self._building(node, scope)
                if building is not None:
                    yield building
            elif not self._is_skipped(node):
                for block in blocks(node):
                    yield from self._body(block, scope)

    def _building(self, node: ast.stmt, scope: tuple[Definition, ...]) -> _Building | None:
        prefix = "".join(f"{item.name}." for item in scope)
        if self._builders.exist:
            for call in calls_of(node):
                step = self._builders.step(call)
                if step is not None:
                    return _Building(prefix + step, (node,), scope, step)
            has_kernel = not self._around_kernels.isdisjoint(scope)
            if any(
                self._builders.is_builder(call)
                and not (has_kernel and self._builders.is_compilation(call))
                for call in calls_of(node)
            ):
                return _Building(prefix + _name(node, scope), (node,), scope)
        if scope or not isinstance(node, ast.Assign):
            return None
        if isinstance(node.value, ast.Call) and self._builders.is_tensor_expression(node.value):
            is_result = bound_names([node]).isdisjoint(self._used_names)
            return _Building(_name(node, scope), (node,), scope) if is_result else None
        if _factory_call(node, self._factories):
            return _Building(_name(node, scope), (node,), scope)
        if _factory_call(node, self._imported) and self._builders.exist:
            return _Building(_name(node, scope), (node,), scope, is_certain=False)
        return None

    def _graphs(self, node: ast.ClassDef, scope: tuple[Definition, ...]) -> Iterator[_Building]:
        """The Relax functions of a module."""
        for item in () if scope else node.body:
            if isinstance(item, ast.FunctionDef) and any(
                (self._names.dotted_path(part.func if isinstance(part, ast.Call) else part) or "")
                in ("tvm.script.relax.function", "R.function")
                for part in item.decorator_list
            ):
                yield _Building(f"{node.name}.{item.name}", (item,), scope)

    def _is_skipped(self, node: ast.stmt) -> bool:
        """Whether the body of a compound statement is not executed, or is to fail."""
        if isinstance(node, ast.If):
            return is_main_guard(node)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            paths = (
                self._names.dotted_path(item.context_expr.func) or ""
                for item in node.items
                if isinstance(item.context_expr, ast.Call)
            )
            return any(map(_RAISES.search, paths))
        return False

    def _merge(self, found: Iterable[_Building]) -> Iterator[_Building]:
        """`found` with one for adjacent statements that use the same primitive.

        Primitives that only prepare others are left out, but for the last of a schedule.
        """
        out: list[_Building] = []
        for item in found:
            last = out[-1] if out else None
            if last is not None and item.step and _is_preparing(last) and _continues(last, item):
                out.pop()
                last = out[-1] if out else None
            if (
                last is not None
                and item.step
                and last.name == item.name
                and self._adjoin(last, item)
            ):
                out[-1] = replace(last, statements=(*last.statements, *item.statements))
            else:
                out.append(item)
        yield from out

    def _adjoin(self, first: _Building, second: _Building) -> bool:
        """Whether no other statement and no empty line is between two buildings."""
        end = self._text.extent(first.statements[-1]).end_line
        return first.scope == second.scope and second.statements[0].lineno == end + 1

    def _source(
        self, building: _Building, directives: dict[int, Directive], calls: OwnCalls
    ) -> KernelSource:
        first, last = building.statements[0], building.statements[-1]
        extent = replace(
            self._text.extent(first),
            end_line=self._text.extent(last).end_line,
            end_column=self._text.extent(last).end_column,
        )
        runner = _runner(self._scope(building))
        line = self._text.span(first)
        return KernelSource(
            name=building.name,
            style="built",
            span=Span(line.line, line.column, line.line, self._end(line)),
            extent=extent,
            insertion_line=extent.line,
            candidates=tuple(calls.local_candidates(runner)) if runner else (),
            directives=tuple(self._directives(extent.line, directives)),
            local_to=runner.local_to if runner else None,
            definition=extent,
            is_certain=building.is_certain and not any(map(is_helper_function, building.scope)),
        )

    def _caller(self, name: str) -> tuple[Definition, ...]:
        """The scope of a function that calls the helper `name`; none where the module does."""
        for node in self._text.nodes:
            if isinstance(node, ast.Call) and getattr(node.func, "id", None) == name:
                around = self._text.enclosing(node)
                scope = tuple(item for item in around if isinstance(item, Definition))
                if not any(map(is_helper_function, scope)):
                    return scope
        return ()

    def _end(self, span: Span) -> int:
        text = self._text.lines[span.line - 1]
        return span.end_column if span.end_line == span.line else len(text.rstrip())

    def _directives(self, line: int, directives: dict[int, Directive]) -> Iterator[Directive]:
        """Those in the comments directly above `line`."""
        while line > 1 and self._text.lines[line - 2].lstrip().startswith("#"):
            line -= 1
            if line in directives:
                yield directives[line]


def _runner(scope: tuple[Definition, ...]) -> Found | None:
    """The function that is called so that a statement inside it is executed."""
    for depth, item in enumerate(scope, 1):
        if isinstance(item, (ast.FunctionDef, ast.AsyncFunctionDef)):
            return Found(item, "built", (item,), scope[:depth])
    return None


def _name(node: ast.stmt, scope: tuple[Definition, ...]) -> str:
    """The variable that a statement binds, else the function whose result it is or calls."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        names = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        for item in names:
            if isinstance(item, ast.Name):
                return item.id
            if isinstance(item, ast.Attribute):
                return item.attr
    for call in calls_of(node):
        func: ast.AST = call.func
        while isinstance(func, ast.Call):
            func = func.func
        if isinstance(func, (ast.Name, ast.Attribute)):
            return func.id if isinstance(func, ast.Name) else func.attr
    return scope[-1].name if scope else "module"


def _used_names(tree: ast.AST) -> Iterator[str]:
    """The names whose values a program uses for more than to print them."""
    pending: list[ast.AST] = [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            yield node.id
        if not isinstance(node, ast.Call) or getattr(node.func, "id", "") not in _PRINTERS:
            pending.extend(ast.iter_child_nodes(node))


def _factory_call(node: ast.stmt, names: Iterable[str]) -> tuple[str, str] | None:
    """The factory that a statement calls for the value of a variable, and the call as text."""
    if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
        return None
    func: ast.AST = node.value.func
    while isinstance(func, (ast.Call, ast.Attribute)):
        func = func.func if isinstance(func, ast.Call) else func.value
    if not isinstance(func, ast.Name) or func.id not in names:
        return None
    return func.id, ast.unparse(node.value)


def _is_preparing(building: _Building) -> bool:
    return building.step is not None and building.step.split(".")[-1] in PREPARING_STEPS


def _continues(first: _Building, second: _Building) -> bool:
    """Whether two steps are of one schedule."""
    same = (first.step or "").split(".")[0] == (second.step or "").split(".")[0]
    return same and first.scope == second.scope


def _first_steps(found: Iterable[_Building]) -> list[_Building]:
    """`found` without the steps beyond the first `_MAX_STEPS` of a scope, but with the last."""
    items = list(found)
    counts: Counter[tuple[Definition, ...]] = Counter()
    last = {item.scope: item for item in items if item.step}
    out: list[_Building] = []
    for item in items:
        counts[item.scope] += item.step is not None
        if not item.step or counts[item.scope] <= _MAX_STEPS or last[item.scope] is item:
            out.append(item)
    return out
