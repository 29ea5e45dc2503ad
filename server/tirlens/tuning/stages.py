"""Configurations that differ only in the stages of pipelined loops, which are traced once.

A parameter that a kernel uses as ``T.Pipelined(..., num_stages=PARAMETER)`` and for nothing else
changes one annotation of these loops and no other fact.
"""

from __future__ import annotations

import ast
from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from tirlens.advice.rewrite import change, loops
from tirlens.source import KernelSource
from tirlens.source.parse import Text, parse
from tirlens.syntax_trees import FunctionNode
from tirlens_worker.facts import KernelFacts, Loop, Node

#: Stages of the loops at these lines.
Stages: TypeAlias = Mapping[int, int]

_ARGUMENT = "num_stages"
# What reads a variable without its name.
_READS_ALL = frozenset({"locals", "vars", "eval", "exec", "dir"})


@dataclass(frozen=True)
class Variant:
    """A call of a kernel, and the stages of the loops that its parameters set."""

    call: str
    stages: Stages


#: Calls whose facts differ in nothing but their stages.
Group: TypeAlias = tuple[Variant, ...]


def without(groups: Sequence[Group], calls: Container[str]) -> list[Group]:
    """`groups` without these calls."""
    left = (tuple(one for one in group if one.call not in calls) for group in groups)
    return [group for group in left if group]


@dataclass(frozen=True)
class StageParameters:
    """The parameters of a kernel that only set stages, with the lines of their loops."""

    kernel: KernelSource
    lines: Mapping[str, frozenset[int]]

    def groups(self, calls: Sequence[str]) -> tuple[Group, ...]:
        """All of `calls`, in groups; a call that shares its facts with no other has its own."""
        found: dict[str, list[Variant]] = {}
        for call in calls:
            rest, stages = self._split(call)
            found.setdefault(rest, []).append(Variant(call, stages))
        return tuple(map(tuple, found.values()))

    def _split(self, call: str) -> tuple[str, Stages]:
        """`call` without the stages that it gives, and these."""
        if not self.lines:
            return call, {}
        tree = ast.parse(call, mode="eval").body
        if not isinstance(tree, ast.Call) or any(isinstance(a, ast.Starred) for a in tree.args):
            return call, {}
        given = dict(zip(self.kernel.parameters, tree.args, strict=False))
        given |= {one.arg: one.value for one in tree.keywords if one.arg is not None}
        values = {name: value for name, value in given.items() if name in self.lines}
        stages: dict[int, int] = {}
        rest = call.encode()
        for name, value in sorted(values.items(), key=lambda one: -one[1].col_offset):
            # Without stages the loop is none that is pipelined.
            if isinstance(value, ast.Constant) and type(value.value) is int and value.value > 0:
                stages |= dict.fromkeys(self.lines[name], value.value)
                rest = rest[: value.col_offset] + b"..." + rest[value.end_col_offset :]
        return rest.decode(), stages


def stage_parameters(text: str, kernel: KernelSource) -> StageParameters:
    """The parameters of `kernel`, in `text`, that only set stages of pipelined loops."""
    function = called_function(parse(text), kernel)
    if function is None:
        return StageParameters(kernel, {})
    names = [node for node in ast.walk(function) if isinstance(node, ast.Name)]
    if any(node.id in _READS_ALL for node in names):
        return StageParameters(kernel, {})
    found: dict[str, set[int]] = {}
    as_stages: set[ast.Name] = set()
    for line, name in _stages_of_loops(function):
        as_stages.add(name)
        found.setdefault(name.id, set()).add(line)
    used_otherwise = {node.id for node in names if node not in as_stages}
    declared = [one.arg for one in _arguments(function)]
    return StageParameters(
        kernel,
        {
            name: frozenset(lines)
            for name, lines in found.items()
            if name not in used_otherwise and declared.count(name) == 1
        },
    )


def with_stages(facts: KernelFacts, base: Variant, variant: Variant) -> KernelFacts | None:
    """The facts of `variant`, from those of `base`, of the same group.

    None where the loops of `facts` are not those that the text has: what they are for other stages
    is not known then.
    """
    if base is variant:
        return facts
    found = {(_line(loop), loop.annotations.get(_ARGUMENT)) for loop, _ in loops(facts)}
    if {one for one in found if one[0] in base.stages} != set(base.stages.items()):
        return None

    def edit(node: Node) -> Node:
        if not isinstance(node, Loop) or _line(node) not in variant.stages:
            return node
        annotations = {**node.annotations, _ARGUMENT: variant.stages[_line(node)]}
        return replace(node, annotations=annotations)

    return replace(change(facts, edit), call=facts.call.replace(base.call, variant.call, 1))


def _line(loop: Loop) -> int:
    """The line of a loop of the text; 0 for one of another file."""
    site = loop.sites[-1] if loop.sites else None
    return 0 if site is None or site.file is not None else site.line


def called_function(text: Text, kernel: KernelSource) -> FunctionNode | None:
    """The function in `text` that a call of `kernel` calls."""
    name, line = kernel.name.rpartition(".")[2], kernel.span.line
    return next(
        (
            node
            for node in text.nodes
            if isinstance(node, FunctionNode)
            and node.name == name
            and node.lineno <= line <= (node.end_lineno or node.lineno)
        ),
        None,
    )


def _stages_of_loops(function: ast.AST) -> Iterator[tuple[int, ast.Name]]:
    for node in ast.walk(function):
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
            continue
        called = node.iter.func
        if not isinstance(called, ast.Attribute) or called.attr != "Pipelined":
            continue
        for keyword in node.iter.keywords:
            if keyword.arg == _ARGUMENT and isinstance(keyword.value, ast.Name):
                yield node.lineno, keyword.value


def _arguments(function: ast.AST) -> Iterator[ast.arg]:
    return (node for node in ast.walk(function) if isinstance(node, ast.arg))
