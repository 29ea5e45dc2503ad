"""The top-level statements of a text, and those on which a kernel may depend.

A kernel depends on its own statement, on the statements that bind the words in it, on those that
bind the words in these, and on every statement whose execution may do more than bind its own names.
Words are all identifiers of the text, also in comments and strings, so the dependencies are an
over-approximation.

A decorator that registers a function with an object of the module changes that object only. A class
may register itself with an imported base when it is defined; the bodies of its methods are executed
by those alone who name the class.
"""

from __future__ import annotations

import ast
import builtins
import re
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence

from tirlens.source.module_names import Names
from tirlens.source.parse import Text
from tirlens.source.source_file import Statement
from tirlens.syntax_trees import bound_names
from tirlens_worker import framework_names

_GLOBAL = re.compile(r"\bglobal\s")
_WORD = re.compile(r"[^\W\d]\w*")
# Calls of these read their arguments and change nothing that another statement can see.
_HARMLESS = frozenset({
    *framework_names.MODULES, "torch", "numpy", "pytest", "functools", "itertools",
    "dataclasses", "typing", "math", "enum", "abc", "collections",
})  # fmt: skip
# What these decorators make is changed by its own methods, which change nothing else.
_REGISTRIES = frozenset({
    "torch.library.custom_op", "torch.library.triton_op", "functools.singledispatch",
})  # fmt: skip
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# The name that people give to what is not used.
_UNUSED = "_"
_HARMLESS_BUILTINS = frozenset(dir(builtins)) - {
    "__import__", "delattr", "eval", "exec", "globals", "locals", "open", "setattr", "vars",
}  # fmt: skip
# A statement with one of these words can access any name of the module indirectly.
_REACHES_ALL = frozenset({
    "eval", "exec", "globals", "locals", "vars", "modules", "__dict__", "__import__",
    "import_module", "currentframe", "_getframe", "getmembers", "getmodule",
})  # fmt: skip


def statements(text: Text, names: Names) -> tuple[Statement, ...]:
    """The statements of a text in their order; none if a part of it does not parse."""
    if text.problems:
        return ()
    out: list[Statement] = []
    judge = _EffectAnalysis(names, text)
    unused = _lines_that_read(_UNUSED, text)
    for node in text.tree.body:
        extent = text.extent(node)
        first, inert = extent.line, judge.is_inert(node)
        binds, changes = frozenset(bound_names([node])), judge.changed_registries(node)
        reads_unused = any(extent.line <= line <= extent.end_line for line in unused)
        definition = None if inert else judge.definition(node, extent.line)
        if out and out[-1].end_line >= first:
            previous = out.pop()
            first, definition = previous.line, None
            inert = inert and previous.inert
            binds |= previous.binds
            changes |= previous.changes
            reads_unused = reads_unused or _UNUSED in previous.words
        content = "\n".join(text.lines[first - 1 : extent.end_line])
        words = _words(content) if reads_unused else _words(content) - {_UNUSED}
        out.append(
            Statement(first, extent.end_line, binds, words, inert, content, changes, definition)
        )
    return tuple(out)


class Reach:
    """The dependencies between the statements `body` of a text, all by index."""

    def __init__(self, body: Sequence[Statement]) -> None:
        self.body = body
        self._ends = [statement.end_line for statement in body]
        self._binding: dict[str, list[int]] = {}
        for index, statement in enumerate(body):
            for name in statement.binds | statement.changes:
                self._binding.setdefault(name, []).append(index)
        executed = [index for index, statement in enumerate(body) if not statement.inert]
        self._definitions = {
            index: definition
            for index in executed
            if (definition := body[index].definition) is not None
        }
        words = frozenset[str]().union(*map(_words, self._definitions.values()))
        needed = {*executed, *self._bound_to(words)} - self._definitions.keys()
        self._always = self._closure(frozenset(), needed)

    def at(self, lines: Iterable[int]) -> frozenset[int]:
        """The statements that include any of `lines`."""
        places = ((bisect_left(self._ends, line), line) for line in lines)
        return frozenset(
            place
            for place, line in places
            if place < len(self.body) and self.body[place].line <= line
        )

    def of(self, own: Collection[int], expressions: Iterable[str]) -> dict[int, str]:
        """The statements that `own` and `expressions` may depend on, and `own`.

        In order, each with the text of it that counts.
        """
        words = frozenset[str]().union(*map(_words, expressions))
        whole = self._closure(self._always, {*own, *self._bound_to(words)})
        return {
            index: self.body[index].text if index in whole else self._definitions[index]
            for index in sorted(whole | self._definitions.keys())
        }

    def _closure(self, known: frozenset[int], more: Iterable[int]) -> frozenset[int]:
        """The closure of `known`, which is closed, and `more` under the binding of words."""
        found = set(known)
        pending = [index for index in more if index not in found]
        found.update(pending)
        while pending:
            reached = self._bound_to(self.body[pending.pop()].words) - found
            found |= reached
            pending += reached
        return frozenset(found)

    def _bound_to(self, words: frozenset[str]) -> set[int]:
        if not _REACHES_ALL.isdisjoint(words):
            return set(range(len(self.body)))
        return {index for word in words & self._binding.keys() for index in self._binding[word]}


def _words(text: str) -> frozenset[str]:
    # Python compares identifiers in this normal form.
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return frozenset(_WORD.findall(plain))


def _lines_that_read(name: str, text: Text) -> list[int]:
    """The lines that use a value of `name`, which may have been bound elsewhere."""
    return [
        node.lineno
        for node in text.nodes
        if isinstance(node, ast.Name) and node.id == name and not isinstance(node.ctx, ast.Store)
    ]


class _EffectAnalysis:
    """Decides whether the execution of a statement has effects other than binding its names."""

    def __init__(self, names: Names, text: Text) -> None:
        self._names = names
        self._text = text
        self._has_globals = any("global" in line and _GLOBAL.search(line) for line in text.lines)
        self._registries = frozenset(
            node.name
            for node in text.tree.body
            if isinstance(node, ast.FunctionDef)
            and any(map(self._makes_registry, node.decorator_list))
        )

    def _makes_registry(self, decorator: ast.expr) -> bool:
        callee = decorator.func if isinstance(decorator, ast.Call) else decorator
        return self._names.dotted_path(callee) in _REGISTRIES

    def changed_registries(self, node: ast.stmt) -> frozenset[str]:
        """The functions with whose methods `node` is decorated: ``@operator.register_fake``."""
        if not isinstance(node, _FUNCTIONS):
            return frozenset()
        return frozenset(filter(None, map(self._registry, node.decorator_list)))

    def _registry(self, callee: ast.expr) -> str | None:
        """The function of the module of which `callee` is a method that registers another one."""
        while isinstance(callee, ast.Call):
            callee = callee.func
        if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
            return None
        return callee.value.id if callee.value.id in self._registries else None

    def definition(self, node: ast.stmt, first_line: int) -> str | None:
        """The lines from `first_line` that the definition of a class evaluates.

        None if the bodies of its methods may be executed then, too.
        """
        if not isinstance(node, ast.ClassDef) or node.keywords:
            return None
        methods = [item for item in node.body if isinstance(item, _FUNCTIONS)]
        decorators = [*node.decorator_list, *(d for item in methods for d in item.decorator_list)]
        if not all(map(self._is_known, decorators)):
            return None
        lines = list(self._text.lines[first_line - 1 : self._text.extent(node).end_line])
        for method in reversed(methods):
            body = self._text.extent(method.body[0])
            is_apart = not self._text.lines[body.line - 1][: body.column].strip()
            if is_apart and method.name != "__init_subclass__":
                del lines[
                    body.line - first_line : self._text.extent(method).end_line - first_line + 1
                ]
        return "\n".join(lines)

    def is_inert(self, node: ast.stmt) -> bool:
        if isinstance(node, _FUNCTIONS):
            if self._has_globals and any(isinstance(item, ast.Global) for item in ast.walk(node)):
                return False
            evaluated = (*node.decorator_list, node.args, *filter(None, [node.returns]))
            return all(map(self._is_known, (*node.decorator_list, *_callees(*evaluated))))
        if isinstance(node, ast.ClassDef):
            evaluated = (*node.decorator_list, *node.bases, *node.keywords)
            called = (*node.decorator_list, *node.bases, *_callees(*evaluated))
            return all(map(self._is_known, called)) and all(map(self.is_inert, node.body))
        if isinstance(node, (ast.Assign, ast.AnnAssign)):
            return _binds_names_only(node) and all(map(self._is_known, _callees(node)))
        if isinstance(node, ast.Expr):
            return isinstance(node.value, ast.Constant)
        return isinstance(node, ast.Pass) or (isinstance(node, ast.If) and is_main_guard(node))

    def _is_known(self, callee: ast.expr) -> bool:
        """Whether a call of `callee` is one of the language or a framework, and harmless."""
        if self._names.decorator(callee) is not None or self._registry(callee) is not None:
            return True
        while isinstance(callee, (ast.Call, ast.Subscript)):
            callee = callee.func if isinstance(callee, ast.Call) else callee.value
        head = (self._names.dotted_path(callee) or "").split(".")[0]
        if head in self._names.module_level and head not in self._names.aliases:
            return False
        return head in _HARMLESS or head in _HARMLESS_BUILTINS


def _callees(*evaluated: ast.AST) -> list[ast.expr]:
    nodes = (node for part in evaluated for node in ast.walk(part))
    return [node.func for node in nodes if isinstance(node, ast.Call)]


def _binds_names_only(node: ast.Assign | ast.AnnAssign) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    written = (item for target in targets for item in ast.walk(target))
    return not any(isinstance(item, (ast.Attribute, ast.Subscript)) for item in written)


def is_main_guard(node: ast.If) -> bool:
    """``if __name__ == "__main__":``, whose body no analysis executes."""
    return not node.orelse and ast.unparse(node.test) in (
        "__name__ == '__main__'",
        "'__main__' == __name__",
    )
