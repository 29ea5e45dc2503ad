"""The kernels of a text with their directives and calls."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from tirlens.source.array_sizes import array_shapes, array_sizes, dimension_names
from tirlens.source.directives import is_call
from tirlens.source.find import Found
from tirlens.source.module_names import Names
from tirlens.source.own_calls import OwnCalls
from tirlens.source.parse import Text
from tirlens.source.prelude import prelude
from tirlens.source.source_file import Alternative, Directive, KernelSource, SyntaxProblem
from tirlens.syntax_trees import DEFINITIONS, Definition, parameter_defaults, parameters, walk
from tirlens_worker.facts import Span
from tirlens_worker.protocol import CallCandidate

# How near a directive is to a kernel: not at all, at the file's top, at the definition that is
# looked up, at the inner `def` of a factory.
_AWAY, _FILE, _OWNER, _INNER = range(4)


@dataclass
class _Attached:
    """The directives of one kernel with their nearness, and the calls among them."""

    directives: list[tuple[int, Directive]] = field(default_factory=list[tuple[int, Directive]])
    calls: list[tuple[int, str, Span]] = field(default_factory=list[tuple[int, str, Span]])

    @property
    def nearest_calls(self) -> list[tuple[str, Span]]:
        nearest = max((rank for rank, _, _ in self.calls), default=_AWAY)
        return [(call, span) for rank, call, span in self.calls if rank == nearest]


class Assembler:
    """Combines the results of the other modules for one text."""

    def __init__(self, text: Text, names: Names, found: list[Found], calls: OwnCalls) -> None:
        self._text = text
        self._names = names
        self._found = found
        self._calls = calls
        self._attached = [_Attached() for _ in found]
        starts = (text.extent(node).line for node in text.tree.body if _is_definition(node))
        self._first_definition = min(starts, default=len(text.lines) + 1)
        self.file_directives: list[Directive] = []
        self.problems: list[SyntaxProblem] = []

    def attach(self, directives: Iterable[Directive]) -> None:
        """Attach each directive to the kernels that it concerns."""
        for directive in directives:
            error = directive.error or self._attach(directive)
            if error is not None:
                self.problems.append(SyntaxProblem(error, directive.span, "directive"))

    def kernels(self, typechecks: list[tuple[str, Span]]) -> tuple[KernelSource, ...]:
        """All kernels with their candidates in the order in which they are to be tried."""
        return tuple(
            self._kernel(found, attached, typechecks)
            for found, attached in zip(self._found, self._attached, strict=True)
        )

    def _attach(self, directive: Directive) -> str | None:
        ranks = [self._nearness(directive.span, item) for item in self._found]
        if not any(ranks) and directive.span.line < self._first_definition:
            self.file_directives.append(directive)
            ranks = [_FILE] * len(self._found)
        for rank, attached in zip(ranks, self._attached, strict=True):
            if rank:
                attached.directives.append((rank, directive))
        for call in directive.calls:
            error = self._attach_call(call, directive.span, ranks)
            if error is not None:
                return error
        if not any(ranks) and not directive.calls and self._found:
            return "this directive is neither above or inside a kernel nor at the top of the file"
        return None

    def _attach_call(self, call: str, span: Span, ranks: list[int]) -> str | None:
        name = _root(call)
        named = [
            position
            for position, item in enumerate(self._found)
            if name in (item.owner.name, item.name.split(".")[0])
        ]
        near = [position for position, rank in enumerate(ranks) if rank > _FILE]
        # A call of another function of the module may create the kernel next to it.
        places = [item for item in named if item in near] or named
        if not places and name in self._names.module_level:
            places = near
        if not places:
            kernels = ", ".join(dict.fromkeys(item.name for item in self._found[:6]))
            return f"{name} is no kernel of this file (it has {kernels or 'none'})"
        for place in places:
            self._attached[place].calls.append((max(ranks[place], _FILE), call, span))
        return None

    def _nearness(self, span: Span, found: Found) -> int:
        inner = [item for item in found.terminals if item is not found.owner]
        if any(self._in_zone(span, item) for item in inner):
            return _INNER
        others = (
            terminal
            for item in self._found
            for terminal in item.terminals
            if terminal is not found.owner and terminal not in found.terminals
        )
        if self._in_zone(span, found.owner) and not any(self._in_zone(span, o) for o in others):
            return _OWNER
        return _AWAY

    def _in_zone(self, span: Span, node: Definition) -> bool:
        """Whether a comment is inside a definition or in the comments directly above it."""
        extent = self._text.extent(node)
        first = extent.line
        while first > 1 and self._text.lines[first - 2].lstrip().startswith("#"):
            first -= 1
        return first <= span.line <= extent.end_line

    def _kernel(
        self, found: Found, attached: _Attached, typechecks: list[tuple[str, Span]]
    ) -> KernelSource:
        extent = self._text.extent(found.owner)
        head = found.terminals[0] if len(found.terminals) == 1 else found.owner
        same = head is found.owner
        names, shapes = _parameters(found), array_shapes(found)
        candidates = _unique(self._candidates(found, attached, typechecks))
        local = found.local_to
        return KernelSource(
            name=found.name,
            style=found.style,
            span=self._head(head),
            extent=extent,
            insertion_line=extent.line,
            prim_func=None if same else head.name,
            parameters=names,
            sizes=array_sizes(found, shapes, names),
            dimensions=dimension_names(shapes),
            required=_required_parameters(found),
            candidates=candidates,
            hints=self._calls.hints(found),
            relations=self._calls.relations(found),
            known=self._calls.known_values(found),
            directives=tuple(item for _, item in sorted(attached.directives, key=_rank)),
            local_to=local,
            prelude=tuple(map(self._text.span, prelude(found))) if local else (),
            definition=self._text.span(found.owner) if local else None,
            is_autotuned=found.autotuned,
            alternatives=tuple(self._alternatives(found)),
        )

    def _alternatives(self, found: Found) -> Iterator[Alternative]:
        if len(found.terminals) > 1:
            for item in found.terminals:
                yield Alternative(item.name, self._head(item), self._text.extent(item))

    def _candidates(
        self, found: Found, attached: _Attached, typechecks: list[tuple[str, Span]]
    ) -> Iterator[CallCandidate]:
        for call, span in attached.nearest_calls:
            yield CallCandidate(call, "directive", span, required=True)
        if found.local_to is not None:
            yield from self._calls.local_candidates(found)
            return
        if found.style in ("prim_func", "ir_module"):
            yield CallCandidate(found.name, "module-level", self._text.span(found.owner))
            return
        for payload, span in typechecks:
            if self._nearness(span, found) and (call := _typecheck_call(payload, found)):
                yield CallCandidate(call, "typecheck", span)
        yield from self._calls.candidates(found)
        defaults = self._calls.defaults(found)
        if defaults is not None:
            yield defaults

    def _head(self, node: Definition) -> Span:
        """``def name`` of a definition."""
        span = self._text.span(node)
        line = self._text.lines[span.line - 1]
        head = re.compile(rf"(async\s+)?(def|class)\s+{node.name}").match(line, span.column)
        return Span(span.line, span.column, span.line, head.end() if head else len(line))


def _typecheck_call(payload: str, found: Found) -> str | None:
    """The call that a ``<typecheck>`` comment describes: a call, or a list of arguments."""
    bare = payload.strip()
    if bare.startswith("(") and bare.endswith(")"):
        bare = bare[1:-1]
    elif is_call(bare) and bare.endswith(")"):
        return bare if _root(bare) == found.owner.name else None
    call = f"{found.name}({bare})"
    return call if is_call(call) else None


def _parameters(found: Found) -> tuple[str, ...]:
    owner = found.owner
    if isinstance(owner, ast.ClassDef):
        return ()
    names = [item.arg for item in parameters(owner) if item.arg not in ("self", "cls")]
    if found.style == "eager":
        names += _constants(owner)
    return tuple(dict.fromkeys(names))


def _constants(owner: ast.AST) -> list[str]:
    """The names in ``T.const("M, N, K")`` and ``T.dynamic("M")`` of an eager kernel."""
    out: list[str] = []
    for node in walk(owner):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr not in ("const", "dynamic", "symbolic"):
                continue
            for item in node.args:
                if isinstance(item, ast.Constant) and isinstance(item.value, str):
                    out += [name.strip() for name in item.value.split(",") if name.strip()]
    return out


def _required_parameters(found: Found) -> tuple[str, ...]:
    """The parameters of a factory or eager kernel that have no default."""
    owner = found.owner
    if isinstance(owner, ast.ClassDef) or found.style == "prim_func":
        return ()
    defaults = parameter_defaults(owner)
    return tuple(item.arg for item in parameters(owner) if item.arg not in defaults)


def _root(call: str) -> str:
    """The first name of a call expression."""
    node: ast.AST = ast.parse(call, mode="eval").body
    while isinstance(node, (ast.Call, ast.Attribute)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else call


def _unique(candidates: Iterator[CallCandidate]) -> tuple[CallCandidate, ...]:
    """The candidates without repetitions; the first of equal ones stays."""
    return tuple({item.expression: item for item in reversed(list(candidates))}.values())[::-1]


def _rank(pair: tuple[int, Directive]) -> int:
    return pair[0]


def _is_definition(node: ast.AST) -> bool:
    return isinstance(node, DEFINITIONS)
