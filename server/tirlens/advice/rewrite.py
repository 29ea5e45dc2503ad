"""Facts as they would be if the source were changed: pure functions for the rules' what-ifs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tirlens_worker.facts import Branch, KernelFacts, Loop, Node, Statement, While

Path = tuple[Loop, ...]


def loops(facts: KernelFacts) -> Iterator[tuple[Loop, Path]]:
    """Every loop with the loops around it, outermost first."""
    for node, path in _walk(facts.body, ()):
        if isinstance(node, Loop):
            yield node, path


def statements(facts: KernelFacts) -> Iterator[tuple[Statement, Path]]:
    """Every statement with the loops around it, outermost first."""
    for node, path in _walk(facts.body, ()):
        if isinstance(node, Statement):
            yield node, path


def inside(loop: Loop) -> Iterator[Statement]:
    """The statements anywhere below `loop`."""
    return (node for node, _ in _walk(loop.body, ()) if isinstance(node, Statement))


def _walk(body: tuple[Node, ...], path: Path) -> Iterator[tuple[Node, Path]]:
    for node in body:
        yield node, path
        if isinstance(node, Loop):
            yield from _walk(node.body, (*path, node))
        elif isinstance(node, Branch):
            yield from _walk(node.then + node.orelse, path)
        elif isinstance(node, While):
            yield from _walk(node.body, path)


def change(facts: KernelFacts, edit: Callable[[Node], Node]) -> KernelFacts:
    """`facts` with `edit` applied to every node, innermost first."""
    return replace(facts, body=_change(facts.body, edit))


def _change(body: tuple[Node, ...], edit: Callable[[Node], Node]) -> tuple[Node, ...]:
    changed: list[Node] = []
    for node in body:
        if isinstance(node, Loop | While):
            node = replace(node, body=_change(node.body, edit))
        elif isinstance(node, Branch):
            node = replace(node, then=_change(node.then, edit), orelse=_change(node.orelse, edit))
        changed.append(edit(node))
    return tuple(changed)


def with_stages(facts: KernelFacts, loop: Loop, stages: int) -> KernelFacts:
    """`facts` with `loop` written as ``T.Pipelined(..., num_stages=stages)``."""

    def edit(node: Node) -> Node:
        if isinstance(node, Loop) and node.var == loop.var:
            annotations = {**node.annotations, "num_stages": stages}
            return replace(node, kind="pipelined", annotations=annotations)
        return node

    return change(facts, edit)


def with_panel(facts: KernelFacts, panel: int) -> KernelFacts:
    """`facts` with ``T.use_swizzle(panel)``."""
    return replace(facts, launch=replace(facts.launch, panel=panel))
