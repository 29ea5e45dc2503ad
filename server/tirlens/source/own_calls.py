"""The calls of the kernels of a file in the file itself, by evaluation of its text."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from tirlens.evaluation.devices import gpus
from tirlens.evaluation.evaluator import Evaluator
from tirlens.evaluation.modules import Modules
from tirlens.evaluation.rendering import Renderer
from tirlens.evaluation.roots import run_programs
from tirlens.evaluation.search_result import KnownValue, Search
from tirlens.evaluation.typical_calls import typical_calls
from tirlens.evaluation.values import Goal, GoalCall, ModuleScope
from tirlens.source.find import Found
from tirlens.source.module_names import Names
from tirlens.source.parse import Text
from tirlens.source.tables import Tables
from tirlens.syntax_trees import FunctionNode, parameter_defaults, parameters
from tirlens_worker.facts import Span
from tirlens_worker.protocol import CallCandidate

# Work (`Modules.work`) for the calls of a file, and for those of each kernel: a million is about
# four seconds. Figures wait for it.
_LIMIT, _LIMIT_OF_A_KERNEL, _MAX_LIMIT = 40_000, 4_000, 120_000
_PATH = "__module__.py"


class OwnCalls:
    """The calls of some kernels in their own file.

    Parameters
    ----------
    text
        The file.
    names
        The meaning of its names.
    found
        Its kernels, and the functions in which statements build kernels.
    """

    def __init__(self, text: Text, names: Names, found: Iterable[Found]) -> None:
        self._text = text
        self._names = names
        self._goals: dict[ast.AST, Goal] = {}
        self._searches: dict[Found, Search] = {}
        for item in found:
            function = _goal(item)
            if function is not None:
                # A function around a kernel is executed: others are defined in it.
                known = self._goals.get(function)
                is_executed = not _is_called(item) or (known is not None and known.is_executed)
                self._goals[function] = Goal(_PATH, function.name, is_executed)

    def candidates(self, found: Found) -> Iterator[CallCandidate]:
        """The calls of a factory or eager kernel whose arguments the text gives."""
        search = self.search(found)
        for call in search.calls:
            yield CallCandidate(call.expression, "call-site", call.span, bindings=call.bindings)
        if not search.calls:
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
        span = self._text.span(found.owner)
        name = found.local_to or ""
        calls = self.search(found).calls
        for call in calls:
            source = "module-level" if call.expression == f"{name}()" else "call-site"
            yield CallCandidate(call.expression, source, span)
        if not calls:
            yield CallCandidate(f"{name}()", "module-level", span)
        yield from self._tables.calls(found)

    def hints(self, found: Found) -> Mapping[str, tuple[str, ...]]:
        """The values that calls with unknown arguments give, for a kernel without other calls."""
        if found.style not in ("factory", "eager"):
            return {}
        search = self.search(found)
        return {} if search.calls else search.values

    def relations(self, found: Found) -> tuple[str, ...]:
        """What a call with unknown arguments says of them, for a kernel without other calls."""
        search = self.search(found)
        return () if search.calls else search.relations

    def known_values(self, found: Found) -> tuple[KnownValue, ...]:
        """What a call with unknown arguments gives, for a kernel without other calls."""
        search = self.search(found)
        if search.calls:
            return ()
        return tuple(replace(one, span=self._in_text(one.span)) for one in search.known)

    def search(self, found: Found) -> Search:
        """The calls of a kernel, or of the function around it, and the values they give."""
        if found not in self._searches:
            self._searches[found] = self._search(found)
        return self._searches[found]

    def _search(self, found: Found) -> Search:
        function = _goal(found)
        if function is None:
            return Search()
        calls = [(call.root, call) for call in self._calls.get(function, ())]
        search = typical_calls(
            calls, function, self._renderer, lambda call: self._expression(found, call)
        )
        return replace(
            search,
            calls=tuple(replace(call, span=self._in_text(call.span)) for call in search.calls),
        )

    def _expression(self, found: Found, call: GoalCall) -> str:
        if found.local_to is None:
            return self._renderer.written_call(found.name, call)
        if not _is_called(found):
            return f"{found.local_to}({_keywords(self._renderer.arguments(call))})"
        around = _keywords(self._renderer.texts(call.around))
        inner = self._renderer.written_call(found.owner.name, call)
        return f"{found.local_to}({around}).{inner}"

    def _in_text(self, span: Span) -> Span:
        """A span with columns in characters."""
        return Span(
            span.line,
            self._text.column(span.line, span.column),
            span.end_line,
            self._text.column(span.end_line, span.end_column),
        )

    @cached_property
    def _modules(self) -> Modules:
        return Modules(None, (), {}, lambda: None, gpus()[0])

    @cached_property
    def _scope(self) -> ModuleScope:
        return self._modules.add(_PATH, self._text.tree)

    @cached_property
    def _evaluator(self) -> Evaluator:
        limit = min(_LIMIT + _LIMIT_OF_A_KERNEL * len(self._goals), _MAX_LIMIT)
        return Evaluator(self._modules, self._goals, limit)

    @cached_property
    def _renderer(self) -> Renderer:
        return Renderer(self._scope, self._evaluator)

    @cached_property
    def _tables(self) -> Tables:
        return Tables(self._text, self._evaluator, self._scope)

    @cached_property
    def _calls(self) -> Mapping[ast.AST, list[GoalCall]]:
        """The recorded calls by the function that they call."""
        run_programs(self._evaluator, self._scope, {goal.name: 0 for goal in self._goals.values()})
        calls: dict[ast.AST, list[GoalCall]] = {}
        for call in self._evaluator.calls:
            calls.setdefault(call.node, []).append(call)
        return calls


def _is_called(found: Found) -> bool:
    """Whether a call of the kernel's own definition gives it its arguments."""
    return found.style in ("factory", "eager")


def _goal(found: Found) -> FunctionNode | None:
    """The function whose calls give a kernel its arguments; None if there is none."""
    if _is_called(found):
        return None if isinstance(found.owner, ast.ClassDef) else found.owner
    around = [item for item in found.scope if not isinstance(item, ast.ClassDef)]
    return around[-1] if around else None


def _keywords(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={text}" for name, text in values.items())
