"""The definitions of a file's kernels, and how each is obtained from its module."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, replace

from tirlens.source.builders import Builders, calls_of
from tirlens.source.module_names import Names
from tirlens.syntax_trees import (
    Definition,
    FunctionNode,
    bound_names,
    child_nodes,
    definitions,
    loaded_names,
    own_statements,
)

_NAMESPACES = frozenset({"SimpleNamespace", "Namespace", "dict"})
# Parameters for what has been built already.
_RESERVED = frozenset({"mod", "module", "ir_module", "sch", "schedule", "func", "prim_func"})


@dataclass(frozen=True)
class Found:
    """A kernel: `owner` is the definition to look up, `terminals` the functions that are kernels.

    `scope` are the functions and classes around the owner, the outermost first.  `style` is as
    in `KernelRequest`.
    """

    owner: Definition
    style: str
    terminals: tuple[FunctionNode, ...]
    scope: tuple[Definition, ...] = ()
    autotuned: bool = False

    @property
    def name(self) -> str:
        """The dotted name of the owner, with the functions and classes around it."""
        return ".".join(item.name for item in (*self.scope, self.owner))

    @property
    def local_to(self) -> str | None:
        """The dotted name of the function in which the owner is local, if any."""
        if all(isinstance(item, ast.ClassDef) for item in self.scope):
            return None
        return ".".join(item.name for item in self.scope)


def find(tree: ast.Module, names: Names, builders: Builders) -> list[Found]:
    """All kernels that the file defines, in the order of their definitions."""
    found = _Finder(names, builders).body(tree.body, ())
    return sorted(found, key=lambda item: (item.terminals[0].lineno, item.owner.lineno))


class _Finder:
    def __init__(self, names: Names, builders: Builders) -> None:
        self._names = names
        self._builders = builders

    def body(self, body: list[ast.stmt], scope: tuple[Definition, ...]) -> list[Found]:
        out: list[Found] = []
        for node in definitions(body):
            if isinstance(node, ast.ClassDef):
                out += self._class(node, scope)
            else:
                out += self._function(node, scope)
        return out

    def _class(self, node: ast.ClassDef, scope: tuple[Definition, ...]) -> list[Found]:
        if "ir_module" not in self._names.decorators(node):
            return self.body(node.body, (*scope, node))
        return [
            Found(node, "ir_module", (item,), scope)
            for item in definitions(node.body)
            if not isinstance(item, ast.ClassDef) and "prim_func" in self._names.decorators(item)
        ]

    def _function(self, node: FunctionNode, scope: tuple[Definition, ...]) -> list[Found]:
        kinds = self._names.decorators(node)
        if "prim_func" in kinds:
            is_scalar = node.returns is not None and self._names.is_function_of_tirx(node)
            return [] if is_scalar else [Found(node, "prim_func", (node,), scope)]
        if "macro" in kinds:
            return []
        tuned = "autotune" in kinds
        if not kinds and self._opens_kernel(node):
            unknown = [item for item in node.decorator_list if self._names.is_unknown(item)]
            if unknown:
                # A module that exports ``T`` and is not found exports decorators as well.
                is_plain = any(last_name(item) == "prim_func" for item in unknown)
                return [Found(node, "prim_func" if is_plain else "eager", (node,), scope)]
        if "specialized" in kinds:
            return [Found(node, "factory", (node,), scope)]
        inner = self.body(node.body, (*scope, node))
        jitted = bool(kinds & {"jit", "autotune"})
        if jitted and not inner:
            style = "eager" if self._opens_kernel(node) else "factory"
            return [Found(node, style, (node,), scope, tuned)]
        direct = [item for item in inner if item.scope == (*scope, node)]
        names = {item.owner.name for item in direct}
        kept = names if jitted or not names else returned_names(node) & names
        lifted = [item for item in direct if item.owner.name in kept]
        out = [item for item in inner if item not in lifted]
        if lifted:
            terminals = tuple(dict.fromkeys(t for item in lifted for t in item.terminals))
            tuned = tuned or any(item.autotuned for item in lifted)
            first = replace(lifted[0], owner=node, style="factory", terminals=terminals)
            out.append(replace(first, scope=scope, autotuned=tuned))
        elif not scope and self._returns_built(node):
            out.append(Found(node, "factory", (node,)))
        return out

    def _returns_built(self, node: FunctionNode) -> bool:
        """Whether a function returns a kernel that it builds from nothing else than its sizes."""
        if not self._builders.exist or is_helper_function(node):
            return False
        origins: set[str] = set()
        for inner in own_nodes(node):
            if isinstance(inner, (ast.Assign, ast.Return)) and any(
                map(self._builders.is_origin, calls_of(inner))
            ):
                if isinstance(inner, ast.Return):
                    return True
                origins |= bound_names([inner])
        return bool(origins) and not origins.isdisjoint(returned_names(node))

    def _opens_kernel(self, node: FunctionNode) -> bool:
        return any(
            self._names.is_kernel_frame(item.context_expr)
            for inner in own_nodes(node)
            if isinstance(inner, ast.With)
            for item in inner.items
        )


def last_name(decorator: ast.expr) -> str:
    """``jit`` of ``tl.jit(out_idx=[1])``; empty for what is no name."""
    node = decorator.func if isinstance(decorator, ast.Call) else decorator
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def is_helper_function(node: Definition) -> bool:
    """Whether a function takes what has been built already, such as a module or a schedule."""
    if isinstance(node, ast.ClassDef):
        return False
    return not _RESERVED.isdisjoint(item.arg for item in node.args.args)


def own_nodes(function: FunctionNode) -> Iterator[ast.AST]:
    """The nodes of a function without those of the functions and classes inside it."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            pending.extend(child_nodes(node))


def _held_names(function: FunctionNode) -> set[str]:
    """The names in a namespace or dict that the function returns: ``SimpleNamespace(run=run)``."""
    held: set[str] = set()
    for node in own_statements(function):
        value = node.value if isinstance(node, ast.Return) else None
        if isinstance(value, ast.Dict):
            parts: list[ast.expr] = value.values
        elif isinstance(value, ast.Call) and last_name(value) in _NAMESPACES:
            parts = [item.value for item in value.keywords]
        else:
            continue
        held |= {part.id for part in parts if isinstance(part, ast.Name)}
    return held


def returned_names(function: FunctionNode) -> set[str]:
    """The names on which the function's result depends, through its own assignments."""
    returned: set[str] = set()
    made_of: dict[str, set[str]] = {}
    for node in own_statements(function):
        if isinstance(node, ast.Return) and node.value is not None:
            returned |= loaded_names(node.value)
        elif isinstance(node, ast.Assign):
            for target in bound_names([node]):
                made_of.setdefault(target, set()).update(loaded_names(node.value))
    held = _held_names(function)
    for node in definitions(function.body):
        # A function in a namespace calls its kernels, and does not return them.
        if node.name not in held:
            made_of.setdefault(node.name, set()).update(loaded_names(node))
    reached: set[str] = set()
    while returned:
        name = returned.pop()
        if name not in reached:
            reached.add(name)
            returned |= made_of.get(name, set())
    return reached
